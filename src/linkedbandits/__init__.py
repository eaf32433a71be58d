"""Which option is best, when you try options in order and stop at the first that works.

>>> import linkedbandits as lb
>>> runs = lb.simulate([0.1, 0.4, 0.2], lb.LinkedEGE(delta=0.1, gap=0.2), trials=100, seed=1)
>>> runs.error_rate()
0.0
"""

from linkedbandits import scenarios
from linkedbandits import theory as bounds
from linkedbandits.errors import (
    CannotWrite,
    ConflictingTell,
    DamagedSave,
    ExperimentFinished,
    HitNotInPlay,
    InvalidLabels,
    InvalidMeans,
    InvalidNeeds,
    InvalidParameter,
    LinkageMismatch,
    LinkedBanditError,
    MissingExtra,
    NewerSave,
    TooManyInFlight,
    UnknownName,
    UnknownPlay,
)
from linkedbandits.experiment import Experiment
from linkedbandits.linkage import next_play
from linkedbandits.model import Verdict
from linkedbandits.policies import (
    CascadeBAI,
    LilUCB,
    LinkedEGE,
    LinkedElimination,
    LinkedHalving,
    LinkedTrackAndStop,
    MaximalSampling,
    MedianElimination,
    SuffixUCB,
    UniformSampling,
)
from linkedbandits.policies.linked_halving import ErrorPoint, error_curve
from linkedbandits.runs import Runs, Summary
from linkedbandits.simulation import simulate
from linkedbandits.tickets import Estimate, Play
from linkedbandits.version import __version__

__all__ = [
    "CannotWrite",
    "CascadeBAI",
    "ConflictingTell",
    "DamagedSave",
    "ErrorPoint",
    "Estimate",
    "Experiment",
    "ExperimentFinished",
    "HitNotInPlay",
    "InvalidLabels",
    "InvalidMeans",
    "InvalidNeeds",
    "InvalidParameter",
    "LilUCB",
    "LinkageMismatch",
    "LinkedBanditError",
    "LinkedEGE",
    "LinkedElimination",
    "LinkedHalving",
    "LinkedTrackAndStop",
    "MaximalSampling",
    "MedianElimination",
    "MissingExtra",
    "NewerSave",
    "Play",
    "Runs",
    "SuffixUCB",
    "Summary",
    "TooManyInFlight",
    "UniformSampling",
    "UnknownName",
    "UnknownPlay",
    "Verdict",
    "__version__",
    "bounds",
    "error_curve",
    "next_play",
    "scenarios",
    "simulate",
]
