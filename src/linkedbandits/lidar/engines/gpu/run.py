"""The pixels of a tile on a device, from the first cycle to the last: which kernel comes after which."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import Any

import numpy as np

from linkedbandits.lidar.acquisitions import Acquisition, Task
from linkedbandits.lidar.borrowing import FAR, NEAR, SHARE_FAR, Around
from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.gpu.device import Shape, import_cupy, program
from linkedbandits.lidar.engines.gpu.device_tables import device_tables
from linkedbandits.lidar.engines.gpu.fragments import digits_needed
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.gating import LEAST_WORTH, STEP, TEMPER
from linkedbandits.lidar.pulse_gating import PRICE, PulseGating
from linkedbandits.lidar.returns import LEVEL_RATIO, ReturnModel
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.lidar.thompson_gating import ThompsonGating
from linkedbandits.model import IntArray

_THREADS = 128
"""Threads of a block where a thread, or a warp of 32, has a pixel."""
_WARPS = _THREADS // 32
NOTHING = np.uint64(0)
"""A pointer to nothing."""


class PixelArrays:
    """What is known of some pixels, on the current device: their light, counts, clocks and gates."""

    def __init__(self, light: Light, numbers: IntArray, bins: int) -> None:
        cupy = import_cupy()
        self.count = numbers.size
        self.numbers, self.depth, self.signal, self.background = (cupy.asarray(each) for each in (numbers, *light))
        self.marks = cupy.zeros((self.count, bins), dtype=cupy.int32)
        """Differences, from bin to bin, of how often bins were sampled;"""
        self.fired = cupy.zeros((self.count, bins), dtype=cupy.int32)
        """how often they fired."""
        self.cycles, self.armed, self.detections, self.times, self.opens, self.arm, self.level, self.steps = (
            cupy.zeros(self.count, dtype=cupy.int32) for _ in range(8)
        )
        self.next_try = cupy.zeros(self.count, dtype=cupy.int32)
        self.bins_gone = cupy.zeros(self.count, dtype=cupy.int64)
        self.last_fired = cupy.full(self.count, -inf)
        self.stopped, self.done, self.promising, self.certain = (
            cupy.zeros(self.count, dtype=cupy.uint8) for _ in range(4)
        )
        self.log_prior: Any = NOTHING
        self.expected_signal: Any = NOTHING
        self.expected_background: Any = NOTHING
        self.gate: Any = NOTHING
        """A row of bits for each pixel, where gates are no suffixes."""

    @property
    def clocks(self) -> tuple[Any, ...]:
        """What the kernels that expose keep of time."""
        return self.bins_gone, self.last_fired, self.armed, self.detections


class Run:
    """An acquisition of some pixels, gate by gate, on the current device."""

    def __init__(
        self,
        made: Acquisition,
        task: Task,
        model: ReturnModel,
        light: Light,
        numbers: IntArray,
        key: Sequence[int],
        around: Around | None,
    ) -> None:
        self._cupy = import_cupy()
        device = self._cupy.cuda.Device().id
        assert made.gates is not None
        self._made, self._task, self._sensor, self._policy = made, task, task.sensor, made.gates
        self._model = model
        digits = digits_needed(task.cycles)
        shape = Shape(
            task.sensor.bins, model.pulse.half, model.signals.size, model.phases.size, digits, task.likely is not None, task.delta is not None
        )
        self._program = program(device, shape)
        self._block = 32 * shape.warps
        self._tables = device_tables(device, model, task.sensor, digits)
        self._key = tuple(np.uint32(word) for word in key)
        self.pixels = PixelArrays(light, numbers, task.sensor.bins)
        self._around = around
        self._dead_periods = np.float64(task.sensor.dead_time / task.sensor.period)
        most = inf if task.seconds is None else np.floor(task.seconds / task.sensor.bin_seconds * (1 + 1e-12))
        self._most_bins = np.float64(most)
        self._all_alike = task.seconds is None and task.delta is None and task.likely is None
        """Do all pixels have the same cycles, whatever they see?"""
        self._worth: Any = None
        self._chance: Any = None

    def go(self) -> None:
        """All cycles of all pixels."""
        cupy, pixels = self._cupy, self.pixels
        active = cupy.arange(pixels.count, dtype=cupy.int32)
        if isinstance(self._policy, PulseGating):
            self._worth, self._chance = cupy.empty((2, pixels.count, self._sensor.bins), dtype=cupy.float32)
        self._expect()
        if self._around is not None or isinstance(self._policy, ThompsonGating):
            active = self._choose(active)
        spent = 0
        while active.size:
            self._plan(active)
            if self._all_alike:
                times = max(int(spent * self._policy.growth), 1)
                if spent >= self._task.cycles:
                    break
                spent += times
            else:
                active = active[pixels.done[active] == 0]
                if not active.size:
                    break
            self._expose(active)
            active = self._choose(active)

    def _launch(self, part: str, name: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        self._program.kernel(part, name, shared)((blocks,), (threads,), arguments, shared_mem=shared)

    def _expect(self) -> None:
        """What pixels expect before their own photons: of themselves, or from those around them."""
        cupy, pixels, bins = self._cupy, self.pixels, self._sensor.bins
        around = self._around
        if around is None:
            background = max(self._sensor.background, LEAST_BACKGROUND)
            pixels.expected_signal = cupy.full(pixels.count, self._policy.typical_signal)
            pixels.expected_background = cupy.full(pixels.count, background)
            if self._sensor.first_seen:
                weights = self._policy.log_weights(bins).astype(np.float32)
                row = np.nextafter(weights, np.float32(-inf))
                pixels.log_prior = cupy.ascontiguousarray(cupy.broadcast_to(cupy.asarray(row), (pixels.count, bins)))
        else:
            expected = around.light
            pixels.expected_signal, pixels.expected_background = (cupy.asarray(each) for each in expected)
            pixels.log_prior = cupy.empty((pixels.count, bins), dtype=cupy.float32)
            self._launch(
                "gating",
                "spread_prior",
                -(-pixels.count // _WARPS),
                _THREADS,
                0,
                np.int32(pixels.count),
                np.int32(around.depth.shape[1]),
                cupy.asarray(around.depth),
                cupy.asarray(around.trust),
                np.float64(around.anywhere),
                np.float64(NEAR),
                np.float64(FAR),
                np.float64(SHARE_FAR),
                pixels.log_prior,
            )
        pixels.level = cupy.asarray(self._model.level_of(cupy.asnumpy(pixels.expected_background)).astype(np.int32))

    def _plan(self, active: Any) -> None:
        """How many cycles of its next gate each pixel has."""
        pixels = self.pixels
        self._launch(
            "exposing",
            "plan_cycles",
            -(-active.size // _THREADS),
            _THREADS,
            0,
            active,
            np.int32(active.size),
            *pixels.clocks,
            pixels.cycles,
            pixels.opens,
            np.float64(self._policy.growth),
            np.int32(self._task.cycles),
            self._most_bins,
            self._dead_periods,
            np.int32(self._made.mode == "free-running"),
            pixels.times,
            pixels.stopped,
            pixels.done,
        )

    def _expose(self, active: Any) -> None:
        """Let the sensor see."""
        pixels, sensor = self.pixels, self._sensor
        scene = (pixels.numbers, pixels.depth, pixels.signal, pixels.background, self._tables.cumulative)
        begin = (active, np.int32(active.size), *scene, *pixels.clocks, *self._key)
        counts = (pixels.cycles, pixels.marks, pixels.fired)
        rises = sensor.rise_bins if sensor.gates.rises else 0
        by_warps = -(-active.size // _WARPS)
        if self._made.mode == "free-running":
            blocks, dead = -(-active.size // _THREADS), np.float64(sensor.dead_bins)
            self._launch("exposing", "expose_free_running", blocks, _THREADS, 0, *begin, pixels.times, dead, *counts)
        elif self._has_suffixes and not rises:
            last = (pixels.opens, pixels.times, self._dead_periods, *counts)
            self._launch("exposing", "expose_suffix", by_warps, _THREADS, 0, *begin, *last)
        else:
            shared = _WARPS * (8 * (sensor.bins + 1) + 4 * sensor.bins)
            gates = (pixels.opens, pixels.gate, self._tables.rising, np.int32(rises))
            last = (pixels.times, self._dead_periods, *counts)
            self._launch("exposing", "expose_gate", by_warps, _THREADS, shared, *begin, *gates, *last)

    @property
    def _has_suffixes(self) -> bool:
        return isinstance(self._sensor.gates, Suffixes) or isinstance(self._policy, ThompsonGating)

    def _choose(self, active: Any) -> Any:
        """Make up one's mind by what was counted so far; who goes on has a new gate."""
        if isinstance(self._policy, ThompsonGating):
            self._draw(active, self._policy)
            return active
        self._weigh(active, self._policy)
        if self._made.mode != "free-running":
            self._open_best(active)
        return active

    def _draw(self, active: Any, policy: ThompsonGating) -> None:
        pixels, tables = self.pixels, self._tables
        shared = self._program.number("drawing", "drawing_bytes")
        self._launch(
            "drawing",
            "draw_gate",
            active.size,
            self._block,
            shared,
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
            np.float64(log(LEVEL_RATIO)),
            *self._key,
            pixels.steps,
            np.int32(policy.lead),
            tables.start_before,
            pixels.opens,
        )

    def _weigh(self, active: Any, policy: PulseGating) -> None:
        pixels, tables, model = self.pixels, self._tables, self._model
        shared = self._program.number("weighing", "weighing_bytes")
        needed = inf if policy.delta is None else log(1 / policy.delta) + PRICE
        step = 1 / model.phases.size
        away = max(policy.tolerance - step / 2, step)
        cells = self._sensor.bins * model.phases.size
        wide = min(max(1, round(2 * policy.tolerance * model.phases.size)), cells)
        self._launch(
            "weighing",
            "weigh",
            active.size,
            self._block,
            shared,
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
            np.float64(log(LEVEL_RATIO)),
            np.float32(TEMPER),
            np.float32(STEP),
            np.float32(LEAST_WORTH),
            np.float32(needed),
            np.float32(away),
            np.float64(policy.likely or 0.0),
            np.int32(wide),
            self._worth,
            self._chance,
            pixels.promising,
            pixels.stopped,
        )

    def _open_best(self, active: Any) -> None:
        """The best gate that the sensor can open."""
        pixels, sensor, tables = self.pixels, self._sensor, self._tables
        lost = sensor.lost_periods(np.arange(sensor.bins))
        shared = _WARPS * self._program.number("gating", "suffix_bytes_a_warp")
        self._launch(
            "gating",
            "best_suffix",
            -(-active.size // _WARPS),
            _THREADS,
            shared,
            active,
            np.int32(active.size),
            self._worth,
            self._chance,
            np.float32(lost[0]),
            np.int32((lost == lost[0]).sum()),
            tables.rising,
            np.int32(sensor.rise_bins),
            NOTHING if tables.may_open is None else tables.may_open,
            pixels.opens,
        )
