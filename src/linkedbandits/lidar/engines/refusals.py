"""What engines other than the reference do not simulate, and what to use instead."""

from __future__ import annotations

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.acquisitions import Task, acquisition_name, find_acquisition

SIMULATED = ("pulse", "free-running", "thompson", "synchronous", "shifted", "even")


def refuse_unless_simulated(engine: str, acquisition: str, task: Task) -> None:
    """Refuse an acquisition, or a sensor, that only the reference has."""
    acquisition = acquisition_name(acquisition)
    made = find_acquisition(acquisition, task)
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
