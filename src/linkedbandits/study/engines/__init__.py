"""Where chunks run. An engine takes chunks and gives back how they ended, in whatever order they finish.

Closing what it returns ends the work that is not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from linkedbandits.study.chunks import Chunk, Finished

Engine = Callable[[Iterable[Chunk]], Generator[tuple[Chunk, Finished], None, None]]

__all__ = ["Engine"]
