"""What policies with a guarantee say of themselves."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import linkedbandits as lb
from linkedbandits.policies.with_guarantee import WithGuarantee


@dataclass(frozen=True)
class Sure(WithGuarantee):
    delta: float | None


@pytest.mark.parametrize("delta", [0.1, None])
def test_it_stops_sure_and_is_wrong_at_most_delta_of_the_time(delta):
    assert (Sure(delta).status_at_stop, Sure(delta).error_bound) == ("confident", delta)


@pytest.mark.parametrize(
    "policy",
    [lb.LinkedElimination(0.02), lb.LinkedLead(0.02, gap=0.1), lb.LinkedDuels(0.02)],
    ids=lambda policy: policy.name,
)
def test_policies_that_have_one_say_so(policy):
    runs = lb.simulate([0.9, 0.3, 0.2], policy, linkage="free", trials=2, seed=1)
    assert policy.error_bound == 0.02
    assert runs.confident.all()
