"""Fallback chains that learn which option should come first."""

from linkedbandits.attempts.losses import LossAlarm
from linkedbandits.chain.chain import Chain
from linkedbandits.chain.drift import DriftAlarm
from linkedbandits.chain.history import Era
from linkedbandits.chain.results import Attempt, Result
from linkedbandits.chain.status import ChainStatus
from linkedbandits.option_estimates import OptionEstimate, OptionEstimates

__all__ = [
    "Attempt",
    "Chain",
    "ChainStatus",
    "DriftAlarm",
    "Era",
    "LossAlarm",
    "OptionEstimate",
    "OptionEstimates",
    "Result",
]
