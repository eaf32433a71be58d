"""The pixels of a tile on a device, from the first cycle to what was found: which kernel comes after which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from linkedbandits.lidar.acquisitions import Acquisition, Task
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.gpu.device import Shape, import_cupy, on_host, program, side_by_side
from linkedbandits.lidar.engines.gpu.device_tables import device_tables
from linkedbandits.lidar.engines.gpu.fragments import digits_needed
from linkedbandits.lidar.engines.gpu.pixel_arrays import NOTHING, PixelArrays
from linkedbandits.lidar.engines.gpu.priors import spread_prior
from linkedbandits.lidar.engines.gpu.tables import gate_words, search_numbers
from linkedbandits.lidar.gates import Suffixes, Windows
from linkedbandits.lidar.gating import LEAST_WORTH, STEP, TEMPER
from linkedbandits.lidar.pulse_gating import PRICE, PulseGating
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.lidar.thompson_gating import ThompsonGating
from linkedbandits.model import IntArray
from linkedbandits.stopping.looks import GROWTH

_THREADS = 128
"""Threads of a block where each has a pixel."""
_MOST_WARPS = 4
_BINS_FOR_ONE_WARP = 2048
"""Warps of a block where each has a pixel; with so many bins one alone, since each needs memory for them."""
_PROVING_THREADS = 128
"""Threads of a block that proves or finds a depth."""
_PROVING_BLOCKS = 16
"""Blocks of a multiprocessor that prove one pixel after the other: as many as it could ever have at once."""
SEARCHED_AT_ONCE = 2**15
"""Pixels whose windows are searched together: each takes some memory for that."""
_AT_ONCE = 2**12
"""Windows of a pixel that are exposed together."""


class FoundOnDevice(NamedTuple):
    """What the counts of some pixels say, on the host: a number for each."""

    depth: Any
    signal: Any
    background: Any
    sure: Any


class Run:
    """An acquisition of some pixels on the current device.

    ``key`` is that of the random numbers (:mod:`linkedbandits.lidar.engines.counter`), ``around`` what pixels expect
    from those measured before.
    """

    def __init__(
        self,
        made: Acquisition,
        task: Task,
        model: ReturnModel,
        light: Light,
        numbers: IntArray,
        key: Sequence[int],
        around: Around | None = None,
    ) -> None:
        self._cupy = import_cupy()
        self.device = self._cupy.cuda.Device().id
        self.multiprocessors = self._cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._made, self._task, self._sensor, self._model = made, task, task.sensor, model
        digits = digits_needed(task.cycles)
        shape = Shape(
            bins=task.sensor.bins,
            half=model.pulse.half,
            signals=model.signals.size,
            phases=model.phases.size,
            digits=digits,
            likely=task.likely is not None,
            certain=task.delta is not None,
        )
        self.kernels = program(self.device, shape)
        self._block = 32 * shape.warps
        self.warps = _MOST_WARPS if task.sensor.bins < _BINS_FOR_ONE_WARP else 1
        self._tables = device_tables(self.device, model, task.sensor)
        self._key = tuple(np.uint32(word) for word in key)
        self._dead_periods = np.float64(task.sensor.dead_time / task.sensor.period)
        most = inf if task.seconds is None else np.floor(task.seconds / task.sensor.bin_seconds * (1 + 1e-12))
        self._most_bins = np.float64(most)
        self._around = around
        self.pixels = PixelArrays(light, numbers, task.sensor.bins)

    def go(self) -> None:
        """All cycles of all pixels."""
        if self._made.gates is not None:
            _GateByGate(self).go()
        elif self._made.in_time:
            self._expose_windows()
        else:
            self._expose_evenly()

    def launch(self, source: str, name: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        """Start a kernel; ``shared`` is how many bytes of shared memory each block has."""
        self.kernels.kernel(source, name, shared)((blocks,), (threads,), arguments, shared_mem=shared)

    def number(self, source: str, name: str) -> int:
        """A number that the compiler knows."""
        return self.kernels.number(source, name)

    def find(self) -> FoundOnDevice:
        """The likeliest depths, and the light that goes with them."""
        cupy, pixels, tables, task = self._cupy, self.pixels, self._tables, self._task
        found = [cupy.empty(pixels.count) for _ in FoundOnDevice._fields]
        shapes = tables.on_host
        gated = self._made.gates is not None
        self.launch(
            "find_depth.cu",
            "find_depth",
            pixels.count,
            _PROVING_THREADS,
            shapes.shared_bytes(task.tolerance, task.sensor.bins),
            cupy.arange(pixels.count, dtype=cupy.int32),
            pixels.marks,
            pixels.fired,
            pixels.log_prior,
            pixels.level,
            *found,
            *tables.returns,
            tables.cells,
            np.int32(shapes.levels),
            np.int32(shapes.knots),
            np.int32(shapes.told),
            np.int32(gated),
            np.int32(task.present),
            np.int32(shapes.window(task.tolerance, task.sensor.bins)),
            np.float64(task.signal),
            np.float64(self._model.expected_background),
            np.int32(shapes.room(task.tolerance, task.sensor.bins)),
        )
        return FoundOnDevice(*(on_host(each) for each in found))

    def cycles(self) -> Any:
        """Laser cycles of each pixel, or what its windows took of them."""
        return on_host(self.pixels.cycles) * np.float64(self._made.cost)

    def seconds(self) -> Any:
        """The time that they took."""
        if self._made.in_time:
            return on_host(self.pixels.bins_gone) / self._sensor.bins * self._sensor.period
        lost = self._cupy.asarray(self._sensor.lost_periods(np.arange(self._sensor.bins)))
        photons = on_host((self.pixels.fired * lost).sum(axis=1))
        return (on_host(self.pixels.cycles) + photons) * self._sensor.period

    def named(self) -> Any:
        """The bin that the policy itself names: of those without a model, the one that fired most often."""
        if self._made.gates is not None:
            return on_host(self.pixels.arm)
        samples = self.pixels.samples()
        means = self._cupy.where(samples > 0, self.pixels.fired / self._cupy.maximum(samples, 1), -1.0)
        return on_host(means.argmax(axis=1))

    def expose(self, kernel: str, active: Any, *gates: Any, warps: bool = True, shared: int = 0) -> None:
        """Let the sensor see for as many cycles as were planned; a warp has a pixel, or a thread."""
        pixels = self.pixels
        threads = 32 * self.warps if warps else _THREADS
        blocks = -(-active.size // (self.warps if warps else _THREADS))
        begin = (active, np.int32(active.size), *pixels.scene, self._tables.cumulative, *pixels.clocks, *self._key)
        counts = (pixels.cycles, pixels.marks, pixels.fired)
        self.launch("expose.cu", kernel, blocks, threads, shared, *begin, *gates, *counts)

    def keep(self, active: Any, marks: Any, wanted: bool) -> tuple[Any, Any]:
        """The active pixels that have a mark, or have none, first in a list; and how many they are, on the device."""
        kept, count = self._cupy.empty_like(active), self._cupy.zeros(1, dtype=self._cupy.int32)
        blocks = -(-active.size // _THREADS)
        self.launch(
            "keep.cu", "keep", blocks, _THREADS, 0, active, np.int32(active.size), marks, np.int32(wanted), kept, count
        )
        return kept, count

    def going_on(self, active: Any) -> Any:
        """Those that are not done; waits for the kernels that say so."""
        kept, count = self.keep(active, self.pixels.done, wanted=False)
        return kept[: int(on_host(count)[0])]

    def plan(self, active: Any, growth: float, most_cycles: int, *, free_running: bool = False) -> None:
        """How many cycles of its next gate each pixel has, and who has none left."""
        pixels = self.pixels
        self.launch(
            "expose.cu",
            "plan_cycles",
            -(-active.size // _THREADS),
            _THREADS,
            0,
            active,
            np.int32(active.size),
            *pixels.clocks,
            pixels.cycles,
            pixels.opens,
            np.float64(growth),
            np.int32(most_cycles),
            self._most_bins,
            self._dead_periods,
            np.int32(free_running),
            pixels.times,
            pixels.stopped,
            pixels.done,
        )

    def _expose_windows(self) -> None:
        """Every bin in every window, whatever was seen: each begins with the period, or they are shifted."""
        pixels, cupy, made = self.pixels, self._cupy, self._made
        most = int(self._task.cycles / made.cost * (1 + 1e-12))
        active = cupy.arange(pixels.count, dtype=cupy.int32)
        while active.size:
            if made.shifts is None:
                self.plan(active, _AT_ONCE, most)
            else:
                self._plan_shifted(active, most, made.shifts)
            active = self.going_on(active)
            if not active.size:
                return
            pixels.times[active] = cupy.minimum(pixels.times[active], _AT_ONCE)
            if made.shifts is None:
                self.expose("expose_suffix", active, pixels.opens, pixels.times, self._dead_periods)
            else:
                shifts = np.int32(made.shifts)
                self.expose("expose_shifted", active, shifts, pixels.times, self._dead_periods)

    def _plan_shifted(self, active: Any, most: int, shifts: int) -> None:
        """How many windows there are left, where each begins a step later in its period than the one before."""
        pixels, cupy, bins = self.pixels, self._cupy, self._sensor.bins
        left = (most - pixels.cycles[active]).astype(cupy.float64)
        if self._task.seconds is not None:
            begins = pixels.armed[active].astype(cupy.int64) % shifts * bins // shifts
            gone = pixels.bins_gone[active]
            idle = (begins - gone) % bins
            lost = self._lost(pixels.last_fired[active] - idle)
            fit = (self._most_bins - gone - idle) / bins - lost
            each = 1 + self._sensor.lost_periods(bins - 1, bins // shifts) + -(-bins // shifts) / bins
            left = cupy.minimum(left, cupy.where(fit >= 1, cupy.floor((fit - 1) / each) + 1, 0.0))
        pixels.times[active] = cupy.minimum(left, _AT_ONCE).astype(cupy.int32)
        pixels.done[active] = left <= 0

    def _lost(self, fired: Any) -> Any:
        """As :meth:`linkedbandits.lidar.sensor.Sensor.lost_periods` has it, on the device."""
        cupy = self._cupy
        return cupy.maximum(cupy.ceil((fired + 0.5) / self._sensor.bins + self._dead_periods) - 1, 0.0)

    def _expose_evenly(self) -> None:
        """Every bin the same number of samples."""
        pixels = self.pixels
        self.launch(
            "expose.cu",
            "expose_evenly",
            -(-pixels.count // self.warps),
            32 * self.warps,
            4 * self.warps * self._sensor.bins,
            np.int32(pixels.count),
            *pixels.scene,
            self._tables.cumulative,
            *self._key,
            np.int32(self._task.cycles),
            np.float64(GROWTH),
            pixels.cycles,
            pixels.marks,
            pixels.fired,
        )


class _GateByGate:
    """A policy that chooses gates by a model of the return, for the pixels of a run."""

    def __init__(self, run: Run) -> None:
        assert run._made.gates is not None
        self._run = run
        self._policy = run._made.gates
        self._cupy, self._pixels, self._tables = run._cupy, run.pixels, run._tables
        self._task, self._sensor, self._model = run._task, run._sensor, run._model
        self._free_running = run._made.mode == "free-running"
        lost = self._sensor.lost_periods(np.arange(self._sensor.bins))
        self._base, self._late = float(lost[0]), int((lost == lost[0]).sum())
        """Periods that a photon in the first bin costs, and how many bins cost no more."""
        self._worth: Any = None
        self._chance: Any = None
        self._scratch: Any = None

    def go(self) -> None:
        """All cycles of all pixels."""
        cupy, pixels, task = self._cupy, self._pixels, self._task
        active = cupy.arange(pixels.count, dtype=cupy.int32)
        if isinstance(self._policy, PulseGating):
            self._worth, self._chance = cupy.empty((2, pixels.count, self._sensor.bins), dtype=cupy.float32)
        if not self._has_suffixes:
            pixels.gate = cupy.full((pixels.count, gate_words(self._sensor.bins)), 0xFFFFFFFF, dtype=cupy.uint32)
        self._expect()
        if self._run._around is not None or isinstance(self._policy, ThompsonGating):
            self._choose(active)
        # Where nothing can end a pixel before the others, nobody has to ask who goes on.
        all_alike = task.seconds is None and task.delta is None and task.likely is None
        spent = 0
        while active.size and spent < task.cycles:
            self._run.plan(active, self._policy.growth, task.cycles, free_running=self._free_running)
            spent += max(int(spent * self._policy.growth), 1) if all_alike else 0
            if not all_alike:
                active = self._run.going_on(active)
                if not active.size:
                    return
            self._expose(active)
            self._choose(active)

    @property
    def _has_suffixes(self) -> bool:
        return (
            self._free_running or isinstance(self._policy, ThompsonGating) or isinstance(self._sensor.gates, Suffixes)
        )

    def _expect(self) -> None:
        """What pixels expect before their own photons: the same of all, or from those around them."""
        cupy, pixels, bins = self._cupy, self._pixels, self._sensor.bins
        around = self._run._around
        if around is None:
            background = max(self._sensor.background, LEAST_BACKGROUND)
            pixels.expected_signal = cupy.full(pixels.count, self._policy.typical_signal)
            pixels.expected_background = cupy.full(pixels.count, background)
            if self._sensor.first_seen:  # bins that no gate can see are hardly expected
                row = np.nextafter(self._policy.log_weights(bins).astype(np.float32), np.float32(-inf))
                pixels.log_prior = cupy.ascontiguousarray(cupy.broadcast_to(cupy.asarray(row), (pixels.count, bins)))
        else:
            pixels.expected_signal, pixels.expected_background = (cupy.asarray(each) for each in around.light)
            pixels.log_prior = spread_prior(self._run.kernels, around, bins)
        level = self._model.level_of(on_host(pixels.expected_background))
        pixels.level = cupy.asarray(level.astype(np.int32))

    def _expose(self, active: Any) -> None:
        pixels, sensor = self._pixels, self._sensor
        times, dead = pixels.times, self._run._dead_periods
        if self._free_running:
            self._run.expose("expose_free_running", active, times, np.float64(sensor.dead_bins), warps=False)
            return
        rises = sensor.rise_bins if sensor.gates.rises else 0
        if self._has_suffixes and not rises:
            self._run.expose("expose_suffix", active, pixels.opens, times, dead)
            return
        shared = self._run.warps * (8 * (sensor.bins + 1) + 4 * sensor.bins)
        gates = (pixels.opens, pixels.gate, self._tables.rising, np.int32(rises), times, dead)
        self._run.expose("expose_gate", active, *gates, shared=shared)

    def _choose(self, active: Any) -> None:
        """Make up one's mind by what was counted so far: stop, or a gate."""
        if isinstance(self._policy, ThompsonGating):
            self._draw(active, self._policy)
            return
        assert isinstance(self._policy, PulseGating)
        self._weigh(active, self._policy)
        if self._policy.delta is None:
            self._open_best(active)
            return
        # Gates are found while the last proofs, which take long, are still under way.
        with side_by_side(self._run.device, partial(self._certify, active, self._policy, log(1 / self._policy.delta))):
            self._open_best(active)

    def _draw(self, active: Any, policy: ThompsonGating) -> None:
        pixels, tables = self._pixels, self._tables
        self._run.launch(
            "thompson.cu",
            "draw_gate",
            active.size,
            self._run._block,
            self._run.number("thompson.cu", "drawing_bytes"),
            active,
            pixels.numbers,
            pixels.marks,
            pixels.fired,
            pixels.log_prior,
            pixels.expected_background,
            pixels.level,
            pixels.arm,
            tables.likelihood,
            tables.backgrounds,
            np.int32(self._model.backgrounds.size),
            *self._run._key,
            pixels.steps,
            np.int32(policy.lead),
            tables.start_before,
            pixels.opens,
        )

    def _weigh(self, active: Any, policy: PulseGating) -> None:
        pixels, tables, model = self._pixels, self._tables, self._model
        needed = inf if policy.delta is None else log(1 / policy.delta) + PRICE
        step = 1 / model.phases.size
        self._run.launch(
            "weigh.cu",
            "weigh",
            active.size,
            self._run._block,
            self._run.number("weigh.cu", "weighing_bytes"),
            active,
            pixels.marks,
            pixels.fired,
            pixels.log_prior,
            pixels.expected_background,
            pixels.level,
            pixels.arm,
            pixels.cycles,
            pixels.next_try,
            tables.likelihood,
            tables.outlook,
            tables.phases,
            tables.backgrounds,
            np.int32(model.backgrounds.size),
            np.float32(TEMPER),
            np.float32(STEP),
            np.float32(LEAST_WORTH),
            np.float32(needed),
            np.float32(max(policy.tolerance - step / 2, step)),
            np.float64(policy.likely or 0.0),
            np.int32(tables.on_host.window(policy.tolerance, self._sensor.bins)),
            self._worth,
            self._chance,
            pixels.promising,
            pixels.stopped,
        )

    def _certify(self, active: Any, policy: PulseGating, needed: float) -> None:
        cupy, pixels, tables, bins = self._cupy, self._pixels, self._tables, self._sensor.bins
        promising, count = self._run.keep(active, pixels.promising, wanted=True)
        self._run.launch(
            "certify.cu",
            "certify",
            min(active.size, _PROVING_BLOCKS * self._run.multiprocessors),
            _PROVING_THREADS,
            tables.on_host.shared_bytes(policy.tolerance, bins),
            promising,
            count,
            cupy.zeros(1, dtype=cupy.int32),
            pixels.marks,
            pixels.fired,
            pixels.log_prior,
            pixels.expected_signal,
            pixels.expected_background,
            pixels.level,
            pixels.cycles,
            pixels.arm,
            pixels.next_try,
            pixels.certain,
            pixels.stopped,
            *tables.returns,
            tables.cells,
            tables.cumulative,
            np.int32(tables.on_host.levels),
            np.int32(tables.on_host.knots),
            np.int32(tables.on_host.told),
            np.float64(policy.tolerance),
            np.float64(policy.signal_limit),
            np.float64(needed),
            np.int32(tables.on_host.room(policy.tolerance, bins)),
        )

    def _open_best(self, active: Any) -> None:
        """The best gate that the sensor can open; a free-running one has none."""
        if self._free_running:
            return
        if isinstance(self._sensor.gates, Suffixes):
            self._open_best_suffix(active)
        else:
            self._open_best_windows(active)

    def _open_best_suffix(self, active: Any) -> None:
        pixels, tables = self._pixels, self._tables
        self._run.launch(
            "suffix.cu",
            "best_suffix",
            -(-active.size // self._run.warps),
            32 * self._run.warps,
            self._run.warps * self._run.number("suffix.cu", "suffix_bytes_a_warp"),
            active,
            np.int32(active.size),
            self._worth,
            self._chance,
            np.float32(self._base),
            np.int32(self._late),
            tables.rising,
            np.int32(self._sensor.rise_bins),
            NOTHING if tables.may_open is None else tables.may_open,
            pixels.opens,
        )

    def _open_best_windows(self, active: Any) -> None:
        """Windows, or any subset, which is windows and gaps of one bin that open at once."""
        cupy, pixels, sensor = self._cupy, self._pixels, self._sensor
        windows = isinstance(sensor.gates, Windows)
        shortest, gap = sensor.gates.in_bins(sensor) if isinstance(sensor.gates, Windows) else (1, 1)
        rising = cupy.asarray(sensor.rising)
        at_once = min(active.size, SEARCHED_AT_ONCE)
        if self._scratch is None or self._scratch.size < search_numbers(sensor.bins) * at_once:
            self._scratch = cupy.empty(search_numbers(sensor.bins) * at_once, dtype=cupy.float32)
        for first in range(0, active.size, at_once):
            some = active[first : first + at_once]
            self._run.launch(
                "best_windows.cu",
                "best_windows",
                -(-some.size // _THREADS),
                _THREADS,
                0,
                some,
                np.int32(some.size),
                self._worth,
                self._chance,
                pixels.gate,
                self._scratch,
                np.int64(at_once),
                np.int32(shortest),
                np.int32(gap),
                np.int32(sensor.rise_bins if windows else 0),
                rising,
                np.float64(self._base),
                np.int32(self._late),
            )
        count = np.int32(active.size)
        blocks = -(-active.size // _THREADS)
        self._run.launch("suffix.cu", "first_open", blocks, _THREADS, 0, active, count, pixels.gate, pixels.opens)
