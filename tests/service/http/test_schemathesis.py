"""Whatever is sent, the service does not break, and what it answers is what its OpenAPI document says.

``LINKEDBANDITS_SCHEMATHESIS_EXAMPLES`` makes the search longer.
"""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from linkedbandits.service.posting import Post, Posted

EXAMPLES = int(os.environ.get("LINKEDBANDITS_SCHEMATHESIS_EXAMPLES", "8"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENDLESS = {"/v1/events", "/v1/experiments/{experiment}/events"}


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine(monkeypatch):
    """Webhooks are made to whatever address occurs to the search."""
    monkeypatch.setattr(Post, "send", lambda *_: Posted(False, "not sent"))


@pytest.fixture(scope="module")
def document(service):
    return service.http.get("/openapi.json").json()


@pytest.fixture(scope="module")
def experiments(service):
    """One that runs, with plays in every state, one that is paused, one archived, one finished."""
    running, paused, archived = (service.create(max_plays=100_000) for _ in range(3))
    finished = service.create(max_plays=1)
    for experiment in (running, finished):
        service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 20})
        service.http.post(f"/v1/experiments/{experiment}/tell", json={"answers": [{"play": 0, "hit": "north"}]})
    service.http.post(f"/v1/experiments/{running}/abandon", json={"plays": [1]})
    service.http.post(f"/v1/experiments/{paused}/pause")
    service.http.post(f"/v1/experiments/{archived}/archive")
    return [running, paused, archived, finished]


@pytest.mark.slow
def test_nothing_that_is_sent_breaks_the_service(service, document, experiments):
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = service.url
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in ENDLESS:
            continue

        takes_something = operation.body or list(operation.iter_parameters())
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if takes_something else (GenerationMode.POSITIVE,)
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode), real=st.sampled_from([*experiments, None]))
            @settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck), database=None)
            def send(case, real):
                nonlocal sent
                if real is not None and "experiment" in (case.path_parameters or {}):
                    case.path_parameters["experiment"] = real
                answer = case.call_and_validate(checks=CHECKS)
                # What the document allows is understood, if it makes no sense it may be refused for that.
                looser = answer.status_code == 422 and answer.json()["type"] == "urn:linkedbandits:invalid-request"
                assert not (looser and case.meta.generation.mode.is_positive), answer.text
                sent += 1

            send()
    assert sent > 10 * EXAMPLES
    assert service.http.get("/readyz").status_code == 200
