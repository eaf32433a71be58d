"""Live experiments: ask what to play, tell what happened.

- :mod:`~linkedbandits.live.experiment`: what users hold, with labels and verdicts, and ``identify``, which asks and
  tells until there is a verdict; :mod:`~linkedbandits.live.estimates`: what is known of arms by now;
- :mod:`~linkedbandits.live.run`: the same in numbers, and the owner of all that changes;
- :mod:`~linkedbandits.live.requests`, :mod:`~linkedbandits.live.answers`, :mod:`~linkedbandits.live.chain_record`:
  what it is made of, and :mod:`~linkedbandits.live.future`: what it hands out while answers are missing;
- :mod:`~linkedbandits.live.warm_start`: a log that it begins with; :mod:`~linkedbandits.live.saving`: its saved form.
"""

from linkedbandits.live.answers import AnswerLog
from linkedbandits.live.chain_record import Learning
from linkedbandits.live.estimates import Estimate, Estimates
from linkedbandits.live.experiment import Before, Experiment, Play, identify
from linkedbandits.live.run import HANDS_OUT_BY, Receipt, Run, Upgrade
from linkedbandits.live.warm_start import FromLog, WarmStart

__all__ = [
    "HANDS_OUT_BY",
    "AnswerLog",
    "Before",
    "Estimate",
    "Estimates",
    "Experiment",
    "FromLog",
    "Learning",
    "Play",
    "Receipt",
    "Run",
    "Upgrade",
    "WarmStart",
    "identify",
]
