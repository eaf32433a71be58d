"""Live experiments: ask what to play, tell what happened.

- :mod:`~linkedbandits.live.experiment`: what users hold, with labels and verdicts;
- :mod:`~linkedbandits.live.identifying`: one call that asks and tells until there is a verdict, and
  :mod:`~linkedbandits.live.default_policy`: who decides where nobody was named;
- :mod:`~linkedbandits.live.estimates`: what is known of arms by now;
- :mod:`~linkedbandits.live.run`: the same in numbers, and the owner of all that changes;
- :mod:`~linkedbandits.live.requests`, :mod:`~linkedbandits.live.spares`, :mod:`~linkedbandits.live.answer_log` and
  :mod:`~linkedbandits.live.first_tries`: what it is made of;
- :mod:`~linkedbandits.live.whole_chains`: what a play goes on with when its arms have failed;
- :mod:`~linkedbandits.live.warm_start` and :mod:`~linkedbandits.live.pair_log`: a log that it begins with;
- :mod:`~linkedbandits.live.saving`: the form of a saved experiment, and of those saved by earlier versions.
"""

from linkedbandits.live.answer_log import AnswerLog
from linkedbandits.live.estimates import Estimate, Estimates
from linkedbandits.live.experiment import Before, Experiment, Play
from linkedbandits.live.identifying import identify
from linkedbandits.live.run import HANDS_OUT_BY, Played, Receipt, Run, Upgrade
from linkedbandits.live.warm_start import FromLog, WarmStart
from linkedbandits.live.whole_chains import Learning

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
    "Played",
    "Receipt",
    "Run",
    "Upgrade",
    "WarmStart",
    "identify",
]
