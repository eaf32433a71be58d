"""A time within which every call of a chain ends, made into a timeout for each option.

Timeouts that add up to the deadline keep it, whichever options fail and in whatever order. They are fixed beforehand,
so an option has the same time in the first place of a call and in the last. That is what the experiment needs: whether
it works in time is then a property of the option alone. If the time that others have left decided, options would look
better in front than behind, and a slow option would make those behind it fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linkedbandits.checks import check_positive
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import Label

ROUNDING = 1e-9


def timeouts_of(
    options: Iterable[Label], timeouts: float | Mapping[Label, float] | None, deadline: float | None
) -> dict[Label, float | None]:
    """The timeout of each option, or None; those that have none share evenly what is left of the deadline.

    >>> timeouts_of(["stripe", "adyen", "wise"], {"stripe": 2.0}, deadline=5.0)
    {'stripe': 2.0, 'adyen': 1.5, 'wise': 1.5}
    """
    labels = tuple(options)
    limits: dict[Label, float | None] = dict.fromkeys(labels)
    if isinstance(timeouts, Mapping):
        stray = [label for label in timeouts if label not in limits]
        if stray:
            raise InvalidParameter(
                f"timeouts has {stray[0]!r}, which is no option; the options are {', '.join(map(repr, labels))}"
            )
        limits.update(timeouts)
    elif timeouts is not None:
        limits = dict.fromkeys(labels, timeouts)
    for label, seconds in limits.items():
        if seconds is not None:
            check_positive(f"the timeout of {label!r}", seconds)
    if deadline is None:
        return limits
    check_positive("deadline", deadline)
    given = [seconds for seconds in limits.values() if seconds is not None]
    without = len(labels) - len(given)
    left = deadline - sum(given)
    if left < -ROUNDING * deadline or (without and left <= 0):
        raise InvalidParameter(
            f"timeouts add up to {sum(given):g} seconds{', and some options have none yet' if without else ''}, so a "
            f"call could take longer than deadline={deadline!r}; give shorter ones, or leave one of the two out"
        )
    return {label: left / without if seconds is None else seconds for label, seconds in limits.items()}
