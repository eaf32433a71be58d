"""What policies share that stop when they are sure, and are wrong with probability at most ``delta``."""

from __future__ import annotations

from linkedbandits.model import Status


class WithGuarantee:
    """Stops by itself with its guarantee; it may have none, and then it does not."""

    delta: float | None

    @property
    def status_at_stop(self) -> Status:
        """It stops with its guarantee, or not by itself."""
        return "confident"

    @property
    def error_bound(self) -> float | None:
        """``delta``, proved, if what the policy assumes or was told is so."""
        return self.delta
