"""What kernels look up: made on the host for a model and a sensor, and kept on each device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkedbandits.lidar.engines.gpu.device import import_cupy
from linkedbandits.lidar.engines.gpu.fragments import likelihood_fragments, outlook_fragments, phase_fragments
from linkedbandits.lidar.engines.gpu.tables import Tables, make_tables
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.returns import ReturnModel
from linkedbandits.lidar.sensor import Sensor


@dataclass(frozen=True, eq=False)
class DeviceTables:
    """Arrays on one device; the kernels say what each is for."""

    on_host: Tables
    """What certificates and estimates are made with, in double precision:"""
    returns: tuple[Any, ...]
    """fire, share, signals, backgrounds and between of them,"""
    cells: Any
    cumulative: Any
    likelihood: Any
    """Fragments for tensor cores."""
    outlook: Any
    phases: Any
    backgrounds: Any
    rising: Any
    """How sensitive the bins of a gate that rises are."""
    may_open: Any
    """Of every bin, whether a gate may open there; None where it may anywhere."""
    start_before: Any
    """Of every bin, the last one up to it at which a gate may open."""


@lru_cache(maxsize=8)
def device_tables(device: int, model: ReturnModel, sensor: Sensor) -> DeviceTables:
    """The tables of a device, which is the current one."""
    put = import_cupy().asarray
    tables = make_tables(sensor.pulse, model)
    bins = np.arange(sensor.bins)
    starts = sensor.gates.starts(sensor.bins) if isinstance(sensor.gates, Suffixes) else bins
    return DeviceTables(
        on_host=tables,
        returns=tuple(
            put(each) for each in (tables.fire, tables.share, tables.signals, tables.backgrounds, tables.between)
        ),
        cells=put(tables.cells),
        cumulative=put(tables.cumulative),
        likelihood=put(likelihood_fragments(model)),
        outlook=put(outlook_fragments(model)),
        phases=put(phase_fragments(model)),
        backgrounds=put(model.backgrounds),
        rising=put(sensor.rising.astype(np.float32)),
        may_open=None if starts.size == bins.size else put(np.isin(bins, starts).astype(np.uint8)),
        start_before=put(starts[np.searchsorted(starts, bins, side="right") - 1].astype(np.int32)),
    )
