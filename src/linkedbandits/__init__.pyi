"""Every public name and the module that has it: type checkers read this file, and ``__init__`` does at run time."""

from linkedbandits import (
    bounds as bounds,
)
from linkedbandits import (
    scenarios as scenarios,
)
from linkedbandits.attempts import (
    Attempts as Attempts,
)
from linkedbandits.attempts import (
    read_attempts as read_attempts,
)
from linkedbandits.chain import (
    Chain as Chain,
)
from linkedbandits.errors import (
    AccessDenied as AccessDenied,
)
from linkedbandits.errors import (
    AttemptTimedOut as AttemptTimedOut,
)
from linkedbandits.errors import (
    CannotRead as CannotRead,
)
from linkedbandits.errors import (
    CannotWrite as CannotWrite,
)
from linkedbandits.errors import (
    ChainFailed as ChainFailed,
)
from linkedbandits.errors import (
    ConflictingTell as ConflictingTell,
)
from linkedbandits.errors import (
    DamagedSave as DamagedSave,
)
from linkedbandits.errors import (
    EngineFailure as EngineFailure,
)
from linkedbandits.errors import (
    ExperimentFinished as ExperimentFinished,
)
from linkedbandits.errors import (
    InvalidAttempts as InvalidAttempts,
)
from linkedbandits.errors import (
    InvalidParameter as InvalidParameter,
)
from linkedbandits.errors import (
    InvalidStudy as InvalidStudy,
)
from linkedbandits.errors import (
    LinkedBanditError as LinkedBanditError,
)
from linkedbandits.errors import (
    MissingExtra as MissingExtra,
)
from linkedbandits.errors import (
    ServiceUnavailable as ServiceUnavailable,
)
from linkedbandits.errors import (
    StoreUnavailable as StoreUnavailable,
)
from linkedbandits.errors import (
    TooManyInFlight as TooManyInFlight,
)
from linkedbandits.errors import (
    UnexpectedAnswer as UnexpectedAnswer,
)
from linkedbandits.errors import (
    UnknownName as UnknownName,
)
from linkedbandits.errors import (
    ValueRejected as ValueRejected,
)
from linkedbandits.errors import (
    WrongState as WrongState,
)
from linkedbandits.joint_worlds import (
    OutcomeTable as OutcomeTable,
)
from linkedbandits.joint_worlds import (
    SharedDifficulty as SharedDifficulty,
)
from linkedbandits.linkage import (
    next_play as next_play,
)
from linkedbandits.live import (
    Estimate as Estimate,
)
from linkedbandits.live import (
    Estimates as Estimates,
)
from linkedbandits.live import (
    Experiment as Experiment,
)
from linkedbandits.live import (
    Play as Play,
)
from linkedbandits.live import (
    identify as identify,
)
from linkedbandits.model import (
    Verdict as Verdict,
)
from linkedbandits.plain import (
    PlainPolicy as PlainPolicy,
)
from linkedbandits.policies import (
    DeterministicShifting as DeterministicShifting,
)
from linkedbandits.policies import (
    LilUCB as LilUCB,
)
from linkedbandits.policies import (
    LinkedDuels as LinkedDuels,
)
from linkedbandits.policies import (
    LinkedEGE as LinkedEGE,
)
from linkedbandits.policies import (
    LinkedElimination as LinkedElimination,
)
from linkedbandits.policies import (
    LinkedHalving as LinkedHalving,
)
from linkedbandits.policies import (
    LinkedLead as LinkedLead,
)
from linkedbandits.policies import (
    LinkedTrackAndStop as LinkedTrackAndStop,
)
from linkedbandits.policies import (
    MaximalSampling as MaximalSampling,
)
from linkedbandits.policies import (
    MedianElimination as MedianElimination,
)
from linkedbandits.policies import (
    SuffixUCB as SuffixUCB,
)
from linkedbandits.policies import (
    UniformSampling as UniformSampling,
)
from linkedbandits.policies import (
    WholeSequenceEGE as WholeSequenceEGE,
)
from linkedbandits.policies.linked_halving import (
    ErrorPoint as ErrorPoint,
)
from linkedbandits.policies.linked_halving import (
    error_curve as error_curve,
)
from linkedbandits.runs import (
    Runs as Runs,
)
from linkedbandits.runs import (
    Summaries as Summaries,
)
from linkedbandits.runs import (
    Summary as Summary,
)
from linkedbandits.simulation import (
    simulate as simulate,
)
from linkedbandits.version import (
    __version__ as __version__,
)
