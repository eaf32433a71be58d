"""What a limited token does not cover is not there, wherever one looks."""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.http.service import Settings
from linkedbandits.service.http.visibility import UNREADABLE_SECONDS, Visibility
from linkedbandits.service.records import ExperimentRecord
from linkedbandits.service.scopes import EVERYTHING, Scope
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.succession import succeed
from linkedbandits.service.tokens import make_token
from tests.support.running_service import running_service
from tests.support.service_parts import SETUP, create
from tools.waiting import run_async, until, within


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A service with two experiments, a token of all roles for one of them, and an admin."""
    path = str(tmp_path_factory.mktemp("limited") / "experiments.sqlite3")
    with running_service(path, Settings(open_without_tokens=False)) as service:
        service.http.headers["Authorization"] = f"Bearer {service.make_token('admin')[0]}"
        mine, others = service.create(name="shop/gateways"), service.create(name="models")
        text, record = make_token("web", "admin", lambda: 0.0, Scope(frozenset({mine}), ("shop/",)))
        with service.store.writing() as writing:
            writing.add_token(record)
        signed = {"Authorization": f"Bearer {text}"}
        until(lambda: service.http.get("/v1/me", headers=signed).status_code == 200, "the token to be known")
        yield service, mine, others, signed


CALLS = [
    ("GET", "", None),
    ("GET", "/estimates", None),
    ("GET", "/expenses", None),
    ("GET", "/verdict", None),
    ("GET", "/view", None),
    ("GET", "/events", None),
    ("GET", "/curves", None),
    ("GET", "/journal", None),
    ("GET", "/journal?format=parquet", None),
    ("POST", "/ask", {"count": 1}),
    ("POST", "/ask", {"count": "wrong"}),
    ("POST", "/tell", {"answers": [{"play": 0, "hit": None}]}),
    ("POST", "/abandon", {"plays": [0]}),
    ("PUT", "/expenses/me", {"options": []}),
    ("GET", "/expenses/sources", None),
    ("DELETE", "/expenses/me", None),
    ("DELETE", "/expenses", None),
    ("PUT", "/tags", {"tags": ["eu"]}),
    ("POST", "/pause", None),
    ("POST", "/resume", None),
    ("POST", "/archive", None),
    ("POST", "/successor", {}),
    ("DELETE", "", None),
    ("DELETE", "?force=true", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLS, ids=str)
def test_an_experiment_that_is_not_covered_is_as_one_that_is_not_there(limited, method, path, body):
    service, _, others, signed = limited
    answers = [
        service.http.request(method, f"/v1/experiments/{experiment}{path}", json=body, headers=signed)
        for experiment in (others, "0123456789abcdef")
    ]
    told = [
        (
            answer.status_code,
            answer.text.replace(others, "0123456789abcdef").replace(answer.json().get("request_id", "no name"), ""),
        )
        for answer in answers
    ]
    assert told[0] == told[1]
    assert told[0][0] == 404


def test_every_route_about_an_experiment_is_tried_here(limited):
    paths = limited[0].http.get("/openapi.json").json()["paths"]
    routes = {
        (method.upper(), path.partition("{experiment}")[2].replace("{source}", "me"))
        for path, operations in paths.items()
        if "{experiment}" in path
        for method in operations
    }
    assert routes == {(method, path.partition("?")[0]) for method, path, _ in CALLS}


def test_lists_have_what_is_covered_alone(limited):
    service, mine, others, signed = limited
    found = service.http.get("/v1/experiments", headers=signed).json()
    listed = found["experiments"]
    assert found["total"] == found["matching"] == len(listed)
    assert mine in {one["id"] for one in listed}
    assert others not in {one["id"] for one in listed}
    seen = {}
    for name, headers in (("limited", signed), ("all", {})):
        with service.http.stream("GET", "/v1/events", headers=headers) as response:
            lines = within(response.iter_lines(), "an event of the list")
            data = next(line for line in lines if line.startswith("data: "))
        page = json.loads(data[6:])
        seen[name] = set(page["order"])
        assert page["total"] >= len(page["order"])
        assert name == "all" or page["total"] == len(listed)
    assert mine in seen["limited"]
    assert others not in seen["limited"]
    assert {mine, others} <= seen["all"]


def test_what_is_covered_can_be_played_and_what_goes_on_from_it(limited):
    service, _, _, signed = limited
    mine = service.create(name="elsewhere")
    text, record = make_token("web", "admin", lambda: 0.0, Scope(frozenset({mine})))
    with service.store.writing() as writing:
        writing.add_token(record)
    headers = {"Authorization": f"Bearer {text}"}
    until(lambda: service.http.get("/v1/me", headers=headers).status_code == 200, "the token to be known")
    assert service.http.get("/v1/me", headers=headers).json() == {"role": "admin", "name": "web", "limited": True}
    assert service.http.post(f"/v1/experiments/{mine}/ask", json={}, headers=headers).status_code == 200
    made = service.http.post(f"/v1/experiments/{mine}/successor", json={"why": "new", "keep": False}, headers=headers)
    assert made.status_code == 201, made.text
    assert service.http.post(f"/v1/experiments/{made.json()['id']}/ask", json={}, headers=headers).status_code == 200
    assert service.http.post(f"/v1/experiments/{made.json()['id']}/ask", json={}, headers=signed).status_code == 404


def token_for(service, name, scope):
    """The headers of a new token."""
    text, record = make_token(name, "admin", lambda: 0.0, scope)
    with service.store.writing() as writing:
        writing.add_token(record)
    headers = {"Authorization": f"Bearer {text}"}
    until(lambda: service.http.get("/v1/me", headers=headers).status_code == 200, "the token to be known")
    return headers


def test_what_a_covered_experiment_goes_on_from_is_hidden_if_it_is_not_covered(limited):
    service, _, _, signed = limited
    first = service.create(name="secret", arms=["hidden", "arms"])
    made = service.http.post(f"/v1/experiments/{first}/successor", json={"why": "new", "arms": ["a", "b"]}).json()
    path = f"/v1/experiments/{made['id']}"
    seen = {}
    for who, headers in (
        ("all", {}),
        ("first", token_for(service, "first", Scope(frozenset({first})))),
        ("second", token_for(service, "second", Scope(frozenset({made["id"]})))),
    ):
        answers = [
            service.http.get(path, headers=headers),
            service.http.get(f"{path}/view", headers=headers),
            service.http.put(f"{path}/tags", json={"tags": ["x"]}, headers=headers),
            service.http.get("/v1/experiments", headers=headers),
            service.http.get("/v1/experiments?page=1", headers=headers),
        ]
        texts = [answer.text for answer in answers]
        with service.http.stream("GET", f"{path}/events", headers=headers) as response:
            texts.append(next(line for line in within(response.iter_lines(), "a view") if line.startswith("data: ")))
        assert all(made["id"] in text for text in texts)
        assert json.loads(texts[-1][6:])["arms"]
        seen[who] = [first in text or "hidden" in text for text in texts]
    assert seen == {"all": [True] * 6, "first": [True] * 6, "second": [False] * 6}
    assert service.http.get(path, headers=signed).status_code == 404


def test_a_key_of_one_team_says_nothing_to_another(limited):
    service, *_ = limited
    teams = {name: token_for(service, name, Scope(prefixes=(f"{name}/",))) for name in ("red", "blue")}
    made = {}
    for name, headers in teams.items():
        new = {"name": f"{name}/x", "arms": ["a", "b"], "key": "nightly"}
        answers = [service.http.post("/v1/experiments", json=new, headers=headers) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        made[name] = {answer.json()["id"] for answer in answers}
    assert len(made["red"]) == len(made["blue"]) == 1
    assert made["red"] != made["blue"]


def test_what_is_about_all_takes_a_token_without_limits(limited):
    service, _, _, signed = limited
    for path in ("/metrics", "/v1/audit"):
        assert service.http.get(path, headers=signed).status_code == 403
        assert service.http.get(path).status_code == 200
    new = {"name": "models/2", "arms": ["a", "b"]}
    assert service.http.post("/v1/experiments", json=new, headers=signed).status_code == 403
    assert service.http.post("/v1/experiments", json={**new, "name": "shop/2"}, headers=signed).status_code == 201


class Counted:
    """A store whose readings are counted."""

    def __init__(self, store):
        self._store = store
        self.readings = 0

    def reading(self):
        self.readings += 1
        return self._store.reading()


async def in_no_thread(*_):
    raise AssertionError("what is known needs no thread")


def successors(store, desk, experiment, number):
    """Experiments that go on from each other."""
    made = []
    for _ in range(number):
        experiment = succeed(store, desk, experiment, None, True, "new").id
        made.append(experiment)
    return made


def listed_in(store):
    with store.reading() as reading:
        return reading.listed()


def test_what_is_known_is_answered_from_memory(store, desk):
    first, second = create(desk), create(desk)
    counted = Counted(store)
    visibility = Visibility(counted)
    scope = Scope(prefixes=("te",))
    assert run_async(visibility.among(scope, [first, second, "x"])) == {first, second}
    assert run_async(visibility.among(EVERYTHING, ["x"])) == {"x"}
    assert run_async(visibility.among(Scope(prefixes=("other",)), [first])) == frozenset()
    read = counted.readings
    visibility._run = in_no_thread
    run_async(visibility.check(scope, first))
    assert run_async(visibility.among(Scope(prefixes=("other",)), [first, second])) == frozenset()
    assert counted.readings == read


def test_all_of_a_list_is_read_together(store, desk):
    made = [create(desk) for _ in range(5)]
    made += successors(store, desk, made[0], 2)
    rows = listed_in(store)
    counted = Counted(store)
    sees = Visibility(counted).sees(Scope(frozenset(made[:1])))
    assert {row.id for row in sees(rows)} == {made[0], *made[5:]}
    assert counted.readings == 1
    assert {row.id for row in sees(rows)} == {made[0], *made[5:]}
    assert counted.readings == 1


def test_one_that_is_created_later_is_seen_at_once(store):
    visibility, scope = Visibility(store), Scope(prefixes=("te",))
    with pytest.raises(lb.UnknownName):
        run_async(visibility.check(scope, "0123456789abcdef"))
    with store.writing() as writing:
        writing.create(ExperimentRecord("0123456789abcdef", "test", SETUP, "running", 0.0, head=0))
    run_async(visibility.check(scope, "0123456789abcdef"))


def test_what_cannot_be_read_is_tried_again_after_a_while(store, desk, clock):
    sound, damaged = create(desk), create(desk)
    with store.writing() as writing:
        (row,) = writing._rows("SELECT setup FROM experiments WHERE id = ?", damaged)
        writing._run("UPDATE experiments SET setup = '{' WHERE id = ?", damaged)
    counted = Counted(store)
    visibility, scope = Visibility(counted, clock=clock), Scope(prefixes=("te",))
    for _ in range(3):
        assert run_async(visibility.among(scope, [sound, damaged])) == {sound}
    assert counted.readings == 1
    with store.writing() as writing:
        writing._run("UPDATE experiments SET setup = ? WHERE id = ?", row[0], damaged)
    clock.now += UNREADABLE_SECONDS
    assert run_async(visibility.among(scope, [sound, damaged])) == {sound, damaged}


def test_what_was_not_asked_for_longest_is_forgotten_and_all_is_found_all_the_same(store, desk):
    made = [create(desk) for _ in range(4)]
    counted = Counted(store)
    visibility, scope = Visibility(counted, most=3), Scope(prefixes=("te",))
    assert run_async(visibility.among(scope, made)) == set(made)
    for experiment in made[:3]:
        run_async(visibility.check(scope, experiment))
    read = counted.readings
    for experiment in made[:3]:
        run_async(visibility.check(scope, experiment))
    assert counted.readings == read
    run_async(visibility.check(scope, made[3]))
    run_async(visibility.check(scope, made[2]))
    assert counted.readings == read + 1


def test_where_one_hides_the_others_each_is_read_for_itself(store, desk):
    sound, damaged = create(desk), create(desk)

    class Hidden(Counted):
        """As a database is whose transactions end with the first page that cannot be read."""

        @contextmanager
        def reading(self):
            with super().reading() as reading:
                yield SimpleNamespace(records_among=self.fail, record=lambda one: self.record(reading, one))

        def fail(self, _):
            raise DamagedRecord("a page")

        def record(self, reading, experiment):
            return self.fail(None) if experiment == damaged else reading.record(experiment)

    visibility, scope = Visibility(Hidden(store)), Scope(prefixes=("te",))
    assert run_async(visibility.among(scope, [sound, damaged, "x"])) == {sound}
    assert run_async(visibility.among(scope, [sound, damaged, "x"])) == {sound}
