"""The choice, offered by the sampling policies, between a given effort and a given confidence."""

from __future__ import annotations

from linkedbandits.checks import check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import Status
from linkedbandits.stopping.lil import Calibration, LilRule


class EffortOrConfidence:
    """Either so much of something, or until the LIL rule stops it at level ``delta``."""

    delta: float | None
    calibration: Calibration

    def check_stopping(self, effort: str, amount: int | None) -> None:
        """Refuse neither or both of ``delta`` and the ``amount`` of effort, and a value that makes no sense."""
        if (self.delta is None) == (amount is None):
            had = "neither" if amount is None else f"delta and {effort}"
            raise InvalidParameter(f"{type(self).__name__} takes either delta or {effort}; got {had}")
        if amount is not None:
            check_whole(effort, amount)
        LilRule(0.5 if self.delta is None else self.delta, self.calibration)

    @property
    def status_at_stop(self) -> Status:
        """Confident only if it stops by the LIL rule."""
        return "exhausted" if self.delta is None else "confident"

    @property
    def error_bound(self) -> float | None:
        """``delta`` with the proved calibration."""
        return None if self.delta is None else LilRule(self.delta, self.calibration).error_bound
