"""The short way for ask and tell leads where the long way leads."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("ask", {"count": 2}),
        ("ask", {"count": 0}),
        ("ask", {"count": 2, "more": 1}),
        ("tell", {"answers": [{"play": 0, "hit": "east"}]}),
        ("tell", {"answers": [{"play": 0, "hit": "west"}]}),
        ("tell", {"answers": [{"play": 5, "hit": None}, {"play": 1, "hit": "south"}]}),
        ("tell", {"answers": []}),
    ],
    ids=str,
)
def test_the_short_and_the_long_way_lead_to_the_same_answer(service, verb, body):
    answers = []
    for content_type in ("application/json", "application/json; charset=utf-8"):
        experiment = service.create()
        service.post(experiment, "ask", {"count": 2})
        response = service.post(experiment, verb, body, **{"Content-Type": content_type})
        content = response.json()
        content.pop("expires_at", None)
        told = json.dumps(content).replace(experiment, "ID")
        answers.append((response.status_code, response.headers["content-type"], told))
    assert answers[0] == answers[1]
