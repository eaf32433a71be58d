"""The answer of a solver: how to share out samples so that the arms can be told apart in the fewest plays."""

from __future__ import annotations

from dataclasses import dataclass

from linkedbandits.model import FloatArray

__all__ = ["Allocation"]


@dataclass(frozen=True, slots=True)
class Allocation:
    """Samples of every arm for one unit of evidence, the plays they cost, and a number no allocation can beat."""

    samples: FloatArray
    plays: float
    at_least: float
