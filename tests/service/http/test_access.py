"""Who may do what."""

from __future__ import annotations

import hashlib

import pytest

import linkedbandits as lb
from linkedbandits.service.http.access import Guard, check_same_origin
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.http.server import make_server
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import digest_of, make_token
from tests.support.running_service import running_service
from tools.waiting import run_async


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Tokens:
    """A store's tokens, and how often they were read."""

    def __init__(self):
        self.records = []
        self.readings = 0

    def make(self, role):
        text, record = make_token("somebody", role, lambda: 0.0)
        self.records = [*self.records, record]
        return text

    def __call__(self):
        self.readings += 1
        return self.records


def make_guard(tokens, clock, *, is_open=True, per_second=1000.0):
    return Guard(tokens, open_without_tokens=is_open, rate=RateLimit(per_second, clock), clock=clock)


def admit(guard, needed, token=None, **headers):
    given = {"host": "localhost:8000", **headers}
    if token is not None:
        given["authorization"] = f"Bearer {token}"
    return run_async(guard.admit(given, needed))


def test_a_token_is_random_and_only_its_digest_is_kept():
    first, record = make_token("web1", "player", lambda: 7.0)
    second, _ = make_token("web1", "player", lambda: 7.0)
    assert first != second
    assert len(first) >= 43
    assert record.digest == hashlib.sha256(first.encode()).hexdigest() == digest_of(first)
    assert first not in repr(record)
    assert (record.name, record.role, record.created_at) == ("web1", "player", 7.0)


@pytest.mark.parametrize("needed", ["viewer", "player", "admin"])
def test_on_loopback_without_tokens_everything_is_allowed(needed):
    assert admit(make_guard(Tokens(), Clock()), needed).role == "admin"


def test_elsewhere_nothing_is_allowed_without_a_token():
    with pytest.raises(lb.MissingToken, match="linkedbandits token create"):
        admit(make_guard(Tokens(), Clock(), is_open=False), "viewer")


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("viewer", {"viewer"}), ("player", {"viewer", "player"}), ("admin", {"viewer", "player", "admin"})],
)
def test_roles_include_the_lower_ones(role, allowed):
    tokens = Tokens()
    text = tokens.make(role)
    guard = make_guard(tokens, Clock())
    for needed in ("viewer", "player", "admin"):
        if needed in allowed:
            assert admit(guard, needed, text).role == role
        else:
            with pytest.raises(lb.AccessDenied, match=needed):
                admit(guard, needed, text)


def test_as_soon_as_there_is_a_token_one_is_demanded_also_after_the_last_is_revoked():
    tokens, clock = Tokens(), Clock()
    guard = make_guard(tokens, clock)
    admit(guard, "admin")
    text = tokens.make("admin")
    clock.now += 3
    with pytest.raises(lb.MissingToken):
        admit(guard, "viewer")
    admit(guard, "admin", text)
    tokens.records = []
    clock.now += 3
    with pytest.raises(lb.MissingToken):
        admit(guard, "viewer", text)
    with pytest.raises(lb.MissingToken):
        admit(guard, "viewer")


def test_a_request_is_not_a_query():
    tokens, clock = Tokens(), Clock()
    text = tokens.make("player")
    guard = make_guard(tokens, clock)
    for _ in range(100):
        admit(guard, "player", text)
        clock.now += 0.01
    assert tokens.readings == 1


def test_a_token_that_was_just_made_is_known_soon_and_guessing_does_not_cause_queries():
    tokens, clock = Tokens(), Clock()
    tokens.make("viewer")
    guard = make_guard(tokens, clock)
    admit(guard, "viewer", tokens.make("viewer"))
    clock.now += 0.6
    fresh = tokens.make("player")
    admit(guard, "player", fresh)
    readings = tokens.readings
    for guess in range(50):
        with pytest.raises(lb.MissingToken):
            admit(guard, "viewer", f"lb_guess{guess}")
    assert tokens.readings == readings


def test_wrong_words_in_the_header_are_no_token():
    tokens = Tokens()
    text = tokens.make("admin")
    guard = make_guard(tokens, Clock())
    for header in ("", "Bearer", "Bearer ", f"Basic {text}", text, "Bearer \xff\xfe"):
        with pytest.raises(lb.MissingToken):
            admit(guard, "viewer", authorization=header)
    assert admit(guard, "viewer", authorization=f"bearer {text}").role == "admin"


def test_each_token_has_a_rate_of_its_own():
    tokens, clock = Tokens(), Clock()
    one, other = tokens.make("player"), tokens.make("player")
    guard = make_guard(tokens, clock, per_second=5.0)
    for _ in range(10):  # two seconds' worth at once
        admit(guard, "player", one)
    with pytest.raises(lb.TooManyRequests, match="larger batches") as refused:
        admit(guard, "player", one)
    assert refused.value.retry_after == pytest.approx(0.2)
    admit(guard, "player", other)
    clock.now += 0.2
    admit(guard, "player", one)


@pytest.mark.parametrize("per_second", [0.01, 0.1, 0.25, 0.5])
def test_a_rate_of_less_than_one_request_in_two_seconds_still_lets_one_in_at_a_time(per_second):
    """What two seconds are worth is less than a request there, and no caller may need more than they can ever save."""
    clock = Clock()
    rate = RateLimit(per_second, clock)
    for _ in range(3):
        rate.spend("somebody")
        with pytest.raises(lb.TooManyRequests) as refused:
            rate.spend("somebody")
        assert refused.value.retry_after == pytest.approx(1 / per_second)
        clock.now += 1 / per_second
    clock.now += 100 / per_second  # what is not used is not saved up
    rate.spend("somebody")
    with pytest.raises(lb.TooManyRequests):
        rate.spend("somebody")


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:80", "[::1]:8000", "LOCALHOST"])
def test_this_machine_may_be_spelt_in_several_ways(host):
    check_same_origin({"host": host})
    check_same_origin({"host": host, "origin": f"http://{host}"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost:8000", "origin": "http://evil.example"},
        {"host": "localhost:8000", "origin": "http://localhost:9000"},
        {"host": "localhost:8000", "origin": "null"},
        {"host": "[::1"},
    ],
    ids=str,
)
def test_foreign_pages_in_a_browser_on_this_machine_are_refused(headers):
    with pytest.raises(lb.AccessDenied):
        check_same_origin(headers)


def test_foreign_pages_are_refused_over_http_whatever_way_a_request_goes(service):
    experiment = service.create()
    for method, path, body in (("GET", "", None), ("POST", "/ask", {}), ("POST", "/pause", None)):
        for foreign in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            response = service.http.request(method, f"/v1/experiments/{experiment}{path}", json=body, headers=foreign)
            assert (response.status_code, response.json()["type"]) == (403, "urn:linkedbandits:access-denied")


def test_who_revokes_the_last_token_does_not_open_the_service(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    with running_service(path) as service:
        _, token_id = service.make_token("admin")
        with service.store.writing() as writing:
            writing.remove_token(token_id)
    with running_service(path) as service:
        assert service.http.get("/v1/experiments").status_code == 401
    with running_service(path, Settings(reopen=True)) as service:
        assert service.http.get("/v1/experiments").status_code == 200


def test_without_a_token_nothing_is_said_of_what_was_sent(tmp_path):
    as_json = {"Content-Type": "application/json"}
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        signed = as_json | {"Authorization": f"Bearer {service.make_token('admin')[0]}"}
        for path in ("/v1/experiments", "/v1/experiments/x/ask", "/v1/experiments/x/abandon"):
            for body in (b"{", b'{"name": 3}'):
                assert service.http.post(path, content=body, headers=as_json).status_code == 401
                assert service.http.post(path, content=body, headers=signed).status_code == 422


@pytest.mark.parametrize("name", ["a\nb", "x" * 201])
def test_a_token_s_name_can_be_shown(name):
    with pytest.raises(lb.InvalidParameter, match="name="):
        make_token(name, "viewer", lambda: 0.0)


def test_a_public_address_is_refused_without_tokens(tmp_path):
    store = open_store(str(tmp_path / "experiments.sqlite3"))
    with pytest.raises(lb.InvalidParameter, match="linkedbandits token create"):
        make_server(store, Settings(), "0.0.0.0", 0)
    store.close()


def test_a_public_address_with_tokens_wants_one_for_everything_but_health_and_the_page(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    store = open_store(path)
    text, record = make_token("boss", "admin", lambda: 0.0)
    with store.writing() as writing:
        writing.add_token(record)
    store.close()
    with running_service(path, host="0.0.0.0") as service:
        for route in ("/v1/experiments", "/v1/events", "/metrics"):
            response = service.http.get(route)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
            assert response.json()["type"] == "urn:linkedbandits:missing-token"
        for route in ("/healthz", "/readyz", "/", "/openapi.json"):
            assert service.http.get(route).status_code == 200
        signed = {"Authorization": f"Bearer {text}"}
        assert service.http.get("/v1/experiments", headers=signed | {"Host": "bandits.example"}).status_code == 200


def test_roles_over_http(tmp_path):
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        signed = {
            role: {"Authorization": f"Bearer {service.make_token(role)[0]}"} for role in ("viewer", "player", "admin")
        }
        new = {"name": "directions", "arms": ["north", "east"]}
        created = {role: service.http.post("/v1/experiments", json=new, headers=signed[role]) for role in signed}
        assert [response.status_code for response in created.values()] == [403, 403, 201]
        path = created["admin"].headers["location"]
        assert [service.http.get("/v1/me", headers=signed[role]).json() for role in signed] == [
            {"role": role} for role in signed
        ]
        for method, route, body, statuses in (
            ("GET", f"{path}/verdict", None, [200, 200, 200]),
            ("POST", f"{path}/ask", None, [403, 200, 200]),
            ("POST", f"{path}/ask", {}, [403, 200, 200]),
            ("POST", f"{path}/tell", {"answers": [{"play": 0, "hit": None}]}, [403, 200, 200]),
            ("POST", f"{path}/abandon", {"plays": [0]}, [403, 200, 200]),
            ("POST", f"{path}/archive", None, [403, 403, 200]),
        ):
            answers = [service.http.request(method, route, json=body, headers=signed[role]) for role in signed]
            assert [answer.status_code for answer in answers] == statuses, route
            assert service.http.request(method, route, json=body).status_code == 401, route


def test_too_many_requests_with_a_token_are_a_429_with_when_to_come_back(tmp_path):
    settings = Settings(open_without_tokens=False, requests_per_second=1.0)
    with running_service(str(tmp_path / "experiments.sqlite3"), settings) as service:
        signed = {"Authorization": f"Bearer {service.make_token('viewer')[0]}"}
        answers = [service.http.get("/v1/experiments", headers=signed) for _ in range(4)]
        assert [response.status_code for response in answers[:2]] == [200, 200]
        assert answers[-1].status_code == 429
        assert answers[-1].headers["retry-after"] == "1"
