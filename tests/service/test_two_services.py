"""Two services on one store: what is done through one is seen through the other, and one of them does the work.

`make bench SECTION=service-growth-kills` kills and pauses owners many times.
"""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from linkedbandits.service import owner_tables
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import open_store
from tests.support.running_service import running_service
from tests.support.two_servers import known_server, owner_on_record, two_servers
from tools.server_kills import rounds_of_trouble
from tools.uninterrupted import uninterrupted
from tools.waiting import until, within


def test_a_viewer_of_one_service_sees_what_is_told_to_another(store_url):
    with running_service(store_url) as one, running_service(store_url) as other:
        experiment = one.create()
        path = f"/v1/experiments/{experiment}"
        with other.http.stream("GET", f"{path}/events") as response:
            lines = within(response.iter_lines(), "the answers to be seen")
            views = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            assert next(views)["plays"] == 0
            first = one.http.post(f"{path}/ask", json={"count": 3}).json()["plays"]
            answers = [{"play": play["id"], "hit": "east"} for play in first]
            one.http.post(f"{path}/tell", json={"answers": answers})
            view = next(view for view in views if view["plays"] >= 3)
        assert view["arms"]["successes"] == [0, 3, 0]
        again = other.http.post(f"{path}/tell", json={"answers": answers}).json()
        assert again["receipts"] == ["repeated"] * 3
        second = other.http.post(f"{path}/ask", json={"count": 3}).json()["plays"]
        assert [play["id"] for play in first + second] == list(range(6))
        other.http.post(f"{path}/pause")
        assert one.http.post(f"{path}/ask").status_code == 409


def test_the_owner_does_the_work_through_whichever_server_it_comes(postgres_url):
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create()
        first = owner.post(experiment, "ask", {"count": 2}).json()["plays"]
        assert owner_on_record(owner.store, experiment) == owner.owners.id
        second = other.post(experiment, "ask", {"count": 3, "key": "k"}).json()
        assert [play["id"] for play in first + second["plays"]] == list(range(5))
        assert other.post(experiment, "ask", {"count": 3, "key": "k"}).json() == second
        answers = [{"play": number, "hit": "east"} for number in range(3)]
        told = other.post(experiment, "tell", {"answers": answers})
        assert told.json() == {"receipts": ["counted", "spare", "spare"], "done": False}
        assert owner.post(experiment, "tell", {"answers": answers}).json()["receipts"] == ["repeated"] * 3
        assert other.post(experiment, "abandon", {"plays": [3, 0]}).json() == {"abandoned": 1}
        sums = {"most": None, "count": 1, "total": 0.5, "squares": 0.25}
        report = {"options": [{"option": "north", "tries": 1, "successes": 1, "seconds": sums, "cost": sums}]}
        expenses = f"/v1/experiments/{experiment}/expenses"
        assert other.http.put(f"{expenses}/web1", json=report).json() == {"kept": True, "sources": 1}
        assert owner.http.get(expenses).json()["sources"] == 1
        assert other.in_memory() == set()
        with owner.store.reading() as tables:
            assert len(tables.entries(experiment, 0)) == 4


def test_who_watches_through_another_server_sees_what_the_owner_has(postgres_url):
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create()
        owner.play(experiment, 3)
        path = f"/v1/experiments/{experiment}/events"
        with other.http.stream("GET", path) as response:
            lines = within(response.iter_lines(), "the plays to be seen")
            views = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            assert next(views)["plays"] == 3
            owner.play(experiment, 4)
            assert next(view["arms"] for view in views if view["plays"] == 7)["successes"] == [0, 0, 0]
        assert other.in_memory() == set()
        assert other.http.get("/v1/experiments/missing/events").status_code == 404


def test_refusals_of_the_owner_are_those_of_the_server_that_was_asked(postgres_url):
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create(parallel=1)
        owner.post(experiment, "ask", {})
        for verb, body in [
            ("ask", {}),
            ("tell", {"answers": [{"play": 9, "hit": None}]}),
            ("tell", {"answers": [{"play": 9, "hit": None}, {"play": 0, "hit": "west"}]}),
            ("abandon", {"plays": [9]}),
        ]:
            answers = [server.post(experiment, verb, body) for server in (owner, other)]
            assert without_id(answers[0].json()) == without_id(answers[1].json())
            assert answers[0].status_code == answers[1].status_code
        owner.post(experiment, "tell", {"answers": [{"play": 0, "hit": "north"}]})
        conflict = other.post(experiment, "tell", {"answers": [{"play": 0, "hit": "east"}]})
        assert (conflict.status_code, conflict.json()["on_record"]) == (409, "north")
        other.http.post(f"/v1/experiments/{experiment}/pause")
        assert other.post(experiment, "ask", {}).json()["type"] == "urn:linkedbandits:experiment-paused"
        assert other.post("missing", "ask", {}).status_code == 404


def test_callers_are_checked_where_they_call(postgres_url):
    with two_servers(postgres_url, Settings(requests_per_second=1.0)) as (owner, other):
        experiment = owner.create()
        owner.post(experiment, "ask", {})
        viewer, player = (owner.make_token(role)[0] for role in ("viewer", "player"))

        def ask(server, token):
            return server.post(experiment, "ask", {}, Authorization=f"Bearer {token}").status_code

        until(lambda: other.post(experiment, "ask", {}).status_code == 401, "the tokens to be noticed")
        assert ask(other, viewer) == 403
        statuses = [ask(other, player) for _ in range(10)]
        assert statuses[0] == 200
        assert 429 in statuses
        assert ask(owner, player) == 200


def test_who_stops_gives_up_what_it_owns_at_once(postgres_url, monkeypatch):
    monkeypatch.setattr(owner_tables, "_ALIVE", "FROM servers WHERE true")  # nobody is found to be gone by time
    with known_server(postgres_url) as other:
        with known_server(postgres_url) as owner:
            until(lambda: owner.owners.is_alive(other.owners.id), "the servers to meet")
            experiment = owner.create()
            owner.post(experiment, "ask", {"count": 2})
            until(lambda: other.owners.is_elsewhere(experiment), "the owner to be known")
        with other.store.owning() as tables:
            assert [server.id for server in tables.alive()] == [other.owners.id]
        assert owner_on_record(other.store, experiment) is None
        plays = other.post(experiment, "ask", {"count": 2}).json()["plays"]
        assert [play["id"] for play in plays] == [2, 3]


def test_servers_that_do_not_reach_each_other_still_do_all_of_it(postgres_url):
    """Each takes the other's address for its own, as on two machines that both listen on loopback alone."""
    with (
        known_server(postgres_url, Settings(url_for_others="http://127.0.0.1:9")) as one,
        known_server(postgres_url) as two,
    ):
        until(lambda: one.owners.is_alive(two.owners.id) and two.owners.is_alive(one.owners.id), "servers to meet")
        experiment = one.create()
        plays = []
        for server in (one, two, one, two):
            plays += server.post(experiment, "ask", {"count": 2}).json()["plays"]
        answers = [{"play": play["id"], "hit": None} for play in plays]
        assert two.post(experiment, "tell", {"answers": answers}).json()["receipts"] == ["counted"] * 8
        assert owner_on_record(one.store, experiment) == one.owners.id
        with one.store.owning() as tables:  # and where something else answers there
            tables._run("UPDATE servers SET url = %s WHERE id = %s", two.url, one.owners.id)
        assert two.post(experiment, "ask", {}).status_code == 200
        uninterrupted(one.store, experiment)


def test_clocks_of_servers_do_not_matter(postgres_url, monkeypatch):
    """Signs of life have the database's time, whatever the servers think that it is."""
    monkeypatch.setattr("time.time", lambda: 0.0)
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create()
        owner.post(experiment, "ask", {})
        assert owner_on_record(owner.store, experiment) == owner.owners.id
        assert other.post(experiment, "ask", {}).json()["plays"][0]["id"] == 1
        assert other.in_memory() == set()


def test_a_lease_is_looked_after_by_the_owner_alone(postgres_url):
    with two_servers(postgres_url) as (owner, other):
        experiment = owner.create(lease_seconds=0.05)
        owner.post(experiment, "ask", {})
        until(lambda: other.owners.is_elsewhere(experiment), "the owner to be known")
        looking, working = other.server.service.desk, owner.server.service.desk
        seen = looking.read(experiment, lambda hosted: hosted.head).result()
        until(lambda: working.figures().plays_in_flight == 0, "the lease to run out")
        assert looking.expire().result() == 0
        assert looking._groups._open[experiment].head == seen


@pytest.mark.slow
def test_an_owner_is_killed_and_one_is_paused_under_load(postgres_url):
    assert list(rounds_of_trouble(postgres_url, rounds=2, seed=3))[-1] > 100
    with closing(open_store(postgres_url)) as store, store.reading() as tables:
        assert len(tables.records()) == 1


def without_id(problem: dict[str, object]) -> dict[str, object]:
    """Every request has a name of its own."""
    return {key: value for key, value in problem.items() if key != "request_id"}
