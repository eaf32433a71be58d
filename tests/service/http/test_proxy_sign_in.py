"""Users whom a proxy has signed in."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

import linkedbandits as lb
from linkedbandits.service.http.proxy_sign_in import TrustedProxy
from linkedbandits.service.http.service import Settings
from tests.support.running_service import running_service
from tools.waiting import until

HERE = TrustedProxy.of("X-Forwarded-User", ["127.0.0.1", "10.1.0.0/16", "::1"], "viewer")
ALICE = {"x-forwarded-user": "alice"}


@pytest.mark.parametrize(
    ("client", "user"),
    [
        ("127.0.0.1", "alice"),
        ("10.1.255.3", "alice"),
        ("::1", "alice"),
        ("::ffff:10.1.0.9", "alice"),
        ("10.2.0.1", None),
        ("::2", None),
        ("testclient", None),
        (None, None),
    ],
)
def test_the_header_is_believed_from_stated_addresses_alone(client, user):
    assert HERE.user_of(ALICE, client) == user


@pytest.mark.parametrize("name", ["", "  "])
def test_who_has_no_name_is_nobody(name):
    assert HERE.user_of({"x-forwarded-user": name}, "127.0.0.1") is None


@pytest.mark.parametrize("name", ["Łukasz", "Noà", "José Ünal", "Łukasz\u00a0Nowak"])
def test_names_are_in_utf_8(name):
    """As proxies send them; the framework reads headers as Latin-1."""
    assert HERE.user_of(Headers(raw=[(b"x-forwarded-user", name.encode())]), "127.0.0.1") == name


@pytest.mark.parametrize("raw", [b"Jos\xe9", "a\x85b".encode(), "a\u202eb".encode()])
def test_other_names_are_refused(raw):
    with pytest.raises(lb.AccessDenied, match="UTF-8"):
        HERE.user_of(Headers(raw=[(b"x-forwarded-user", raw)]), "127.0.0.1")


def test_a_proxy_without_a_header_says_where_callers_are_and_signs_nobody_in():
    proxy = TrustedProxy.of(None, ["127.0.0.1"], "viewer")
    assert proxy.user_of(ALICE, "127.0.0.1") is None
    assert proxy.address_of({"x-forwarded-for": "9.9.9.9"}, "127.0.0.1") == "9.9.9.9"


@pytest.mark.parametrize("name", ["a\x01b", "x" * 201, "alice, bob"])
def test_a_name_that_cannot_be_kept_is_refused(name):
    with pytest.raises(lb.AccessDenied):
        HERE.user_of({"x-forwarded-user": name}, "127.0.0.1")


def test_a_header_that_a_caller_has_added_is_noticed():
    twice = Headers(raw=[(b"x-forwarded-user", b"alice"), (b"x-forwarded-user", b"root")])
    with pytest.raises(lb.AccessDenied, match="came twice"):
        HERE.user_of(twice, "127.0.0.1")


@pytest.mark.parametrize(
    "foreign",
    [
        {"host": "bandits.example", "origin": "https://evil.example"},
        {"host": "bandits.example", "origin": "null"},
        {"host": "bandits.example", "sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_a_foreign_page_cannot_use_a_browser_that_is_signed_in(foreign):
    with pytest.raises(lb.AccessDenied, match="a page from elsewhere"):
        HERE.user_of(ALICE | foreign, "127.0.0.1")
    own = {"host": "bandits.example", "origin": "https://bandits.example", "sec-fetch-site": "same-origin"}
    assert HERE.user_of(ALICE | own, "127.0.0.1") == "alice"


@pytest.mark.parametrize(
    ("header", "addresses", "said"),
    [
        ("X-User", [], "--trusted-proxy ADDRESS"),
        ("X-User", ["0.0.0.0/0"], "everybody"),
        ("X-User", ["::/0"], "everybody"),
        ("X-User", ["proxy.example"], "no address"),
        ("X-User", ["10.1.2.3/16"], "no address"),
        ("Authorization", ["127.0.0.1"], "X-Forwarded-User is usual"),
        ("X User", ["127.0.0.1"], "X-Forwarded-User is usual"),
    ],
)
def test_what_would_let_anybody_be_anyone_is_refused(header, addresses, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        TrustedProxy.of(header, addresses, "viewer")


@pytest.mark.parametrize(
    ("forwarded", "client", "address"),
    [
        ("9.9.9.9", "127.0.0.1", "9.9.9.9"),
        ("1.1.1.1, 9.9.9.9", "127.0.0.1", "9.9.9.9"),
        ("nonsense", "127.0.0.1", "127.0.0.1"),
        ("", "127.0.0.1", "127.0.0.1"),
        ("9.9.9.9", "8.8.8.8", "8.8.8.8"),
    ],
)
def test_where_a_request_comes_from_is_believed_likewise(forwarded, client, address):
    assert HERE.address_of({"x-forwarded-for": forwarded}, client) == address


def test_over_http_users_have_their_role_their_name_is_in_the_audit_and_others_need_a_token(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    proxy = TrustedProxy.of("X-Forwarded-User", ["127.0.0.1"], "admin")
    with running_service(path, Settings(proxy=proxy)) as service:
        assert service.http.get("/v1/experiments").status_code == 401
        service.http.headers["X-Forwarded-User"] = "alice"
        assert service.http.get("/v1/me").json() == {"role": "admin", "name": "alice", "limited": False}
        experiment = service.create()
        assert service.post(experiment, "ask", {}).status_code == 200
        refused = service.post(experiment, "ask", {}, Origin="https://evil.example")
        assert refused.status_code == 403
        entries = service.http.get("/v1/audit").json()["entries"]
        assert [(entry["action"], entry["by"]) for entry in entries] == [
            ("create", {"kind": "user", "id": None, "name": "alice"})
        ]
        token, _ = service.make_token("viewer")
        signed = {"Authorization": f"Bearer {token}"}
        until(lambda: service.http.get("/v1/me", headers=signed).status_code == 200, "the token to be known")
        assert service.http.get("/v1/me", headers=signed).json()["role"] == "viewer"  # a token goes before the name
    elsewhere = TrustedProxy.of("X-Forwarded-User", ["10.9.9.9"], "admin")
    with running_service(path, Settings(proxy=elsewhere)) as service:
        assert service.http.get("/v1/me", headers={"X-Forwarded-User": "alice"}).status_code == 401
