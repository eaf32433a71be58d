"""The gate with the most worth per time of those that a sensor can open, for one pixel: ``gates.Gates.best``."""

from __future__ import annotations

from typing import Any

from linkedbandits.lidar.engines.compiled.best_suffix import best_suffix, suffix_rates
from linkedbandits.lidar.engines.compiled.compiling import in_place
from linkedbandits.lidar.engines.compiled.searching import search
from linkedbandits.lidar.engines.compiled.tables import SUFFIX


@in_place
def best_gate(timing: Any, memory: Any) -> int:
    """The first bin that it opens; ``memory.gate`` has all of them."""
    suffix_rates(timing, memory.worth, memory.chance, memory.suffix_rates, memory.ends, memory.logs)
    if timing.kind == SUFFIX:
        opens = best_suffix(timing, memory.suffix_rates)
        memory.gate[:opens] = False
        memory.gate[opens:] = True
        return opens
    search(timing, memory.worth, memory.chance, memory.suffix_rates, memory.gate)
    opens = 0
    while not memory.gate[opens]:
        opens += 1
    return opens
