"""What engines other than the reference do not simulate, and what to use instead."""

from __future__ import annotations

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquisitions import Acquisition, Task

SIMULATED = ("pulse", "free-running", "thompson", "synchronous", "shifted", "even")


def refuse_unless_simulated(engine: str, made: Acquisition, acquisition: str, task: Task) -> None:
    """Refuse an acquisition, or a sensor, that only the reference has."""
    if acquisition not in SIMULATED:
        raise InvalidParameter(
            f'engine="{engine}" simulates {", ".join(SIMULATED)}, and not {acquisition}; use engine="numpy"'
        )
    if acquisition == "even" and made.linkage != "suffix":
        raise InvalidParameter(
            f'engine="{engine}" simulates even with gates that stay open once they are, and this sensor\'s are '
            f'{task.sensor.gates.words}; use engine="numpy"'
        )
    if not task.sensor.certifiable:
        raise InvalidParameter(
            f'engine="{engine}" does not simulate afterpulses that outlast the dead time; use engine="numpy", or '
            "give a dead_time of five times the afterpulse_time"
        )
