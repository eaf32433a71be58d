"""Estimates, verdict, view, events and journal over HTTP."""

from __future__ import annotations

import dataclasses
import time

import pytest

import linkedbandits as lb
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.webhooks import verdict_data
from tests.support.event_streams import events_of
from tools.waiting import within


def test_the_view_moves_while_plays_are_told_and_a_reconnect_misses_nothing(service):
    experiment = service.create()
    service.play(experiment)
    path = f"/v1/experiments/{experiment}/events"
    with service.http.stream("GET", path) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        events = events_of(within(response.iter_lines(), "the answers to be seen"))
        name, head, view = next(events)
        assert (name, head, view["head"], view["plays"]) == ("view", 2, 2, 50)
        time.sleep(1.1)  # points of the history are a second apart
        service.play(experiment)
        _, seen, view = next(event for event in events if event[2]["plays"] >= 100)
    time.sleep(1.1)
    service.play(experiment)
    with service.http.stream("GET", path, headers={"Last-Event-ID": str(seen)}) as response:
        _, head, view = next(events_of(response.iter_lines()))
    assert view["plays"] == 150
    assert view["history"]
    assert all(seen < point[0] <= head for point in view["history"])
    whole = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert whole["history"][-len(view["history"]) :] == view["history"]


def test_estimates_and_verdict_are_those_of_an_experiment_in_process(service):
    here = lb.Experiment(["north", "east", "south"], lb.LinkedElimination(delta=0.05))
    experiment = service.create()
    for hit in ("east", None, "north", "east"):
        play = here.ask()
        service.post(experiment, "ask", {})
        here.tell(play.id, hit)
        service.post(experiment, "tell", {"answers": [{"play": play.id, "hit": hit}]})
    estimates = service.http.get(f"/v1/experiments/{experiment}/estimates").json()
    known = [dataclasses.asdict(one) for one in here.estimates()]
    assert estimates == {"plays": 4, "only_first_tries": False, "estimates": known}
    verdict = service.http.get(f"/v1/experiments/{experiment}/verdict").json()
    assert verdict == {"done": False, "verdict": verdict_data(here.recommend())}


def test_estimates_say_where_only_first_tries_count(service):
    experiment = service.create(policy={"name": "linked-duels", "parameters": {"delta": 0.05}}, linkage="free")
    service.play(experiment, 20)
    found = service.http.get(f"/v1/experiments/{experiment}/estimates").json()
    assert found["only_first_tries"]
    assert sum(estimate["samples"] for estimate in found["estimates"]) == found["plays"] == 20


def test_the_journal_comes_as_a_file_in_either_form(service):
    experiment = service.create()
    service.play(experiment, 3)
    path = f"/v1/experiments/{experiment}/journal"
    lines, table = service.http.get(path), service.http.get(path, params={"format": "parquet"})
    assert lines.text == "".join(journal_lines(service.store, experiment))
    assert table.content[:4] == table.content[-4:] == b"PAR1"
    for response, ending, kind in ((lines, "jsonl", "x-ndjson"), (table, "parquet", "vnd.apache.parquet")):
        assert response.headers["content-disposition"] == f'attachment; filename="{experiment}.{ending}"'
        assert response.headers["content-type"].startswith(f"application/{kind}")
        assert response.headers["cache-control"] == "no-store"
    assert service.http.get(path, params={"format": "xml"}).status_code == 422


def test_curves_have_what_was_known_as_plays_were_told(service):
    experiment = service.create()
    time.sleep(1.1)  # points of the history are a second apart
    service.play(experiment)
    curves = service.http.get(f"/v1/experiments/{experiment}/curves").json()
    known = {arm["label"]: arm for arm in curves["arms"]}
    estimates = service.http.get(f"/v1/experiments/{experiment}/estimates").json()["estimates"]
    assert curves["plays"] == [50]
    for estimate in estimates:
        assert known[estimate["arm"]]["mean"] == [pytest.approx(estimate["mean"], abs=1e-5)]
    assert service.http.get("/v1/experiments/none/curves").status_code == 404
