"""What kernels look up: made on the host for a task, and kept on each device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.gpu.device import CUMULATIVE_STEPS, import_cupy
from linkedbandits.lidar.engines.gpu.fragments import (
    likelihood_fragments,
    outlook_fragments,
    phase_fragments,
)
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.lidar.sensor import Sensor
from linkedbandits.model import FloatArray


@dataclass(frozen=True, eq=False)
class DeviceTables:
    """Arrays on one device; see the kernels for what each is for."""

    likelihood: Any
    outlook: Any
    phases: Any
    backgrounds: Any
    cumulative: Any
    rising: Any
    may_open: Any
    """Of every bin, whether a gate may open there; None where it may anywhere."""
    start_before: Any
    """Of every bin, the last one up to it at which a gate may open."""


@lru_cache(maxsize=8)
def device_tables(device: int, model: ReturnModel, sensor: Sensor, digits: int) -> DeviceTables:
    """The tables of a device, which is the current one."""
    put = import_cupy().asarray
    starts = sensor.gates.starts(sensor.bins) if isinstance(sensor.gates, Suffixes) else np.arange(sensor.bins)
    bins = np.arange(sensor.bins)
    return DeviceTables(
        likelihood=put(likelihood_fragments(model, digits)),
        outlook=put(outlook_fragments(model)),
        phases=put(phase_fragments(model)),
        backgrounds=put(model.backgrounds),
        cumulative=put(cumulative_table(sensor)),
        rising=put(sensor.rising.astype(np.float32)),
        may_open=None if starts.size == bins.size else put(np.isin(bins, starts).astype(np.uint8)),
        start_before=put(starts[np.searchsorted(starts, bins, side="right") - 1].astype(np.int32)),
    )


def cumulative_table(sensor: Sensor) -> FloatArray:
    """The share of the pulse that comes before each of many moments around its own."""
    reach = sensor.pulse.half + 1
    return sensor.pulse.cumulative(np.linspace(-reach, reach, 2 * reach * CUMULATIVE_STEPS + 1))
