"""Worlds whose options fail together: a table of outcomes, and a difficulty that all options share.

Both are requests of several *kinds*: a request is of a kind at random, and given its kind the options are independent.
In a table every distinct row is a kind, and its options always or never succeed. So the places at which many plays of
one tuple end are one multinomial draw, exactly, and a long run costs what a short one does.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_share, check_whole
from linkedbandits.display import counted, shown
from linkedbandits.errors import CannotRead, InvalidParameter, why_not
from linkedbandits.model import FloatArray, IntArray, check_means
from linkedbandits.streams import LaneStreams, Seed
from linkedbandits.world import JointWorld, draw_hits

LEVELS = 200
"""How many difficulties there are, all equally likely."""


@dataclass(frozen=True, eq=False)
class KindsOfRequests:
    """Requests of several kinds: ``weights`` of the kinds, which add up to 1, and ``chances[kind, option]``."""

    weights: FloatArray
    chances: FloatArray

    def __repr__(self) -> str:
        """Without its hundreds of chances."""
        kinds, options = self.chances.shape
        what = f"{counted(kinds, 'kind')} of requests, {counted(options, 'option')}"
        return f"{type(self).__name__}({what}: means {shown(self.means.tolist())})"

    @property
    def means(self) -> FloatArray:
        """How often each option succeeds, over all requests."""
        return np.asarray(np.minimum(self.weights @ self.chances, 1.0))

    def ends(self, tried: Sequence[int]) -> FloatArray:
        """How likely a play of these options ends at each of them, and at none.

        >>> OutcomeTable([[1, 1], [0, 1], [0, 0], [0, 0]]).ends([0, 1])
        array([0.25, 0.25, 0.5 ])
        """
        going_on = self.weights
        ends = []
        for option in tried:
            ends.append(float(going_on @ self.chances[:, option]))
            going_on = going_on * (1 - self.chances[:, option])
        return np.array([*ends, going_on.sum()])

    def gains(self, tried: Sequence[int]) -> FloatArray:
        """Of all requests, the share on which the options tried fail and each option succeeds; 0 for those tried.

        >>> OutcomeTable([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]]).gains([0])
        array([0.  , 0.  , 0.25])
        """
        left = self.weights * np.prod(1 - self.chances[:, list(tried)], axis=1)
        gains = left @ self.chances
        gains[list(tried)] = 0.0
        return np.asarray(gains)

    def greedy_order(self) -> tuple[int, ...]:
        """The options in the order that puts next what succeeds most often where all before it fail.

        Of equals the one that comes first here. It is a good order, not always the one with the fewest attempts.

        >>> OutcomeTable([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]]).greedy_order()
        (0, 2, 1)
        """
        order: list[int] = []
        left = list(range(self.chances.shape[1]))
        while left:
            gains = self.gains(order)
            order.append(max(left, key=lambda option: gains[option].round(12)))
            left.remove(order[-1])
        return tuple(order)

    def attempts(self, order: Sequence[int]) -> float:
        """How many options a request takes on average, tried in this order until one succeeds or all have failed.

        >>> table = OutcomeTable([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]])
        >>> table.attempts([0, 1, 2]), table.attempts([0, 2, 1])
        (1.5, 1.25)
        """
        ends = self.ends(order)
        return float(ends[:-1] @ np.arange(1, ends.size) + ends[-1] * (ends.size - 1))

    def served(self, order: Sequence[int]) -> float:
        """The share of requests on which one of these options succeeds.

        >>> OutcomeTable([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]]).served([0, 1])
        0.75
        """
        return float(self.ends(order)[:-1].sum())

    @cached_property
    def ends_by_pair(self) -> FloatArray:
        """How likely plays of a pair end at its first, at its second, and at none: a row for each pair, in order.

        Those of an option as the first begin with a row for its plays alone.
        """
        options = self.chances.shape[1]
        ends = np.zeros((options, options + 1, 3))
        ends[:, :, 0] = (self.weights @ self.chances)[:, np.newaxis]
        ends[:, 1:, 1] = (self.weights[:, np.newaxis] * (1 - self.chances)).T @ self.chances
        return _with_the_rest(ends.reshape(-1, 3))

    def world(self, trials: int, seed: Seed = 0) -> KindsWorld:
        """A world with a lane for each trial; it serves one simulation, in which all lanes run side by side."""
        check_whole("trials", trials)
        return self.answering(LaneStreams(seed, self.chances.shape[1], range(trials)))

    def answering(self, streams: LaneStreams) -> KindsWorld:
        """A world for the lanes of these streams; ``simulate(world=...)`` asks for it where it is given a law."""
        return KindsWorld(self, streams)


class OutcomeTable(KindsOfRequests):
    """What every option did on every request: rows of zeros and ones. Requests are rows drawn at random, with
    replacement.

    >>> import linkedbandits as lb
    >>> table = lb.OutcomeTable([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]], options=["a", "b", "c"])
    >>> table.means
    array([0.75, 0.5 , 0.25])
    >>> runs = lb.simulate(table.means, lb.LinkedDuels(0.1), linkage="free", world=table, trials=50, seed=1)
    >>> bool(runs.error_rate() <= 0.1)
    True
    """

    options: tuple[str, ...]
    counts: FloatArray
    """How many requests there are of each kind."""

    def __init__(
        self, rows: npt.ArrayLike, options: Sequence[str] | None = None, counts: npt.ArrayLike | None = None
    ) -> None:
        """Take a row for each request, or one for each pattern of outcomes with ``counts`` of the requests it has."""
        given = np.asarray(rows)
        if given.ndim != 2 or given.shape[0] < 1 or given.shape[1] < 2 or not np.isin(given, (0, 1)).all():
            raise InvalidParameter(
                f"rows of shape {given.shape} are no table of zeros and ones with a row for each request and a column "
                "for each of two options or more"
            )
        names = tuple(map(str, range(given.shape[1]))) if options is None else tuple(options)
        if len(names) != given.shape[1] or len(set(names)) != len(names):
            raise InvalidParameter(f"{len(names)} options {names!r} for {given.shape[1]} columns; name each one once")
        times = np.ones(given.shape[0]) if counts is None else np.asarray(counts, dtype=np.float64)
        if times.shape != given.shape[:1] or not (np.isfinite(times) & (times >= 0)).all() or not times.any():
            raise InvalidParameter(f"counts {counts!r} have to be a number of requests for each of {len(given)} rows")
        kinds, which = np.unique(given.astype(np.int8), axis=0, return_inverse=True)
        requests = np.bincount(which.reshape(-1), times, len(kinds))
        kinds, requests = kinds[requests > 0], requests[requests > 0]
        super().__init__(requests / requests.sum(), kinds.astype(np.float64))
        object.__setattr__(self, "options", names)
        object.__setattr__(self, "counts", requests)

    def __repr__(self) -> str:
        """Without its rows."""
        of = f"{self.counts.sum():,.0f} requests of {counted(len(self.counts), 'kind')}"
        means = shown({option: float(mean) for option, mean in zip(self.options, self.means, strict=True)})
        return f"OutcomeTable({of}, {counted(len(self.options), 'option')}: {means})"

    @property
    def means(self) -> FloatArray:
        """How often each option succeeds; the same for options that succeed on the same number of requests."""
        return np.asarray((self.counts @ self.chances) / self.counts.sum())

    @property
    def digest(self) -> str:
        """The same for two tables if they have as many requests of each kind, in whatever order."""
        content = np.column_stack([self.counts, self.chances]).astype("<f8")
        return hashlib.sha256(content.tobytes()).hexdigest()[:16]

    def only(self, options: Sequence[str]) -> OutcomeTable:
        """The same requests with these options alone, in this order.

        >>> OutcomeTable([[1, 0, 1], [0, 0, 1]], ["a", "b", "c"]).only(["c", "a"]).means
        array([1. , 0.5])
        """
        missing = [option for option in options if option not in self.options]
        if missing:
            raise InvalidParameter(f"there is no option {missing[0]!r}; there are {', '.join(self.options)}")
        columns = [self.options.index(option) for option in options]
        return OutcomeTable(self.chances[:, columns], options, self.counts)

    @classmethod
    def read(cls, path: str | Path, options: Sequence[str] | None = None) -> Self:
        """A table from a CSV file: a header with the names of the options, then a row for each request.

        A column named ``request`` is left out, and so are those whose names begin with ``seconds:``. One named
        ``count`` says how many requests a row stands for. ``options`` are the columns to read; without it all the
        others are read.
        """
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                lines = [(number, cells) for number, cells in enumerate(csv.reader(file), 1) if any(cells)]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise CannotRead(f"cannot read the table {path}: {why_not(error)}; give a CSV file") from error
        if len(lines) < 2:
            raise InvalidParameter(f"{path} has no rows; give a header with the options and a row for each request")
        (_, header), *rows = lines
        header = [name.strip() for name in header]
        for number, row in rows:
            if len(row) != len(header):
                raise InvalidParameter(
                    f"line {number} of {path} has {len(row)} cells, its header {len(header)}; mend it"
                )
        wanted = [name for name in header if _is_option(name)] if options is None else list(options)
        missing = [name for name in (*wanted, *header) if header.count(name) != 1]
        if missing:
            has = f"it has {', '.join(header)}"
            raise InvalidParameter(f"{path} has {header.count(missing[0])} columns {missing[0]!r}, not one; {has}")
        outcomes = [
            _outcomes(row, [header.index(name) for name in wanted], header, number, path) for number, row in rows
        ]
        counts = (
            [_count(row[header.index("count")], number, path) for number, row in rows] if "count" in header else None
        )
        return cls(outcomes, wanted, counts)


def _is_option(name: str) -> bool:
    return name not in ("request", "count") and not name.startswith("seconds:")


def _outcomes(row: list[str], columns: list[int], header: list[str], line: int, path: str | Path) -> list[int]:
    for column in columns:
        if row[column].strip() not in ("0", "1"):
            raise InvalidParameter(
                f"{row[column]!r} in line {line}, column {header[column]!r} of {path} is no 0 or 1; leave out the row, "
                "or the column: a column named request is not read, and you can name the options to read"
            )
    return [int(row[column]) for column in columns]


def _count(text: str, line: int, path: str | Path) -> int:
    try:
        count = int(text)
    except ValueError:
        count = -1
    if count < 0:
        raise InvalidParameter(f"count {text!r} in line {line} of {path} is no number of requests; mend it")
    return count


class SharedDifficulty(KindsOfRequests):
    """Options with given means that all suffer from the same difficulty of a request (a frailty).

    A request has one of 200 equally likely difficulties, the quantiles of a normal law. An option succeeds if its
    ability exceeds the difficulty and a noise of its own, both normal; of the two the difficulty has the share
    ``correlation`` of the variance. So that is how what two options do is correlated, on the scale of these normal
    numbers; 0 is independence. The options in ``against`` do better on the requests that are hard for the others. Means
    are kept exactly.

    >>> together = SharedDifficulty([0.6, 0.5], correlation=0.8)
    >>> together.means.round(12), float(together.ends([0, 1])[1].round(3))  # the second rescues few
    (array([0.6, 0.5]), 0.059)
    >>> float(SharedDifficulty([0.6, 0.5], correlation=0.8, against=[1]).ends([0, 1])[1].round(3))
    0.341
    """

    def __init__(self, means: npt.ArrayLike, correlation: float, against: Sequence[int] = ()) -> None:
        from scipy.special import ndtri  # takes long to load, and few need it

        vector = check_means(means)
        check_share("correlation", correlation)
        if not set(against) <= set(range(vector.size)):
            raise InvalidParameter(f"against={against!r} names no option; give numbers from 0 to {vector.size - 1}")
        difficulty = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
        signs = np.where(np.isin(np.arange(vector.size), against), -1.0, 1.0)
        columns = [_chances(mean, correlation, sign * difficulty) for mean, sign in zip(vector, signs, strict=True)]
        super().__init__(np.full(LEVELS, 1 / LEVELS), np.stack(columns, axis=1))


def _chances(mean: float, correlation: float, difficulty: FloatArray) -> FloatArray:
    """How likely an option succeeds at each difficulty, so that on average it is ``mean``."""
    if mean in (0.0, 1.0):
        return np.full(difficulty.size, mean)
    load, noise = np.sqrt(correlation), np.sqrt(1 - correlation)

    from scipy.optimize import brentq  # takes long to load, and few need it
    from scipy.special import ndtr

    def chances(ability: float) -> FloatArray:
        return np.asarray(ndtr((ability - load * difficulty) / noise))

    ability = brentq(lambda ability: float(chances(ability).mean()) - mean, -60.0, 60.0, xtol=1e-14)
    found = chances(float(ability))
    return np.asarray(found * min(mean / found.mean(), 1 / found.max()))


class KindsWorld(JointWorld):
    """Requests of several kinds, drawn at random; one lane per trial."""

    def __init__(self, kinds: KindsOfRequests, streams: LaneStreams) -> None:
        self._kinds = kinds
        self._streams = streams
        self._known: dict[bytes, FloatArray] = {}

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        self._streams.keep(lanes)

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Multinomial counts over the places of the tuple; the other plays had no hit."""
        return self.hits_of_many(order[:, np.newaxis], times[:, np.newaxis])[:, 0]

    def hits_of_many(self, order: IntArray, times: IntArray) -> IntArray:
        """The same for several tuples per lane."""
        if order.shape[0] != self._streams.lanes:
            raise InvalidParameter(
                f"this world has {self._streams.lanes} lanes, and {order.shape[0]} are asked for; "
                f"make a new one with trials={order.shape[0]}"
            )
        return draw_hits(self._streams, order, times, self._ends_of_pairs if order.shape[2] == 2 else self._ends)

    def _ends_of_pairs(self, lane: IntArray, pairs: IntArray) -> FloatArray:
        one, two = pairs.T
        return np.asarray(np.take(self._kinds.ends_by_pair, one * (self._kinds.chances.shape[1] + 1) + two + 1, axis=0))

    def _ends(self, lane: IntArray, tuples: IntArray) -> FloatArray:
        distinct, which = np.unique(tuples, axis=0, return_inverse=True)
        ends = np.zeros((distinct.shape[0], tuples.shape[1] + 1))
        for row, tried in zip(ends, distinct, strict=True):
            key = tried.tobytes()
            if key not in self._known:
                self._known[key] = self._kinds.ends(tried[tried >= 0].tolist())[:-1]
            row[: self._known[key].size] = self._known[key]
        return _with_the_rest(ends)[which.reshape(-1)]


def _with_the_rest(ends: FloatArray) -> FloatArray:
    """With what is left for plays without a hit in the last column; none may be below 0 or above 1 by rounding."""
    hit = ends[:, :-1]
    hit /= np.maximum(hit.sum(axis=1, keepdims=True), 1.0)
    np.clip(1 - hit.sum(axis=1), 0.0, 1.0, out=ends[:, -1])
    return ends
