"""The default policy and linkage: a policy that holds whatever depends on what.

Options that fail together are the rule (``docs/which-policy.md``), so nothing that takes them to be independent is used
without being asked for by name. A :class:`linkedbandits.Chain` has the same default.
"""

from __future__ import annotations

from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.policy import AnyPolicy, linkage_of

DEFAULT_DELTA = 0.05


def policy_and_linkage(
    policy: AnyPolicy | None, linkage: str | Linkage | None, delta: float = DEFAULT_DELTA
) -> tuple[AnyPolicy, Linkage]:
    """What decides, and what a play may be, where either was left open.

    A policy without a linkage plays under the one that it asks for. Without a policy it is LinkedDuels under ``free``,
    or LinkedElimination where the linkage is ``single``: both assume nothing of how options depend on each other.

    >>> policy_and_linkage(None, None)[0].name, policy_and_linkage(None, "single")[0].name
    ('linked-duels', 'linked-elimination')
    """
    if policy is not None:
        return policy, linkage_of([policy], linkage)
    found = find_linkage("free" if linkage is None else linkage)
    from linkedbandits.policies import LinkedDuels, LinkedElimination  # not imported where a policy is given

    if found.allows(LinkedDuels.asks):
        return LinkedDuels(delta), found
    if found.tries_one:
        return LinkedElimination(delta), found
    raise InvalidParameter(
        f"linkage {found.name!r} without a policy: those that can use it take options to be independent; if yours are, "
        f"give policy=LinkedElimination({delta:g}), and if not linkage='single', or 'free' if you may choose the order"
    )
