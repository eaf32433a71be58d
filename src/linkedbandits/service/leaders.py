"""When an arm is said to lead.

After one sample of each arm something has the highest mean, and that says nothing. A leader is named when every arm
that is still in has ten samples, and with the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_SAMPLES = 10
"""of every arm that is still in."""


def names_a_leader(samples: Sequence[int], still_in: Sequence[bool], done: bool) -> bool:
    """Is there enough to say who leads?

    >>> names_a_leader([10, 12, 1], [True, True, False], False), names_a_leader([10, 9], [True, True], False)
    (True, False)
    >>> names_a_leader([0, 0], [True, True], done=True)
    True
    """
    return done or all(count >= LEAST_SAMPLES for count, kept in zip(samples, still_in, strict=True) if kept)
