"""The whole order in which a call tries options: those of its play, and then all others."""

from __future__ import annotations

from linkedbandits.live import Experiment, Play
from linkedbandits.model import Label


def best_order(experiment: Experiment) -> tuple[Label, ...]:
    """All options in the best order known, the one that the verdict names or that leads first."""
    first = experiment.recommend().arm
    ranked = sorted(
        experiment.estimates(),
        key=lambda of: (of.arm != first, not of.still_in, -(of.successes + 1) / (of.samples + 2)),
    )
    return tuple(of.arm for of in ranked)


def whole_order(play: Play, order: tuple[Label, ...]) -> tuple[Label, ...]:
    """The options of a play, and behind them the others in the best order known."""
    return play.arms + tuple(option for option in order if option not in play.arms)


def hit_of(play: Play, hit: Label | None) -> Label | None:
    """What to tell of a play."""
    return hit if hit in play.arms else None
