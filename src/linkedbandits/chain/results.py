"""What a caller and the hooks of a chain are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from linkedbandits.model import Label

Outcome = Literal["worked", "failed", "lost"]
"""How an attempt ended. It is lost if the call ended during it for a reason that says nothing of the option."""

Role = Literal["play", "plain", "served", "watched"]
"""What a call is for the experiment.

``"play"``: it is a play of the experiment. ``"plain"``: it is served in the best order known, and nothing is learned
from it, because no play was at hand. ``"served"``: there is a verdict, and it begins with its option (with
measured costs, with that of most successes per cost as far as one knows).
``"watched"``: there is a verdict, and it begins with another option, to see whether the verdict still holds.
"""


class Result(NamedTuple):
    """What a call came to: the value, the option that gave it, and the options tried, in order, that one among them.

    ``causes`` has the error of every option that failed before.
    """

    value: Any
    option: Label
    tried: tuple[Label, ...]
    causes: Mapping[Label, Exception]
    role: Role


class Attempt(NamedTuple):
    """One option that was tried: the how manieth of its call, from 0, what came of it, and how long it took.

    ``began`` is in seconds since 1970. ``error`` is what it raised; for a value that did not count as a success it is a
    :class:`~linkedbandits.errors.ValueRejected`.
    """

    option: Label
    place: int
    outcome: Outcome
    began: float
    seconds: float
    error: BaseException | None
    role: Role
