"""Which option is best, when you try options in order and stop at the first that works.

>>> import linkedbandits as lb
>>> runs = lb.simulate([0.1, 0.4, 0.2], lb.LinkedEGE(delta=0.1, gap=0.2), trials=100, seed=1)
>>> runs.error_rate()
0.0
"""

from linkedbandits import scenarios
from linkedbandits import theory as bounds
from linkedbandits.errors import (
    AccessDenied,
    CannotRead,
    CannotWrite,
    ConflictingTell,
    DamagedResults,
    DamagedSave,
    EngineFailure,
    ExperimentArchived,
    ExperimentFinished,
    ExperimentPaused,
    HitNotInPlay,
    InvalidLabels,
    InvalidMeans,
    InvalidNeeds,
    InvalidParameter,
    InvalidStudy,
    JournalMismatch,
    KeyReused,
    LinkageMismatch,
    LinkedBanditError,
    MissingExtra,
    MissingToken,
    NewerSave,
    RequestTooLarge,
    ResultsInUse,
    ResultsMismatch,
    ServiceUnavailable,
    StoreUnavailable,
    TooManyInFlight,
    TooManyRequests,
    UnexpectedAnswer,
    UnknownExperiment,
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
    "AccessDenied",
    "CannotRead",
    "CannotWrite",
    "CascadeBAI",
    "ConflictingTell",
    "DamagedResults",
    "DamagedSave",
    "EngineFailure",
    "ErrorPoint",
    "Estimate",
    "Experiment",
    "ExperimentArchived",
    "ExperimentFinished",
    "ExperimentPaused",
    "HitNotInPlay",
    "InvalidLabels",
    "InvalidMeans",
    "InvalidNeeds",
    "InvalidParameter",
    "InvalidStudy",
    "JournalMismatch",
    "KeyReused",
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
    "MissingToken",
    "NewerSave",
    "Play",
    "RequestTooLarge",
    "ResultsInUse",
    "ResultsMismatch",
    "Runs",
    "ServiceUnavailable",
    "StoreUnavailable",
    "SuffixUCB",
    "Summary",
    "TooManyInFlight",
    "TooManyRequests",
    "UnexpectedAnswer",
    "UniformSampling",
    "UnknownExperiment",
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
