"""The audit over HTTP, and deleting."""

from __future__ import annotations

import threading

from linkedbandits.service.http.service import Settings
from tests.support.problem_documents import check_problem
from tests.support.running_service import running_service
from tools.waiting import SECONDS, join, until


def test_it_says_who_did_what_in_pages(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    with running_service(path, Settings(open_without_tokens=False)) as service:
        text, boss = service.make_token("admin", "boss")
        service.http.headers["Authorization"] = f"Bearer {text}"
        experiment = service.create()
        for verb in ("pause", "resume", "archive"):
            assert service.http.post(f"/v1/experiments/{experiment}/{verb}").status_code == 200
        assert service.http.delete(f"/v1/experiments/{experiment}").status_code == 204
        found, before = [], None
        while True:
            page = service.http.get("/v1/audit", params={"limit": 2, **({"before": before} if before else {})}).json()
            found += page["entries"]
            before = page["next"]
            if before is None:
                break
            assert len(page["entries"]) == 2
        assert [entry["action"] for entry in found] == ["delete", "archive", "resume", "pause", "create"]
        assert {(entry["by"]["kind"], entry["by"]["id"], entry["by"]["name"]) for entry in found} == {
            ("token", boss, "boss")
        }
        assert {entry["subject"] for entry in found} == {experiment}
        some = service.http.get("/v1/audit", params={"action": "pause", "subject": experiment}).json()["entries"]
        assert [entry["action"] for entry in some] == ["pause"]
        assert text not in service.http.get("/v1/audit").text
        for wrong in ({"limit": 0}, {"limit": 1001}, {"action": "dance"}, {"before": "\x00"}):
            assert service.http.get("/v1/audit", params=wrong).status_code == 422
        viewer = {"Authorization": f"Bearer {service.make_token('player')[0]}"}
        until(lambda: service.http.get("/v1/me", headers=viewer).status_code == 200, "the token to be known")
        assert service.http.get("/v1/audit", headers=viewer).status_code == 403


def test_a_deleted_experiment_is_gone_and_its_streams_end(own_service):
    experiment = own_service.create()
    own_service.play(experiment)
    path = f"/v1/experiments/{experiment}"
    check_problem(own_service.http.delete(path), 409, "urn:linkedbandits:experiment-not-archived")
    started, ended = threading.Event(), threading.Event()

    def watch():
        with own_service.http.stream("GET", f"{path}/events") as response:
            for _ in response.iter_lines():
                started.set()
        ended.set()

    viewer = threading.Thread(target=watch)
    viewer.start()
    assert started.wait(SECONDS)
    assert own_service.http.delete(f"{path}?force=true").status_code == 204
    assert ended.wait(SECONDS), "the stream went on"
    join(viewer)
    for route in ("", "/view", "/events", "/journal", "/verdict"):
        check_problem(own_service.http.get(f"{path}{route}"), 404, "urn:linkedbandits:unknown-experiment")
    check_problem(own_service.http.delete(path), 404, "urn:linkedbandits:unknown-experiment")
    listed = own_service.http.get("/v1/experiments").json()
    assert listed == {"experiments": [], "damaged": [], "total": 0, "matching": 0, "pages": None}

    def erased():
        with own_service.store.reading() as reading:
            return reading._rows("SELECT COUNT(*) FROM journal")[0][0] == 0

    until(erased, "the rows to be erased")
