"""What policies share that ask little at a time, and can be told to ask for more."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from linkedbandits.linkage import Linkage
from linkedbandits.policy import Policy, StateT


class InBatches(Policy[StateT]):
    """Asks for at least ``parallel`` at a time, so that as many plays can be out at once."""

    parallel: int

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """Told how many plays will be out, it asks for that many; otherwise it stays as it is."""
        if parallel is None:
            return self
        return replace(self, parallel=parallel)  # type: ignore[type-var]
