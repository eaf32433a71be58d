"""Sign-ins that were refused are counted, and kept once a minute."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing

from linkedbandits.service.http.proxy_sign_in import TrustedProxy
from linkedbandits.service.http.service import Settings
from linkedbandits.service.http.sign_ins import MOST_ADDRESSES, SECONDS_BETWEEN, RefusedSignIns
from linkedbandits.service.scopes import Scope
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from tests.support.running_service import running_service
from tests.support.service_parts import ManualClock
from tools.waiting import until


def test_the_first_is_kept_at_once_and_the_others_once_a_minute():
    clock = ManualClock()
    counted = RefusedSignIns(clock)
    assert counted.take() is None
    counted.refused("unknown token", "9.9.9.9")
    assert counted.take() == {"times": 1, "reasons": {"unknown token": 1}, "addresses": {"9.9.9.9": 1}}
    for _ in range(1_000):
        counted.refused("unknown token", "9.9.9.9")
    counted.refused("role too low", None)
    assert counted.take() is None
    clock.now += SECONDS_BETWEEN
    taken = counted.take()
    assert taken["times"] == 1_001
    assert taken["reasons"] == {"unknown token": 1_000, "role too low": 1}
    assert taken["addresses"] == {"9.9.9.9": 1_000, "unknown": 1}
    assert counted.take(at_once=True) is None


def test_many_addresses_take_no_more_room_than_a_few():
    counted = RefusedSignIns(ManualClock())
    for number in range(10_000):
        counted.refused("unknown token", f"10.0.{number // 256}.{number % 256}")
    taken = counted.take()
    assert len(taken["addresses"]) == MOST_ADDRESSES + 1
    assert taken["addresses"]["others"] == 10_000 - MOST_ADDRESSES
    assert taken["times"] == 10_000


def test_what_could_not_be_kept_is_counted_with_the_next():
    counted = RefusedSignIns(ManualClock())
    counted.refused("unknown token", "a")
    counted.give_back(counted.take())
    counted.refused("unknown token", "b")
    assert counted.take(at_once=True)["addresses"] == {"a": 1, "b": 1}


def test_over_http_guesses_are_in_the_audit_with_their_number_and_never_with_what_was_guessed(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    with running_service(path, Settings(open_without_tokens=False)) as service:
        viewer, _ = service.make_token("viewer")

        def refused():
            with service.store.reading() as reading:
                return reading.audit(10, action="sign-in-refused")

        for guess in range(20):
            response = service.http.get("/v1/experiments", headers={"Authorization": f"Bearer lb_guess{guess}"})
            assert response.status_code == 401
        signed = {"Authorization": f"Bearer {viewer}"}
        new = {"name": "x", "arms": [1, 2]}
        assert service.http.post("/v1/experiments", json=new, headers=signed).status_code == 403
        assert service.http.get("/v1/experiments").status_code == 401  # nobody has tried to be anybody
        until(refused, "an entry in the audit")
    # Those since the first entry come when the service stops.
    with closing(open_store(path)) as store, store.reading() as reading:
        entries = reading.audit(100)
    assert sum(entry.details["times"] for entry in entries) == 21
    assert len(entries) <= 2
    assert {entry.by.kind for entry in entries} == {"service"}
    text = json.dumps([entry.details for entry in entries])
    assert "lb_" not in text
    assert '"127.0.0.1"' in text


def test_what_a_limited_token_and_a_header_are_refused_is_counted_with_the_address_that_the_proxy_names(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    settings = Settings(proxy=TrustedProxy.of("X-Forwarded-User", ["127.0.0.1"], "admin"))
    text, limited = make_token("web", "admin", lambda: 1.0, Scope(prefixes=("web/",)))
    with running_service(path, settings) as service:
        with service.store.writing() as writing:
            writing.add_token(limited)
        from_afar = {"X-Forwarded-For": "9.9.9.9"}
        signed = from_afar | {"Authorization": f"Bearer {text}"}
        until(lambda: service.http.get("/v1/me", headers=signed).status_code == 200, "the token")
        refused = [service.http.get(of_all, headers=signed) for of_all in ("/v1/audit", "/metrics", "/v1/webhooks")]
        refused.append(service.http.post("/v1/experiments", json={"name": "x", "arms": [1, 2]}, headers=signed))
        foreign = {"X-Forwarded-User": "alice", "Origin": "https://evil.example"}
        refused.append(service.http.get("/v1/me", headers=from_afar | foreign))
        twice = [("X-Forwarded-User", "alice"), ("X-Forwarded-User", "root"), *from_afar.items()]
        assert service.http.get("/v1/me", headers=twice).status_code == 401
        assert [answer.status_code for answer in refused] == [403] * 5
    with closing(open_store(path)) as store, store.reading() as reading:
        entries = [entry.details for entry in reading.audit(100, action="sign-in-refused")]
    reasons = sum((Counter(entry["reasons"]) for entry in entries), Counter())
    assert reasons["token too limited"] == 4
    assert reasons["header of the proxy"] == 2
    assert {address for entry in entries for address in entry["addresses"]} == {"9.9.9.9"}
