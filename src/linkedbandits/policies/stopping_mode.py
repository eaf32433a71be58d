"""The choice, offered by the sampling policies, between a given effort and a given confidence."""

from __future__ import annotations

from linkedbandits.errors import InvalidParameter


def check_one_of(policy: object, *names: str) -> None:
    """Refuse a policy that was given none or several of the parameters that say when to stop."""
    given = [name for name in names if getattr(policy, name) is not None]
    if len(given) != 1:
        had = f"got {' and '.join(given)}" if given else "got neither"
        raise InvalidParameter(f"{type(policy).__name__} takes either {' or '.join(names)}; {had}")
