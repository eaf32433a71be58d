"""An experiment whose policy takes something for granted says so in every answer that speaks of it."""

from __future__ import annotations

import dataclasses

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.service.http.routes import experiments
from linkedbandits.service.records import ExperimentRecord
from tests.support.service_parts import SETUP

SAID = [dataclasses.asdict(INDEPENDENT_OPTIONS)]


def test_the_answer_to_its_creation_says_it_and_so_does_every_later_one(service):
    wanted = {"name": "gateways", "arms": ["north", "east"]}
    created = service.http.post("/v1/experiments", json=wanted).json()
    assert created["assumptions"] == SAID
    where = f"/v1/experiments/{created['id']}"
    assert service.http.get(where).json()["assumptions"] == SAID
    assert service.http.get(f"{where}/view").json()["assumptions"] == SAID
    assert service.http.get(f"{where}/verdict").json()["verdict"]["assumes"] == ["independent options"]
    listed = service.http.get("/v1/experiments").json()["experiments"]
    assert [each["assumptions"] for each in listed if each["id"] == created["id"]] == [SAID]
    assert service.http.post(f"{where}/pause").json()["assumptions"] == SAID


def test_nothing_is_said_where_every_play_tries_one_option(service):
    experiment = service.create(linkage="single")
    where = f"/v1/experiments/{experiment}"
    assert service.http.get(where).json()["assumptions"] == []
    assert service.http.get(f"{where}/view").json()["assumptions"] == []
    assert service.http.get(f"{where}/verdict").json()["verdict"]["assumes"] == []


def test_the_openapi_document_shows_an_assumption(service):
    schemas = service.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["AssumptionOut"]["examples"] == SAID
    assert schemas["VerdictOut"]["properties"]["assumes"]["examples"] == [["independent options"]]


def test_a_policy_that_this_version_does_not_know_spoils_no_list(own_service):
    setup = dataclasses.replace(SETUP, policy={"name": "of-tomorrow", "parameters": {}})
    with own_service.store.writing() as writing:
        writing.create(ExperimentRecord("ffff", "tomorrow", setup, "running", 1.0, 0))
    known = own_service.create()
    listed = own_service.http.get("/v1/experiments").json()["experiments"]
    assert {each["id"]: each["assumptions"] for each in listed} == {"ffff": None, known: SAID}


def test_the_log_names_it(service, monkeypatch):
    logged = []
    monkeypatch.setattr(experiments, "log_event", lambda event, **fields: logged.append((event, fields["assumes"])))
    service.create()
    service.create(linkage="single")
    assert logged == [("experiment-created", ["independent options"]), ("experiment-created", [])]
