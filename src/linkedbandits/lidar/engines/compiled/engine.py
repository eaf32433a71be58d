"""The engine ``compiled``: one pixel after the other in machine code, on all cores.

Cores are threads of this process, which share out blocks of pixels. What a pixel gets depends on its number and on the
frame's seed (:mod:`linkedbandits.lidar.engines.counter`), so not on the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np

from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import Acquisition, Task, acquisition_name, find_acquisition
from linkedbandits.lidar.engines.compiled import tables
from linkedbandits.lidar.engines.compiled.drawing_loop import acquire_drawing
from linkedbandits.lidar.engines.compiled.finding import find_depths
from linkedbandits.lidar.engines.compiled.first_use import have_made
from linkedbandits.lidar.engines.compiled.fixed_loop import acquire_even, acquire_whole
from linkedbandits.lidar.engines.compiled.pixel_loop import After, Before, acquire_pulse
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Found, Light, Pixels, Progress
from linkedbandits.lidar.engines.finding import by_another
from linkedbandits.lidar.engines.refusals import refuse_unless_simulated
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.gate_policy import GatePolicy
from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.returns import LEAST_EVIDENCE, ReturnModel
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.lidar.thompson_gating import LEAD
from linkedbandits.lidar.trusting import WIDTHS

AT_ONCE = 64
"""Pixels that a thread takes at a time."""


class CompiledEngine:
    """Machine code on so many threads; unless given, on as many as ``numba.get_num_threads`` says."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def refuse(self, acquisition: str, task: Task) -> None:
        """An error where it does not simulate that."""
        refuse_unless_simulated("compiled", acquisition, task)

    def measure(self, pixels: Pixels, progress: Progress) -> Found:
        """Acquire these pixels and find their depths."""
        job = Job(pixels)
        whole = Found.nothing(pixels.numbers.size)
        job.prepare()
        with ThreadPoolExecutor(self._workers or numba.get_num_threads()) as threads:
            for some, found in threads.map(job.measure, blocks(pixels.numbers.size)):
                whole.put(some, found)
                progress(some.stop - some.start)
        return whole


def blocks(pixels: int) -> Iterator[slice]:
    """What threads take one after the other."""
    return (slice(first, min(first + AT_ONCE, pixels)) for first in range(0, pixels, AT_ONCE))


class Job:
    """A pass, and what machine code is told of it."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels, self.task = pixels, pixels.task
        self.made = find_acquisition(pixels.acquisition, self.task)
        refuse_unless_simulated("compiled", pixels.acquisition, self.task)
        self._tables = tables_for(self.task.sensor, _model(self.made, self.task))
        self._finding = tables_for(
            self.task.sensor, model_of(self.task.sensor, self.task.signal, self.task.strongest, self.task.told)
        )
        self._rules = _rules(self.made, self.task, self._tables.model_of)

    def prepare(self) -> None:
        """Have machine code made, or taken from disk, before threads need it."""
        none = slice(0, 0)
        kinds: dict[str, tuple[Callable[..., object], Callable[[], object]]] = {
            f"the acquisition {acquisition_name(self.pixels.acquisition)}": (
                self._acquiring,
                lambda: self.acquire(none),
            ),
            "the estimator map": (find_depths, lambda: self._find(self.acquire(none))),
        }
        have_made(kinds)

    @property
    def _acquiring(self) -> Callable[..., object]:
        name = acquisition_name(self.pixels.acquisition)
        if name in ("synchronous", "shifted"):
            return acquire_whole
        return {"thompson": acquire_drawing, "even": acquire_even}.get(name, acquire_pulse)

    def measure(self, some: slice) -> tuple[slice, Found]:
        """Acquire these pixels and find their depths."""
        acquired, estimator = self.acquire(some), self.pixels.estimator
        found = self._find(acquired)
        if estimator != "map":
            found = by_another(estimator, self.made, self.task, acquired.samples, acquired.successes, found)
        return some, found

    def acquire(self, some: slice) -> Acquired:
        """What came of these pixels."""
        before = before_of(self.pixels.take(some), self.made)
        after = _blank(before.numbers.size, self.task.sensor.bins)
        told, made, acquiring = self._tables, self.made, self._acquiring
        if acquiring is acquire_pulse:
            acquire_pulse(told.model, told.cells, told.timing, self._rules, before, made.mode == "gated", after)
        elif acquiring is acquire_whole:
            acquire_whole(told.model, told.timing, self._rules, before, made.shifts or 0, float(made.cost), after)
        else:
            acquiring(told.model, told.timing, self._rules, before, after)
        return Acquired(*after)

    def _find(self, acquired: Acquired) -> Found:
        task, told = self.task, self._finding
        found = np.zeros((5, len(acquired.samples)))
        log_prior = acquired.log_prior if self.made.gates is not None else np.zeros((len(acquired.samples), 0))
        expected = Expected.alike(1, 1, task.signal, told.model_of.expected_background)
        find_depths(
            told.model,
            told.cells,
            self._rules,
            acquired.samples,
            acquired.successes,
            log_prior,
            acquired.level,
            float(expected.signal[0]),
            float(expected.background[0]),
            found,
        )
        depth, evidence, sure, signal, background = found
        seen = evidence > LEAST_EVIDENCE
        depth = np.where((seen | task.present) & acquired.successes.any(axis=1), depth, np.nan)
        confident = acquired.proved & np.isfinite(depth) & (self.made.sure_of == "map")
        return Found(
            depth=depth,
            cycles=acquired.cycles,
            seconds=acquired.seconds,
            confident=confident.astype(np.float64),
            proved=acquired.proved.astype(np.float64),
            bin=acquired.bin.astype(np.float64),
            signal=np.where(seen, signal, 0.0),
            background=background,
            sure=sure * seen,
        )


class Told(NamedTuple):
    """The tables of a sensor and a model of its returns."""

    model: tables.Model
    cells: tables.Cells
    timing: tables.Timing
    model_of: ReturnModel


@lru_cache(maxsize=16)
def tables_for(sensor: Sensor, model: ReturnModel) -> Told:
    """Made once for all passes of a frame."""
    return Told(tables.model_tables(model, sensor.bins), _cells(sensor.pulse), tables.timing_of(sensor), model)


@lru_cache(maxsize=16)
def _cells(pulse: PulseShape) -> tables.Cells:
    return tables.cell_tables(pulse)


def _model(made: Acquisition, task: Task) -> ReturnModel:
    if made.gates is not None:
        return made.gates.model
    return model_of(task.sensor, task.signal, task.strongest, task.told)


def _rules(made: Acquisition, task: Task, model: ReturnModel) -> tables.Rules:
    policy = made.policy
    proving = policy if isinstance(policy, PulseGating) else None
    return tables.rules(
        growth=policy.growth if isinstance(policy, GatePolicy) else 0.0,
        tolerance=task.tolerance,
        told=task.told,
        model=model,
        bins=task.sensor.bins,
        delta=None if proving is None else proving.delta,
        likely=None if proving is None else proving.likely,
        strongest=float("inf") if proving is None else proving.signal_limit,
        lead=round(LEAD * model.pulse.sigma),
        cycles=task.cycles,
        seconds=task.seconds,
    )


def before_of(pixels: Pixels, made: Acquisition) -> Before:
    """What is known of these pixels beforehand, and the light that comes to them."""
    sensor, count = pixels.task.sensor, pixels.numbers.size
    low, high = key_of(pixels.seed)
    first, shares = _return(sensor, pixels.light)
    around = pixels.around
    if around is not None:
        depths, trusts, group, shares_of_widths = around.depth, around.trust, around.group, around.shares
        expected = Expected(np.zeros((count, 0)), around.signal, around.background)
        signal, background, log_prior = expected.signal, expected.background, np.zeros(sensor.bins)
    else:
        depths, trusts, group = np.zeros((count, 1)), np.zeros((count, 1)), np.zeros(count, dtype=np.int64)
        shares_of_widths = np.zeros((1, 1, WIDTHS.size))
        signal, background, log_prior = np.ones(count), np.ones(count), np.zeros(sensor.bins)
        if made.gates is not None:
            known = made.gates.nothing_known(1, sensor.bins)
            signal, background = (np.full(count, known[name][0]) for name in ("expected_signal", "expected_background"))
            log_prior = known["log_prior"][0]
    return Before(
        key=np.uint64(low | high << 32),
        numbers=np.array(pixels.numbers, dtype=np.int64),
        first=first,
        shares=shares,
        signal=np.array(pixels.light.signal, dtype=np.float64),
        background=np.array(pixels.light.background, dtype=np.float64),
        log_prior=np.array(log_prior, dtype=np.float64),
        depths=np.array(depths, dtype=np.float64, order="C"),
        trusts=np.array(trusts, dtype=np.float64, order="C"),
        group=np.array(group, dtype=np.int64),
        shares_of_widths=np.array(shares_of_widths, dtype=np.float64, order="C"),
        widths=np.array(WIDTHS if around is None else around.widths, dtype=np.float64),
        expected_signal=np.array(signal, dtype=np.float64),
        expected_background=np.array(background, dtype=np.float64),
        around=around is not None,
    )


def _return(sensor: Sensor, light: Light) -> tuple[np.ndarray, np.ndarray]:
    """The first bin that each return reaches, and its shares of the bins from there on; nothing where none comes."""
    half = sensor.pulse.half
    there = np.isfinite(light.depth)
    depth = np.where(there, light.depth, 0.0)
    first = np.floor(depth).astype(np.int64) - half
    edges = first[:, np.newaxis] + np.arange(2 * half + 2) - depth[:, np.newaxis]
    shares = np.maximum(np.diff(sensor.pulse.cumulative(edges), axis=1), 0.0) * there[:, np.newaxis]
    return first, np.ascontiguousarray(shares)


def _blank(pixels: int, bins: int) -> After:
    return After(
        samples=np.zeros((pixels, bins), dtype=np.int64),
        successes=np.zeros((pixels, bins), dtype=np.int64),
        cycles=np.zeros(pixels),
        seconds=np.zeros(pixels),
        bin=np.zeros(pixels, dtype=np.int64),
        stopped=np.zeros(pixels, dtype=np.bool_),
        proved=np.zeros(pixels, dtype=np.bool_),
        level=np.zeros(pixels, dtype=np.int64),
        log_prior=np.zeros((pixels, bins)),
    )
