"""Names of arms, as users give them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from linkedbandits.errors import InvalidLabels
from linkedbandits.model import Label


def check_labels(arms: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels, or say which cannot be told apart or saved.

    >>> check_labels(["north", "east", "north"])
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidLabels: label 'north' stands for 2 arms; give every arm its own
    """
    try:
        labels = tuple(arms)
    except TypeError:
        raise InvalidLabels(f"{arms!r} is no list of labels; give the arms as a list, such as ['a', 'b']") from None
    if len(labels) < 2:
        raise InvalidLabels(f"{len(labels)} arm(s) given; a choice needs at least two")
    for label in labels:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise InvalidLabels(f"label {label!r} is no text, number or boolean; use one that JSON can hold")
    most_common, times = Counter(labels).most_common(1)[0]
    if times > 1:
        raise InvalidLabels(f"label {most_common!r} stands for {times} arms; give every arm its own")
    return labels


def listed(labels: tuple[Label, ...], most: int = 8) -> str:
    """The labels in a sentence, the first few if there are many."""
    shown = ", ".join(repr(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} more"
