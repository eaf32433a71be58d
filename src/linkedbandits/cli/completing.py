"""How a word goes on that the shell asks about: names of policies, scenarios, linkages and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from linkedbandits.linkage import LINKAGES
from linkedbandits.scenarios import SCENARIOS

Completion = Callable[[str], list[str]]


def one_of(names: Iterable[str]) -> Completion:
    """Complete to one of these names.

    >>> one_of(["free", "ordered"])("o")
    ['ordered']
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def policies(incomplete: str) -> list[str]:
    """Complete to the name of a policy; parameters behind it are left to who writes them."""
    from linkedbandits.policies import POLICIES  # other words need not wait for it

    return one_of(POLICIES)(incomplete)


scenarios = one_of(SCENARIOS)
linkages = one_of(LINKAGES)
