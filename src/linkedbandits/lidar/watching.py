"""One pixel watched while ``pulse`` acquires it: what it opens, what it sees, and what it believes, look after look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquiring import cycles_left
from linkedbandits.lidar.acquisitions import Task, find_acquisition
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.pulse_gating import PulseGating
from linkedbandits.lidar.scene import Scene
from linkedbandits.model import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Watched:
    """The looks at a pixel: a row each, in the order in which gates were opened.

    ``cycles`` and ``seconds`` are those when the gate was shut again; ``gate`` says which bins it opened, ``photons``
    how many came in each of them, and ``belief`` how probable each bin was to hold the depth after that. ``depth`` is
    the true one in bins, nan where there is none, ``found`` the one that was found in the end.
    """

    cycles: IntArray
    seconds: FloatArray
    gate: BoolArray
    photons: IntArray
    belief: FloatArray
    depth: float
    found: float
    certain: bool
    task: Task


def watch(scene: Scene, task: Task, row: int, column: int, *, seed: int = 0) -> Watched:
    """Acquire one pixel of a scene by ``pulse``, without the pixels around it."""
    rows, columns = scene.depth.shape
    if not (0 <= row < rows and 0 <= column < columns):
        raise InvalidParameter(f"there is no pixel {row},{column} in {rows} rows and {columns} columns; choose another")
    sensor = task.sensor
    made = find_acquisition("pulse", task)
    policy = made.policy
    assert isinstance(policy, PulseGating)
    here = (slice(row, row + 1), slice(column, column + 1))
    depth = np.where(scene.depth < sensor.reach, scene.depth, np.nan)[here].reshape(1) / sensor.bin_depth
    signal = scene.signals(task.signal, sensor.reach)[here].reshape(1)
    background = scene.ambients(sensor.ambient)[here].reshape(1) / sensor.bins + sensor.dark
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(row, column)))
    exposure = Exposure(sensor, sensor.rates(depth, signal, background), generator)
    state = policy.start(1, sensor.bins, np.zeros(1, dtype=np.uint64))
    cycles, seconds, gates, photons, beliefs = [], [], [], [], []
    while not state.stopped[0] and (left := cycles_left(made, task, state, exposure))[0] > 0:
        times = np.minimum(policy.next_cycles(state), left)
        opened = state.gate
        counts = exposure.expose(opened, times)
        policy.observe_in_time(state, counts, times)
        cycles.append(int(state.cycles[0]))
        seconds.append(float(exposure.seconds[0]))
        gates.append(opened[0])
        photons.append(counts.successes[0])
        beliefs.append(policy.belief(state)[0])
    return Watched(
        cycles=np.array(cycles),
        seconds=np.array(seconds),
        gate=np.array(gates),
        photons=np.array(photons),
        belief=np.array(beliefs),
        depth=float(depth[0]),
        found=float(policy.depth(state)[0]),
        certain=bool(state.certain[0]),
        task=task,
    )
