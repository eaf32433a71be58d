"""Where chunks run. An engine takes chunks and gives back how they ended, in whatever order they finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from linkedbandits.study.chunks import Chunk, Finished

Engine = Callable[[Iterable[Chunk]], Iterator[tuple[Chunk, Finished]]]

__all__ = ["Engine"]
