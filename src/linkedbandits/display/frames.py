"""Results as frames of polars and of pandas, which are imported when somebody wants one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.errors import MissingExtra
from linkedbandits.extras import need_polars

if TYPE_CHECKING:
    import polars as pl

Columns = dict[str, Any]
"""Arrays or lists of one length, by name."""


class WithFrames:
    """What has columns has frames."""

    __slots__ = ()

    @abstractmethod
    def _columns(self) -> Columns:
        """Arrays or lists of one length, by name."""

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars frame; ``pip install 'linkedbandits[study]'`` brings polars."""
        return polars_frame(self._columns())

    def to_pandas(self) -> Any:
        """The rows as a pandas frame; ``pip install pandas`` brings pandas, which is no part of any extra."""
        return pandas_frame(self._columns())


def polars_frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A polars frame with these columns."""
    need_polars("to_polars()")
    import polars as pl

    return pl.DataFrame(dict(columns))


def pandas_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas frame with these columns."""
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas() needs pandas; install it with: pip install pandas") from error
    return pandas.DataFrame(dict(columns))


def labels(values: Iterable[object]) -> list[Any]:
    """Labels for a column: as they are if they are of one kind, and else as text.

    >>> labels(["a", "b"]), labels([1, 2]), labels(["a", 1])
    (['a', 'b'], [1, 2], ['a', '1'])
    """
    listed = list(values)
    return listed if len({type(value) for value in listed}) <= 1 else [str(value) for value in listed]


def pixels(images: Mapping[str, np.ndarray[Any, Any]]) -> Columns:
    """Images of one shape as columns, a row for each pixel, with its row and column in the images first."""
    high, wide = next(iter(images.values())).shape
    row, column = np.divmod(np.arange(high * wide), wide)
    return {"row": row, "column": column, **{name: image.reshape(-1) for name, image in images.items()}}
