"""Estimates, verdict and view are the owner's, through whichever server they are asked for."""

from __future__ import annotations

import pytest

from tests.support.two_servers import two_servers


@pytest.mark.parametrize("what", ["estimates", "verdict", "view"])
def test_what_is_said_of_an_experiment_is_what_its_owner_says(postgres_url, what):
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create()
        owner.play(experiment)
        path = f"/v1/experiments/{experiment}/{what}"
        responses = [server.http.get(path) for server in (owner, other)]
        assert responses[0].json() == responses[1].json()
        assert [response.headers["content-type"] for response in responses] == ["application/json"] * 2
        assert other.in_memory() == set()
        missing = other.http.get(f"/v1/experiments/missing/{what}")
        assert missing.status_code == 404
