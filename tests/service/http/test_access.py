"""Who may do what."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service.http.access import Guard, check_same_origin
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.http.service import Settings
from linkedbandits.service.tokens import make_token
from tests.support.running_service import running_service
from tests.support.service_parts import ManualClock
from tools.waiting import run_async


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


@pytest.mark.parametrize("needed", ["viewer", "player", "admin"])
def test_on_loopback_without_tokens_everything_is_allowed(needed):
    assert admit(make_guard(Tokens(), ManualClock()), needed).role == "admin"


def test_elsewhere_nothing_is_allowed_without_a_token():
    with pytest.raises(lb.AccessDenied, match="linkedbandits token create"):
        admit(make_guard(Tokens(), ManualClock(), is_open=False), "viewer")


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("viewer", {"viewer"}), ("player", {"viewer", "player"}), ("admin", {"viewer", "player", "admin"})],
)
def test_roles_include_the_lower_ones(role, allowed):
    tokens = Tokens()
    text = tokens.make(role)
    guard = make_guard(tokens, ManualClock())
    for needed in ("viewer", "player", "admin"):
        if needed in allowed:
            assert admit(guard, needed, text).role == role
        else:
            with pytest.raises(lb.AccessDenied, match=needed):
                admit(guard, needed, text)


def test_as_soon_as_there_is_a_token_one_is_demanded_also_after_the_last_is_revoked():
    tokens, clock = Tokens(), ManualClock()
    guard = make_guard(tokens, clock)
    admit(guard, "admin")
    text = tokens.make("admin")
    clock.now += 3
    with pytest.raises(lb.AccessDenied):
        admit(guard, "viewer")
    admit(guard, "admin", text)
    tokens.records = []
    clock.now += 3
    with pytest.raises(lb.AccessDenied):
        admit(guard, "viewer", text)
    with pytest.raises(lb.AccessDenied):
        admit(guard, "viewer")


def test_a_request_is_not_a_query():
    tokens, clock = Tokens(), ManualClock()
    text = tokens.make("player")
    guard = make_guard(tokens, clock)
    for _ in range(100):
        admit(guard, "player", text)
        clock.now += 0.01
    assert tokens.readings == 1


def test_a_token_that_was_just_made_is_known_soon_and_guessing_does_not_cause_queries():
    tokens, clock = Tokens(), ManualClock()
    tokens.make("viewer")
    guard = make_guard(tokens, clock)
    admit(guard, "viewer", tokens.make("viewer"))
    clock.now += 0.6
    fresh = tokens.make("player")
    admit(guard, "player", fresh)
    readings = tokens.readings
    for guess in range(50):
        with pytest.raises(lb.AccessDenied):
            admit(guard, "viewer", f"lb_guess{guess}")
    assert tokens.readings == readings


def test_wrong_words_in_the_header_are_no_token():
    tokens = Tokens()
    text = tokens.make("admin")
    guard = make_guard(tokens, ManualClock())
    for header in ("", "Bearer", "Bearer ", f"Basic {text}", text, "Bearer \xff\xfe"):
        with pytest.raises(lb.AccessDenied):
            admit(guard, "viewer", authorization=header)
    assert admit(guard, "viewer", authorization=f"bearer {text}").role == "admin"


def test_each_token_has_a_rate_of_its_own():
    tokens, clock = Tokens(), ManualClock()
    one, other = tokens.make("player"), tokens.make("player")
    guard = make_guard(tokens, clock, per_second=5.0)
    for _ in range(10):  # two seconds' worth at once
        admit(guard, "player", one)
    with pytest.raises(lb.ServiceUnavailable, match="larger batches") as refused:
        admit(guard, "player", one)
    assert refused.value.retry_after == pytest.approx(0.2)
    admit(guard, "player", other)
    clock.now += 0.2
    admit(guard, "player", one)


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


def test_too_many_requests_with_a_token_are_a_429_with_when_to_come_back(tmp_path):
    settings = Settings(open_without_tokens=False, requests_per_second=1.0)
    with running_service(str(tmp_path / "experiments.sqlite3"), settings) as service:
        signed = {"Authorization": f"Bearer {service.make_token('viewer')[0]}"}
        answers = [service.http.get("/v1/experiments", headers=signed) for _ in range(4)]
        assert [response.status_code for response in answers[:2]] == [200, 200]
        assert answers[-1].status_code == 429
        assert answers[-1].headers["retry-after"] == "1"
