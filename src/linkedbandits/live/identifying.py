"""Which arm is best, in one call: ask, play, tell, until there is a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Linkage
from linkedbandits.live.default_policy import DEFAULT_DELTA, policy_and_linkage
from linkedbandits.live.experiment import Experiment
from linkedbandits.model import Label, Verdict
from linkedbandits.policy import AnyPolicy


def identify(
    play_function: Callable[[tuple[Label, ...]], Label | None],
    arms: Iterable[Label],
    delta: float | None = None,
    *,
    policy: AnyPolicy | None = None,
    linkage: str | Linkage | None = None,
    max_plays: int | None = None,
    seed: int = 0,
    progress: Callable[[Experiment], object] | None = None,
) -> Verdict:
    """Find the best of some arms by playing them, and return the verdict.

    ``play_function`` gets a tuple of arms. It tries them from left to right until one works, and returns that arm, or
    None if none did. It is called until there is a verdict, or ``max_plays`` times: then the verdict has the status
    ``"exhausted"`` and names what leads. Arms that are equally good are never told apart, so give ``max_plays`` if
    yours may be.

    The verdict is wrong with probability at most ``delta``, 0.05 unless given, whatever depends on what: without a
    ``policy`` it is :class:`~linkedbandits.LinkedDuels` under the linkage ``free`` that decides, or, with
    ``linkage="single"``, one arm a play, :class:`~linkedbandits.LinkedElimination`. A ``policy`` of yours has its own
    delta, and plays under the linkage that it asks for if you do not say otherwise. ``seed`` is for policies that draw.

    Ctrl-C (a KeyboardInterrupt) ends the loop and *returns* what is known by then, with the status ``"running"`` if
    nothing is proved: plays may have been dear. The play that was interrupted does not count. Any other error of
    ``play_function`` goes to the caller, and what was played is lost; use an :class:`~linkedbandits.Experiment` where
    that may happen, or keep ``experiment.to_json()`` in ``progress``, which is called with the experiment after every
    play.

    >>> import random
    >>> import linkedbandits as lb
    >>> works, draw = {"north": 0.2, "east": 0.7, "south": 0.3}, random.Random(1)
    >>> def play(arms):
    ...     return next((arm for arm in arms if draw.random() < works[arm]), None)
    >>> verdict = lb.identify(play, works, delta=0.05)
    >>> verdict.arm, verdict.status, verdict.error_bound, verdict.assumes
    ('east', 'confident', 0.05, ())
    """
    if not callable(play_function):
        raise InvalidParameter(f"{play_function!r} is no function; give one that plays a tuple of arms")
    if policy is not None and delta is not None:
        raise InvalidParameter(f"delta={delta!r} and a policy are given; a policy has a delta of its own: give one")
    chosen, found = policy_and_linkage(policy, linkage, DEFAULT_DELTA if delta is None else delta)
    experiment = Experiment(arms, chosen, linkage=found, seed=seed, max_plays=max_plays)
    try:
        while not experiment.done:
            play = experiment.ask()
            experiment.tell(play.id, play_function(play.arms))
            if progress is not None:
                progress(experiment)
    except KeyboardInterrupt:
        pass  # the play that was out is not told
    return experiment.recommend()
