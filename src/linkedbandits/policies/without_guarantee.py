"""What policies share that use up what they are given and prove nothing."""

from __future__ import annotations

from linkedbandits.model import Status


class WithoutGuarantee:
    """Ends with its budget, its own or the one it runs under."""

    @property
    def status_at_stop(self) -> Status:
        """It stops, if ever, when there is nothing left to spend."""
        return "exhausted"

    @property
    def error_bound(self) -> float | None:
        """None: how often it is wrong depends on the means, which are unknown."""
        return None
