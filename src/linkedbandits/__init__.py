"""Which option is best, when you try options in order and stop at the first that works.

>>> import linkedbandits as lb
>>> runs = lb.simulate([0.1, 0.4, 0.2], lb.LinkedEGE(delta=0.1, gap=0.2), trials=100, seed=1)
>>> runs.error_rate()
0.0
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkedbandits import bounds, scenarios
    from linkedbandits.attempts import Attempts, read_attempts
    from linkedbandits.chain import Chain
    from linkedbandits.errors import (
        AccessDenied,
        AttemptTimedOut,
        CannotRead,
        CannotWrite,
        ChainFailed,
        ConflictingTell,
        DamagedSave,
        EngineFailure,
        ExperimentFinished,
        InvalidAttempts,
        InvalidParameter,
        InvalidStudy,
        LinkedBanditError,
        MissingExtra,
        ServiceUnavailable,
        StoreUnavailable,
        TooManyInFlight,
        UnexpectedAnswer,
        UnknownName,
        ValueRejected,
        WrongState,
    )
    from linkedbandits.joint_worlds import OutcomeTable, SharedDifficulty
    from linkedbandits.linkage import next_play
    from linkedbandits.live import Estimate, Estimates, Experiment, Play, identify
    from linkedbandits.model import Verdict
    from linkedbandits.plain import PlainPolicy
    from linkedbandits.policies import (
        DeterministicShifting,
        LilUCB,
        LinkedDuels,
        LinkedEGE,
        LinkedElimination,
        LinkedHalving,
        LinkedLead,
        LinkedTrackAndStop,
        MaximalSampling,
        MedianElimination,
        SuffixUCB,
        UniformSampling,
        WholeSequenceEGE,
    )
    from linkedbandits.policies.linked_halving import ErrorPoint, error_curve
    from linkedbandits.runs import Runs, Summaries, Summary
    from linkedbandits.simulation import simulate
    from linkedbandits.version import __version__
else:
    # Names are fetched when they are first used: a command listens to Ctrl-C before numpy and all else is read.
    _HOMES = {
        "linkedbandits.attempts": "Attempts read_attempts",
        "linkedbandits.chain": "Chain",
        "linkedbandits.errors": (
            "AccessDenied AttemptTimedOut CannotRead CannotWrite ChainFailed "
            "ConflictingTell DamagedSave EngineFailure ExperimentFinished InvalidAttempts "
            "InvalidParameter InvalidStudy LinkedBanditError MissingExtra ServiceUnavailable "
            "StoreUnavailable TooManyInFlight UnexpectedAnswer UnknownName ValueRejected "
            "WrongState "
        ),
        "linkedbandits.joint_worlds": "OutcomeTable SharedDifficulty",
        "linkedbandits.linkage": "next_play",
        "linkedbandits.live": "Estimate Estimates Experiment Play identify",
        "linkedbandits.model": "Verdict",
        "linkedbandits.plain": "PlainPolicy",
        "linkedbandits.policies": (
            "DeterministicShifting LilUCB LinkedDuels LinkedEGE LinkedElimination LinkedHalving LinkedLead "
            "LinkedTrackAndStop MaximalSampling MedianElimination SuffixUCB UniformSampling "
            "WholeSequenceEGE"
        ),
        "linkedbandits.policies.linked_halving": "ErrorPoint error_curve",
        "linkedbandits.runs": "Runs Summaries Summary",
        "linkedbandits.simulation": "simulate",
        "linkedbandits.version": "__version__",
    }
    _HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name):
        from importlib import import_module

        home = _HOME.get(name, f"linkedbandits.{name}")
        try:
            found = import_module(home)
        except ModuleNotFoundError as error:
            if error.name != home:
                raise
            raise AttributeError(f"linkedbandits has no {name!r}; dir(linkedbandits) lists what it has") from None
        if name in _HOME:
            found = getattr(found, name)
        globals()[name] = found
        return found

    def __dir__():
        return __all__


__all__ = [
    "AccessDenied",
    "AttemptTimedOut",
    "Attempts",
    "CannotRead",
    "CannotWrite",
    "Chain",
    "ChainFailed",
    "ConflictingTell",
    "DamagedSave",
    "DeterministicShifting",
    "EngineFailure",
    "ErrorPoint",
    "Estimate",
    "Estimates",
    "Experiment",
    "ExperimentFinished",
    "InvalidAttempts",
    "InvalidParameter",
    "InvalidStudy",
    "LilUCB",
    "LinkedBanditError",
    "LinkedDuels",
    "LinkedEGE",
    "LinkedElimination",
    "LinkedHalving",
    "LinkedLead",
    "LinkedTrackAndStop",
    "MaximalSampling",
    "MedianElimination",
    "MissingExtra",
    "OutcomeTable",
    "PlainPolicy",
    "Play",
    "Runs",
    "ServiceUnavailable",
    "SharedDifficulty",
    "StoreUnavailable",
    "SuffixUCB",
    "Summaries",
    "Summary",
    "TooManyInFlight",
    "UnexpectedAnswer",
    "UniformSampling",
    "UnknownName",
    "ValueRejected",
    "Verdict",
    "WholeSequenceEGE",
    "WrongState",
    "__version__",
    "bounds",
    "error_curve",
    "identify",
    "next_play",
    "read_attempts",
    "scenarios",
    "simulate",
]
