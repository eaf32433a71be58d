"""The figures of a study, one a module, each a function of tables. Needs matplotlib, imported when one is drawn."""

from linkedbandits.study.figures.arms_still_in import TracePanel, arms_still_in
from linkedbandits.study.figures.errors_by_delta import errors_by_delta
from linkedbandits.study.figures.everything import draw_all
from linkedbandits.study.figures.plays_by_arms import plays_by_arms
from linkedbandits.study.figures.plays_by_delta import plays_by_delta
from linkedbandits.study.figures.samples_by_arm import SamplesPanel, samples_by_arm

__all__ = [
    "SamplesPanel",
    "TracePanel",
    "arms_still_in",
    "draw_all",
    "errors_by_delta",
    "plays_by_arms",
    "plays_by_delta",
    "samples_by_arm",
]
