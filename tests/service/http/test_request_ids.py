"""Every request has a name, which its answer, its problem and its log lines say."""

from __future__ import annotations

import asyncio
import json

import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.http.request_ids import begin_request, current_request_id, new_request_id, with_new_id
from tests.service.http.test_logs import lines_logged
from tools.waiting import run_async


@pytest.mark.parametrize("name", ["web1-000017", "0af7651916cd43dd8448eb211c80319c", "a/b:c+d=e@f_g.h", "x" * 100])
def test_a_sane_name_is_taken_over(name):
    assert begin_request([(b"host", b"x"), (b"x-request-id", name.encode())]) == current_request_id() == name


@pytest.mark.parametrize("name", [b"", b"x" * 101, b"a b", b"-a", b'a"b', b"a\x1bb", b"a\xc3\xbc", b"a\n"])
def test_any_other_is_not(name):
    assert begin_request([(b"x-request-id", name)]) not in {name.decode("latin-1"), ""}


def test_names_that_are_made_differ_and_one_task_does_not_see_that_of_another():
    async def task():
        name = begin_request([])
        await asyncio.sleep(0)
        assert (current_request_id(), await asyncio.to_thread(current_request_id)) == (name, name)
        return name

    async def several():
        return await asyncio.gather(*(task() for _ in range(20)))

    assert len(set(run_async(several()))) == 20
    assert new_request_id() != new_request_id()


def test_what_never_became_a_request_has_a_name_for_itself():
    before = current_request_id()
    assert with_new_id(current_request_id) not in {before, None}
    assert current_request_id() == before


@pytest.mark.parametrize("path", ["/healthz", "/static/main.js", "/v1/experiments", "/v1/nothing"])
def test_every_answer_says_it(service, path):
    assert service.http.get(path, headers={"X-Request-Id": "mine-7"}).headers["x-request-id"] == "mine-7"
    made = [service.http.get(path).headers["x-request-id"] for _ in range(2)]
    assert len({*made, "mine-7"}) == 3


def test_every_problem_says_it(service):
    experiment = service.create()
    named = {"X-Request-Id": "mine-8"}
    for response in (
        service.http.get("/v1/nothing", headers=named),
        service.http.delete("/v1/experiments", headers=named),
        service.http.get("/v1/experiments/unknown", headers=named),
        service.http.post("/v1/experiments", json={}, headers=named),
        service.http.post("/v1/experiments", content=b"{}", headers=named),
        service.http.post("/v1/experiments", content=b" " * 1_000_001, headers=named),
        service.post(experiment, "tell", {"answers": [{"play": 9, "hit": None}]}, **named),
    ):
        assert (response.json()["request_id"], response.headers["x-request-id"]) == ("mine-8", "mine-8")


def test_every_line_of_the_log_that_a_request_causes_says_it(own_service, monkeypatch):
    def act():
        named = {"X-Request-Id": "mine-9"}
        new = {"name": "directions", "arms": ["north", "east"]}
        created = own_service.http.post("/v1/experiments", json=new, headers=named).json()
        monkeypatch.setattr(Desk, "record", lambda *arguments: 1 / 0)
        broken = own_service.http.get(f"/v1/experiments/{created['id']}", headers=named)
        assert (broken.status_code, broken.json()["request_id"]) == (500, "mine-9")

    lines = lines_logged(act, last="request")
    assert [line["event"] for line in lines] == ["experiment-created", "request-broke", "request"]
    assert {line["request_id"] for line in lines} == {"mine-9"}, json.dumps(lines)
