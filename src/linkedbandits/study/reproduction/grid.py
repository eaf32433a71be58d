"""The grid of the paper's experiment, with this project's default policy beside the paper's three.

The paper's section says which scenarios, policies and stopping rule it used. It does not say how many arms, what
delta, how many trials, or where the best arm of "1-sparse" stands; those are chosen here: up to 1,000 arms, delta 0.1,
and the best arm first. LinkedEGE is told the gap, an input of its box.
"""

from __future__ import annotations

from linkedbandits.policies import LinkedEGE, LinkedElimination, MaximalSampling, UniformSampling
from linkedbandits.policy import AnyPolicy
from linkedbandits.scenarios import SCENARIOS
from linkedbandits.study.cells import Cell, Instance, Study

__all__ = ["DEFAULT", "DELTA", "EGE", "EGE_FRESH", "MAXIMAL", "UNIFORM", "paper_study"]

MAXIMAL = "MaximalSampling (LIL)"
UNIFORM = "UniformSampling (LIL)"
EGE = "LinkedEGE (reuse)"
EGE_FRESH = "LinkedEGE (fresh)"
DEFAULT = "LinkedElimination (ours)"

DELTA = 0.1
ARMS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
FEW_ARMS = 100
TRIALS_OF_FEW_ARMS = 1000
TRIALS_OF_MANY_ARMS = 128

QUICK_ARMS = (2, 5, 10, 20)
QUICK_TRIALS = 50


def paper_study(seed: int = 0, *, quick: bool = False) -> Study:
    """The cells of the experiment; ``quick`` leaves all but a few small ones out.

    >>> len(paper_study().cells), len(paper_study(quick=True).cells)
    (255, 60)
    """
    cells = (
        Cell(instance, label, policy, "ordered", _trials(instance.means.size, quick))
        for name, scenario in SCENARIOS.items()
        for arms in (QUICK_ARMS if quick else ARMS)
        for instance in [Instance(f"{name}, {arms} arms", scenario(arms), name)]
        for label, policy in _policies(instance.gap).items()
    )
    return Study("reproduction-quick" if quick else "reproduction", seed, tuple(cells))


def _trials(arms: int, quick: bool) -> int:
    if quick:
        return QUICK_TRIALS
    return TRIALS_OF_FEW_ARMS if arms <= FEW_ARMS else TRIALS_OF_MANY_ARMS


def _policies(gap: float) -> dict[str, AnyPolicy]:
    return {
        MAXIMAL: MaximalSampling(delta=DELTA),
        UNIFORM: UniformSampling(delta=DELTA),
        EGE: LinkedEGE(DELTA, gap, median="reuse"),
        EGE_FRESH: LinkedEGE(DELTA, gap, median="fresh"),
        DEFAULT: LinkedElimination(DELTA),
    }
