"""What a gate may be, and which of all that may be is best.

Most detectors open once a cycle and stay open (:class:`Suffixes`); some open windows that take a nanosecond or more
(:class:`Windows`); none opens any bins it likes (:class:`AnySubset`), which is a bound on what all of them can do.

A sample of bin i is worth v_i and fires with probability p_i; then the cycle ends, and the detector is blind for so
many of the following periods that the cycle has cost 1 + lost(i - g) periods, where g is the first bin that the gate
opens. The best gate has the most expected worth W per expected time T. Two thoughts find it.

*From the last bin to the first.* Let V_i be what the rest of a cycle is worth from bin i on, if it gets there. Opening
bin i brings v_i and loses V_{i+1} with probability p_i: V_i = max(V_{i+1}, v_i + (1 - p_i) V_{i+1}) over any subsets,
and v_i + (1 - p_i) V_{i+1} where a gate stays open. Windows have two states: shut, and open for long enough to be shut.

*Worth per time.* Let r be what some gate reaches. A gate with W - r T > 0 is better, and where no gate has that, none
is (Dinkelbach 1967). For given r, W - r (T - 1) is the worth of a cycle in which a sample of bin i is worth
v_i - r p_i lost(i - g): the same search. And as T is at least 1, the most that it comes to is a bound: no gate reaches
more than max(r, max over gates of W - r (T - 1)).

What remains is that the time lost depends on g, in one step: lost(d) is base for d < late, and base + 1 from there on.
So a detection in bin i costs the extra period where i >= g + late. Let the extra period begin at a bin t instead, the
same for all gates of the search. For gates with g <= t - late that charges no more than is right, so what the search
gives for them is an upper bound; and every gate it gives is one to be measured by what it truly reaches. So: search all
g in an interval with the t of its last one; drop the interval where its bound is not above the best gate so far; else
split it, down to single g, for which t is right. It ends with a gate that is the best but for the share ``CLOSE``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, isqrt
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from linkedbandits.checks import check_positive, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import BoolArray, FloatArray, IntArray

Floats = npt.NDArray[np.floating[Any]]

CLOSE = 1e-2
"""The best gate of a search reaches this share less than the best of all, or better."""
_LEAST_SURVIVAL = 1e-250
"""Products of survival chances are divided by each other; below this, that would not be exact."""
_CELLS_AT_ONCE = 2**14
"""Lanes times bins: arrays of this size come from memory that the process has, larger ones from the system."""


class Timing(Protocol):
    """What gates have to know of a sensor."""

    @property
    def bins(self) -> int:
        """Bins in a period."""

    @property
    def bin_seconds(self) -> float:
        """Seconds that a bin takes."""

    @property
    def rise_bins(self) -> int:
        """Bins after an opening that are not counted."""

    @property
    def rising(self) -> FloatArray:
        """The sensitivity of each of them."""

    def lost_periods(self, fired: npt.ArrayLike, opens: npt.ArrayLike = 0) -> FloatArray:
        """Periods that pass unseen after a detection."""


@runtime_checkable
class Gates(Protocol):
    """What a gate may be: rows of bins, True where the detector is on."""

    rises: ClassVar[bool]
    """Does a window of this kind take its time to open?"""

    @property
    def words(self) -> str:
        """What a table says of it."""

    def check_sensor(self, sensor: Timing) -> None:
        """Refuse a sensor that could open no such gate."""

    def check(self, gate: BoolArray, sensor: Timing) -> None:
        """Refuse gates, (lanes, bins), that are not of this kind."""

    def best(self, worth: FloatArray, chance: FloatArray, sensor: Timing) -> BoolArray:
        """The gate of every lane with the most expected worth per time, (lanes, bins).

        ``worth`` is that of a sample of each bin, at least 0, and ``chance`` how probably it fires.
        """


@dataclass(frozen=True)
class AnySubset:
    """Any bins: no sensor does that, and none does better. A gate of this kind opens at once, whatever the sensor."""

    rises: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """What a table says of it."""
        return "any subset"

    def check_sensor(self, sensor: Timing) -> None:
        """Every sensor will do."""

    def check(self, gate: BoolArray, sensor: Timing) -> None:
        """Refuse gates that open nothing."""
        _check_open(gate, sensor)

    def best(self, worth: FloatArray, chance: FloatArray, sensor: Timing) -> BoolArray:
        """The gate of every lane with the most expected worth per time, but for the share ``CLOSE``."""
        if not sensor.lost_periods(np.arange(sensor.bins)).any():
            found = best_gate(worth, chance)
            found[~found.any(axis=1)] = True  # where nothing is worth anything
            return found
        return _search(worth, chance, sensor, rise=0, shortest=1, gap=1)


@dataclass(frozen=True)
class Suffixes:
    """A gate that opens once a cycle, at any bin or at one of so many ``positions``, and then stays open.

    >>> Suffixes(positions=4).starts(bins=10)
    array([0, 2, 5, 7])
    """

    positions: int | None = None

    rises: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.positions is not None:
            check_whole("positions", self.positions)

    @property
    def words(self) -> str:
        """What a table says of it."""
        return "suffix at any bin" if self.positions is None else f"suffix at {self.positions} positions"

    def starts(self, bins: int) -> IntArray:
        """The bins at which a gate may open: as even as whole bins are."""
        count = bins if self.positions is None else self.positions
        return np.arange(count) * bins // count

    def check_sensor(self, sensor: Timing) -> None:
        """Refuse a sensor with fewer bins than positions."""
        if self.positions is not None and self.positions > sensor.bins:
            raise InvalidParameter(
                f"{self.positions} positions of a gate in {sensor.bins} bins; give no more than bins"
            )

    def check(self, gate: BoolArray, sensor: Timing) -> None:
        """Refuse gates that shut again, or open elsewhere."""
        _check_open(gate, sensor)
        shuts = (gate[:, :-1] > gate[:, 1:]).any(axis=1)
        if shuts.any():
            raise InvalidParameter(
                f"the gate of lane {int(shuts.argmax())} shuts again, but this sensor's stays open once it is "
                f"({self.words}); take one from sensor.gates.best, or a sensor with gates=AnySubset()"
            )
        if self.positions is not None:
            starts = gate.argmax(axis=1)
            wrong = ~np.isin(starts, self.starts(sensor.bins))
            if wrong.any():
                raise InvalidParameter(
                    f"the gate of lane {int(wrong.argmax())} opens at bin {int(starts[wrong][0])}, which is none of "
                    f"the sensor's {self.positions} positions; take one from sensor.gates.best, or Suffixes()"
                )

    def best(self, worth: FloatArray, chance: FloatArray, sensor: Timing) -> BoolArray:
        """The gate of every lane with the most expected worth per time."""
        starts = self.starts(sensor.bins)
        first = np.empty(len(worth), dtype=np.int64)
        size = max(1, _CELLS_AT_ONCE // sensor.bins)
        for some in (slice(start, start + size) for start in range(0, len(worth), size)):
            reached = _suffix_rates(worth[some], chance[some], sensor, sensor.rise_bins)
            first[some] = starts[(reached if self.positions is None else reached[:, starts]).argmax(axis=1)]
        return np.asarray(np.arange(sensor.bins) >= first[:, np.newaxis])


@dataclass(frozen=True)
class Windows:
    """Windows of at least ``shortest`` seconds, and at least ``gap`` seconds from one to the next.

    The last one may be cut off by the end of the range. Rounded up to whole bins.
    """

    shortest: float
    gap: float

    rises: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("shortest", self.shortest)
        check_positive("gap", self.gap)

    @property
    def words(self) -> str:
        """What a table says of it."""
        return f"windows of {1e9 * self.shortest:g} ns, gaps of {1e9 * self.gap:g} ns"

    def check_sensor(self, sensor: Timing) -> None:
        """Refuse a sensor whose period is shorter than a window and a gap."""
        period = sensor.bins * sensor.bin_seconds
        if self.shortest + self.gap > period:
            raise InvalidParameter(
                f"{self.words}, are longer than a period of {1e9 * period:.3g} ns; give seconds, such as 2e-9"
            )

    def in_bins(self, sensor: Timing) -> tuple[int, int]:
        """The shortest window and the shortest gap in bins."""
        shortest, gap = (max(1, ceil(time / sensor.bin_seconds - 1e-9)) for time in (self.shortest, self.gap))
        return shortest, gap

    def check(self, gate: BoolArray, sensor: Timing) -> None:
        """Refuse gates with a window or a gap that is too short."""
        _check_open(gate, sensor)
        shortest, gap = self.in_bins(sensor)
        padded = np.zeros((gate.shape[0], gate.shape[1] + 2), dtype=np.bool_)
        padded[:, 1:-1] = gate
        lane, edge = (padded[:, 1:] != padded[:, :-1]).nonzero()  # opens, shuts, opens, shuts...
        opens, shuts = edge[0::2], edge[1::2]
        short = (shuts - opens < shortest) & (shuts < sensor.bins)
        near = np.zeros_like(short)
        near[1:] = (opens[1:] - shuts[:-1] < gap) & (lane[2::2] == lane[:-2:2])
        wrong = short | near
        if wrong.any():
            first = int(wrong.argmax())
            what = "window" if short[first] else "gap before the window"
            raise InvalidParameter(
                f"in lane {int(lane[2 * first])} the {what} of bins {int(opens[first])} to {int(shuts[first]) - 1} is "
                f"shorter than this sensor's ({self.words}); take a gate from sensor.gates.best"
            )

    def best(self, worth: FloatArray, chance: FloatArray, sensor: Timing) -> BoolArray:
        """The gate of every lane with the most expected worth per time, but for the share ``CLOSE``."""
        shortest, gap = self.in_bins(sensor)
        return _search(worth, chance, sensor, rise=sensor.rise_bins, shortest=shortest, gap=gap)


def parse_gates(text: str) -> Gates:
    """What a gate may be, in a word: ``any``, ``suffix``, ``suffix:20`` positions, ``windows:2`` or ``windows:2:1`` ns.

    >>> parse_gates("suffix:20").words, parse_gates("windows:2:1").words
    ('suffix at 20 positions', 'windows of 2 ns, gaps of 1 ns')
    """
    match text.strip().lower().split(":"):
        case ["any"]:
            return AnySubset()
        case ["suffix"]:
            return Suffixes()
        case ["suffix", positions] if positions.isdecimal():
            return Suffixes(int(positions))
        case ["windows", *times] if len(times) in {1, 2}:
            try:
                shortest, gap = float(times[0]), float(times[-1])
            except ValueError:
                pass
            else:
                return Windows(1e-9 * shortest, 1e-9 * gap)
    raise InvalidParameter(
        f"gates {text!r} are no gates; give any, suffix, suffix:20 (positions), windows:2 or windows:2:1 "
        "(nanoseconds of a window, and of a gap)"
    )


def _check_open(gate: BoolArray, sensor: Timing) -> None:
    if gate.ndim != 2 or gate.shape[1] != sensor.bins or gate.dtype != np.bool_:
        raise InvalidParameter(
            f"a gate of shape {gate.shape} and type {gate.dtype}; give True or False for {sensor.bins} bins a lane"
        )
    opened = gate.any(axis=1)
    if not opened.all():
        raise InvalidParameter(f"the gate of lane {int(opened.argmin())} opens no bin; open one, or leave the lane out")


def sensitivity(gate: BoolArray, sensor: Timing) -> FloatArray:
    """How sensitive the detector is in every bin, from 0 to 1, with gates that take their time to open."""
    sensitive = gate.astype(np.float64)
    for lane, place, level in _rising_bins(gate, sensor):
        sensitive[lane, place] = gate[lane, place] * level
    return sensitive


def counted(gate: BoolArray, sensor: Timing) -> BoolArray:
    """The open bins that are counted: those in which the gate does not rise any more."""
    result = gate.copy()
    for lane, place, _ in _rising_bins(gate, sensor):
        result[lane, place] = False
    return result


def _rising_bins(gate: BoolArray, sensor: Timing) -> Iterator[tuple[IntArray, IntArray, float]]:
    """Bins after an opening and how sensitive they are; the farthest first, so that the nearest opening counts.

    They may lie behind the window; if so, they are shut or still rise from the next opening.
    """
    opens = gate.copy()
    opens[:, 1:] &= ~gate[:, :-1]
    lane, place = opens.nonzero()
    levels = sensor.rising.tolist()
    for after in range(len(levels) - 1, -1, -1):
        within = place + after < gate.shape[1]
        yield lane[within], place[within] + after, levels[after]


def worth_per_time(
    gate: BoolArray, worth: FloatArray, chance: FloatArray, sensor: Timing, *, rises: bool = True
) -> FloatArray:
    """The expected worth of a cycle with this gate for every period that it costs, of each lane."""
    survive = np.where(gate, 1 - chance, 1.0)
    value = np.where(gate, worth, 0.0)
    if rises and sensor.rise_bins:
        survive = (1 - chance) ** sensitivity(gate, sensor)
        value = np.where(counted(gate, sensor), worth, 0.0)
    reached = np.ones((gate.shape[0], gate.shape[1] + 1))
    np.cumprod(survive, axis=1, out=reached[:, 1:])
    lost = sensor.lost_periods(np.arange(sensor.bins), gate.argmax(axis=1)[:, np.newaxis])
    time = 1 + (reached[:, :-1] * (1 - survive) * lost).sum(axis=1)
    return np.asarray((reached[:, :-1] * value).sum(axis=1) / time)


def best_gate(worth: FloatArray, chance: FloatArray) -> BoolArray:
    """The bins to open so that a cycle is worth most, among all subsets and whatever time it costs.

    The first of two bins is left shut if it ends too many of the cycles that the second, worth more, would see.

    >>> best_gate(np.array([[1.0, 9.0], [1.0, 9.0]]), np.array([[0.1, 0.5], [0.2, 0.5]]))
    array([[ True,  True],
           [False,  True]])
    """
    worth, chance = np.ascontiguousarray(worth.T), np.ascontiguousarray(chance.T)
    opened = np.empty(worth.shape, dtype=np.bool_)
    behind = np.zeros(worth.shape[1])
    for i in range(worth.shape[0] - 1, -1, -1):
        gain = worth[i] - chance[i] * behind
        np.greater(gain, 0.0, out=opened[i])
        behind += np.maximum(gain, 0.0)
    return np.ascontiguousarray(opened.T)


class _Lost(NamedTuple):
    """Periods lost by a detection: ``base``, and one more from ``late`` bins after the first open one."""

    base: float
    late: int


def _lost(sensor: Timing) -> _Lost:
    lost = sensor.lost_periods(np.arange(sensor.bins))
    return _Lost(float(lost[0]), int((lost == lost[0]).sum()))


def _suffix_rates(worth: FloatArray, chance: FloatArray, sensor: Timing, rise: int) -> FloatArray:
    """The worth per time of the gates that open at each bin and stay open, (lanes, bins)."""
    lanes, bins = worth.shape
    base, late = _lost(sensor)
    reached = np.ones((lanes, bins + 1))
    np.subtract(1.0, chance, out=reached[:, 1:])
    np.cumprod(reached, axis=1, out=reached)
    if (
        not rise and reached[:, -1].min(initial=1.0) > _LEAST_SURVIVAL
    ):  # both sides of the ratio times the way to the bin
        reached, end = reached[:, :-1], reached[:, -1:]
        value = (worth * reached)[:, ::-1].cumsum(axis=1)[:, ::-1]
        time = (1 + base) * reached - base * end
        time[:, : bins - late] += reached[:, late:] - end
        return np.asarray(value / time)
    survive = np.ascontiguousarray(1.0 - chance.T)
    value, end = _to_the_end(np.ascontiguousarray(worth.T), survive)
    early = slice(bins - late)  # gates that are open for so long that a detection may come late
    at_late = np.zeros((0, lanes))
    if rise <= late < bins:
        at_late = _survival(survive, end, late - rise)[rise:][early]
    value, end = value[rise:], end[rise:]
    if rise:  # a gate rises through some bins, and from there on is what it is without a rise
        log_survive = np.log(np.maximum(survive, np.finfo(np.float64).tiny))
        grown = np.zeros((bins, lanes))
        for after in range(rise):
            if after == late:
                at_late = np.exp(grown[early])
            grown[: bins - after] += sensor.rising[after] * log_survive[after:]
        risen = np.exp(grown)
        at_late = at_late if late < rise else at_late * risen[early]
        beyond = np.zeros((rise - 1, lanes))  # who opens too late to be risen before the end
        value, end = risen * np.concatenate([value, beyond]), risen * np.concatenate([end, beyond + 1])
    time = 1 + base * (1 - end)
    time[early] += at_late - end[early]
    return np.asarray((value[:bins] / time[:bins]).T)


def _to_the_end(value: FloatArray, survive: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The worth of all bins from each one on, and the probability that none fires; the last row is for the end.

    Within all blocks of bins at once, then from block to block.
    """
    bins, lanes = value.shape
    size = isqrt(bins) + 1
    blocks = bins // size + 1
    worth, reached = np.zeros((blocks, size, lanes)), np.ones((blocks, size, lanes))
    flat = blocks * size, lanes
    worth.reshape(flat)[:bins], reached.reshape(flat)[:bins] = value, survive
    for i in range(size - 2, -1, -1):
        worth[:, i] += reached[:, i] * worth[:, i + 1]
        reached[:, i] *= reached[:, i + 1]
    for block in range(blocks - 2, -1, -1):
        worth[block] += reached[block] * worth[block + 1, 0]
        reached[block] *= reached[block + 1, 0]
    return worth.reshape(flat)[: bins + 1], reached.reshape(flat)[: bins + 1]


def _survival(survive: FloatArray, to_end: FloatArray, length: int) -> FloatArray:
    """The probability that none of ``length`` bins fires, from each bin on as far as there are so many."""
    ahead = to_end[length:]
    if ahead.min(initial=1.0) > _LEAST_SURVIVAL:
        return np.asarray(to_end[: len(ahead)] / ahead)
    logarithm = np.zeros(to_end.shape)
    np.cumsum(np.log(np.maximum(survive, np.finfo(np.float64).tiny)), axis=0, out=logarithm[1:])
    return np.exp(logarithm[length:] - logarithm[: len(ahead)])


class _Pieces(NamedTuple):
    """Consecutive bins taken together: what they are worth, and the probability that none fires; (bins, lanes)."""

    value: Floats
    survive: Floats

    def then(self, other: _Pieces, after: int) -> _Pieces:
        """These, and the others that begin so many bins later; beyond the last bin nothing comes."""
        value, survive = np.empty_like(self.value), np.empty_like(self.survive)
        both = max(value.shape[0] - after, 0)
        np.multiply(self.survive[:both], other.value[after:], out=value[:both])
        value[:both] += self.value[:both]
        np.multiply(self.survive[:both], other.survive[after:], out=survive[:both])
        value[both:], survive[both:] = self.value[both:], self.survive[both:]
        return _Pieces(value, survive)

    def times(self, length: int) -> _Pieces:
        """``length`` of them in a row, by doubling."""
        if length == 0:
            return _Pieces(np.zeros_like(self.value), np.ones_like(self.survive))
        half = self.times(length // 2)
        both = half.then(half, length // 2) if length > 1 else self
        return both.then(self, length - 1) if length % 2 and length > 1 else both


class _Found(NamedTuple):
    """The result of a search: the value of the best gate that opens first at each bin, and what makes up that gate."""

    first: Floats
    value_if_shut: Floats
    """from each bin on and from the end, with the gate shut and free to open;"""
    stays: Floats | None = None
    """or open and kept open for this bin; None where windows and gaps may be as short as a bin."""
    block: int = 1
    gap: int = 1

    def gate(self, opens: IntArray, columns: IntArray) -> BoolArray:
        """The best gate, (columns, bins), that opens first at this bin."""
        bins = self.first.shape[0]
        shut = self.value_if_shut[:, columns]
        place = np.arange(bins)[:, np.newaxis]
        if self.stays is None:
            gate = (self.first[:, columns] > shut[1 : bins + 1]) & (place >= opens)
            gate[opens, np.arange(columns.size)] = True
            return np.ascontiguousarray(gate.T)
        next_open = np.where(self.first[:, columns] > shut[1 : bins + 1], place, bins)
        next_shut = np.where(shut[self.gap : self.gap + bins] > self.stays[:, columns], place, bins)
        ends = np.full((1, columns.size), bins)
        next_open, next_shut = (
            np.concatenate([np.minimum.accumulate(next_one[::-1], axis=0)[::-1], ends])
            for next_one in (next_open, next_shut)
        )
        column = np.arange(columns.size)
        edges = np.zeros((bins + 1, columns.size), dtype=np.int8)
        while column.size:
            ends = next_shut[np.minimum(opens + self.block, bins), column]
            edges[opens, column] += 1
            edges[ends, column] -= 1
            opens = next_open[np.minimum(ends + self.gap, bins), column]
            open_again = opens < bins
            opens, column = opens[open_again], column[open_again]
        return np.ascontiguousarray(edges[:-1].cumsum(axis=0, dtype=np.int8).T.astype(np.bool_))


def _subset_pass(value: Floats, survive: Floats) -> _Found:
    """Any subset, from the last bin to the first."""
    bins, lanes = value.shape
    first, shut = np.empty_like(value), np.zeros((bins + 1, lanes), dtype=value.dtype)
    for i in range(bins - 1, -1, -1):
        np.multiply(survive[i], shut[i + 1], out=first[i])
        first[i] += value[i]
        np.maximum(first[i], shut[i + 1], out=shut[i])
    return _Found(first, shut)


def _window_pass(value: Floats, survive: Floats, window: _Pieces, block: int, gap: int) -> _Found:
    """Windows of ``block`` bins or more, and gaps likewise, from the last bin to the first.

    ``window`` has the first ``block`` bins of a window that opens at each bin, which are open once one of them is.
    """
    bins, lanes = value.shape
    first, stays = np.empty_like(value), np.empty_like(value)
    opened = np.zeros((bins + block + 1, lanes), dtype=value.dtype)
    shut = np.zeros((bins + gap + 1, lanes), dtype=value.dtype)
    at_once = min(block, gap)  # what follows a window or a gap that begins in these bins is behind all of them
    for end in range(bins, 0, -at_once):
        start = max(end - at_once, 0)
        here = slice(start, end)
        np.multiply(window.survive[here], opened[start + block : end + block], out=first[here])
        first[here] += window.value[here]
        for i in range(end - 1, start - 1, -1):
            np.multiply(survive[i], opened[i + 1], out=stays[i])
            stays[i] += value[i]
            np.maximum(stays[i], shut[i + gap], out=opened[i])
            np.maximum(first[i], shut[i + 1], out=shut[i])
    return _Found(first, shut, stays, block, gap)


def _search(worth: FloatArray, chance: FloatArray, sensor: Timing, *, rise: int, shortest: int, gap: int) -> BoolArray:
    """The gate of every lane with the most worth per time, as the module's text says."""
    lanes, bins = worth.shape
    lost = _lost(sensor)
    block = min(max(shortest, rise), bins)  # a window that only rises brings nothing
    suffixes = _suffix_rates(worth, chance, sensor, rise)
    opens = suffixes.argmax(axis=1)
    gate: BoolArray = np.arange(bins) >= opens[:, np.newaxis]
    reached = suffixes[np.arange(lanes), opens]
    worth_of, survive_of = (np.ascontiguousarray(rows.T.astype(np.float32)) for rows in (worth, 1 - chance))
    place = np.arange(bins)[:, np.newaxis]
    lane, low, high = np.arange(lanes), np.zeros(lanes, dtype=np.int64), np.full(lanes, bins - 1)
    while lane.size:
        survive = survive_of[:, lane]
        price = reached[lane].astype(np.float32)
        cost = np.where(place >= high + lost.late, np.float32(lost.base + 1) * price, np.float32(lost.base) * price)
        value = worth_of[:, lane] - cost * (1 - survive)
        if shortest == gap == 1 and not rise:
            found = _subset_pass(value, survive)
        else:
            window = _Pieces(value, survive).times(block - rise)
            for after in range(rise - 1, -1, -1):
                part = survive ** np.float32(sensor.rising[after])
                window = _Pieces((part - 1) * cost, part).then(window, 1)
            found = _window_pass(value, survive, window, block, gap)
        among = np.where((place >= low) & (place <= high), found.first, -np.inf)
        opens = among.argmax(axis=0)
        better = np.flatnonzero(among[opens, np.arange(lane.size)] > reached[lane])
        gates = found.gate(opens[better], better)
        rates = worth_per_time(gates, worth[lane[better]], chance[lane[better]], sensor, rises=rise > 0)
        order = np.argsort(rates, kind="stable")  # the last one that is written is the best
        order = order[rates[order] > reached[lane[better[order]]]]
        gate[lane[better[order]]] = gates[order]
        before, reached = reached, reached.copy()
        reached[lane[better[order]]] = rates[order]

        never_late = bins - lost.late  # gates from here on are open for so short that nothing comes late
        exact = (low == high) | (low >= never_late)
        possible = among > reached[lane] * (1 + CLOSE)
        possible &= ~exact | (reached > before)[lane]  # or rounding is all that is left
        some = np.flatnonzero(possible.any(axis=0))
        lane, possible = lane[some], possible[:, some]
        low, high = possible.argmax(axis=0), bins - 1 - possible[::-1].argmax(axis=0)
        splits = (low < high) & (low < never_late)
        middle = np.where(high < never_late, (low + high) // 2, never_late - 1)
        middle = np.where(splits, middle, high)
        lane, low, high = (
            np.concatenate([lane, lane[splits]]),
            np.concatenate([low, middle[splits] + 1]),
            np.concatenate([middle, high[splits]]),
        )
    return gate
