"""nginx with the site of ``deploy``, in front of the service as its unit starts it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import ssl
import subprocess
import threading
from contextlib import closing
from types import SimpleNamespace

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.client import Client
from linkedbandits.service.retries import Retries
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from tests.support.deployed import ROOT, Backend, running_nginx
from tools.ports import free_port
from tools.waiting import SECONDS, join, until, within

SITE = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
CERTIFICATE, KEY = "/etc/ssl/certs/bandits.example.pem", "/etc/ssl/private/bandits.example.key"


NOBODY = 'proxy_set_header X-Forwarded-User "";'
SIGN_IN = """
server {
    listen 127.0.0.1:PORT;
    location / { return 401; }
    location = /oauth2/auth {
        if ($cookie_session != "alices") { return 401; }
        add_header X-Auth-Request-User alice always;
        return 202;
    }
}
"""
"""A programme that signs users in, as nginx-users-by-auth-request.conf asks for one."""


PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


def grown(site, first_port, second_port):
    """With two servers, as the page has it: its block in the place of the one that is there."""
    (block,) = re.findall(r"^```nginx\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    for address, port in (("10.0.0.5:8000", first_port), ("10.0.0.6:8000", second_port)):
        assert block.count(address) == 1
        block = block.replace(address, f"127.0.0.1:{port}")
    assert site.count("proxy_next_upstream off;") == PAGE.count("`proxy_next_upstream error;`") == 1
    before = re.compile(r"^upstream .*?^}\n", flags=re.DOTALL | re.MULTILINE)
    assert len(before.findall(site)) == 1
    named = block.replace("upstream linkedbandits ", "upstream three ")
    return before.sub(lambda _: named, site.replace("proxy_next_upstream off;", "proxy_next_upstream error;"))


def site_for(folder, backend_port, tls_port, plain_port, users=NOBODY, name="linkedbandits"):
    """The site with other ports and paths, perhaps with users, and nothing else changed."""
    text = SITE
    for shared in ("upstream linkedbandits ", "http://linkedbandits;", "linkedbandits_"):
        assert shared in text
        text = text.replace(shared, shared.replace("linkedbandits", name))
    for written, here in (
        (NOBODY, users),
        ("server 127.0.0.1:8000 ", f"server 127.0.0.1:{backend_port} "),
        ("listen 443 ssl;", f"listen 127.0.0.1:{tls_port} ssl;"),
        ("listen 80;", f"listen 127.0.0.1:{plain_port};"),
        (f"ssl_certificate {CERTIFICATE};", f"ssl_certificate {folder}/certificate.pem;"),
        (f"ssl_certificate_key {KEY};", f"ssl_certificate_key {folder}/key.pem;"),
    ):
        assert text.count(written) == 1, written
        text = text.replace(written, here)
    return text


def make_certificate(folder):
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=bandits.example", "-addext", "subjectAltName=IP:127.0.0.1,DNS:bandits.example"]
    command = ["openssl", "req", "-x509", *kind, *names, "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)


def users_by_password(folder):
    """The file as it is, with one user, alice."""
    made = ["openssl", "passwd", "-apr1", "secret"]
    digest = subprocess.run(made, check=True, capture_output=True, text=True, timeout=SECONDS).stdout.strip()
    (folder / "users").write_text(f"alice:{digest}\n", encoding="utf-8")
    text = (ROOT / "deploy" / "nginx-users-by-password.conf").read_text(encoding="utf-8")
    assert text.count("auth_basic_user_file /etc/nginx/linkedbandits.users;") == 1
    return text.replace("/etc/nginx/linkedbandits.users;", f"{folder}/users;")


def users_by_request(sign_in_port):
    """The file as it is, with another port."""
    text = (ROOT / "deploy" / "nginx-users-by-auth-request.conf").read_text(encoding="utf-8")
    assert text.count("http://127.0.0.1:4180/") == 1
    return text.replace("http://127.0.0.1:4180/", f"http://127.0.0.1:{sign_in_port}/")


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    """A service behind nginx, with an admin's token."""
    for program in ("nginx", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: install Debian's package {program}")
    folder = tmp_path_factory.mktemp("nginx")
    store = str(folder / "experiments.sqlite3")
    token, record = make_token("boss", "admin", lambda: 0.0)
    with closing(open_store(store)) as opened, opened.writing() as writing:
        writing.add_token(record)
    make_certificate(folder)
    trusted = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
    tls, plain, by_password, by_request, sign_in, two, dead = (free_port() for _ in range(7))
    backend = Backend(store, free_port(), "--trust-header", "X-Forwarded-User", "--proxy-role", "viewer")
    sites = [
        site_for(folder, backend.port, tls, plain),
        site_for(folder, backend.port, by_password, free_port(), users_by_password(folder), "one"),
        site_for(folder, backend.port, by_request, free_port(), users_by_request(sign_in), "two"),
        grown(site_for(folder, backend.port, two, free_port(), name="three"), backend.port, dead),
        SIGN_IN.replace("PORT", str(sign_in)),
    ]
    with backend.running(), running_nginx(folder, "".join(sites), tls):
        url = f"https://127.0.0.1:{tls}"
        signed = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, verify=trusted, headers=signed, timeout=SECONDS) as http:
            yield SimpleNamespace(
                url=url, http=http, backend=backend, token=token, trusted=trusted, plain=plain, store=store,
                folder=folder, by_password=f"https://127.0.0.1:{by_password}",
                by_request=f"https://127.0.0.1:{by_request}", two=f"https://127.0.0.1:{two}",
            )  # fmt: skip


def new_experiment(behind, **changes):
    made = behind.http.post("/v1/experiments", json={"name": "x", "arms": ["north", "east"], **changes})
    assert made.status_code == 201, made.text
    return made.json()["id"]


@pytest.mark.slow
def test_the_page_and_the_api_are_there_and_plain_http_leads_to_them(behind):
    assert "<title>" in behind.http.get("/").text
    assert behind.http.get("/v1/me").json()["role"] == "admin"
    assert behind.http.get("/metrics").status_code == 200
    moved = httpx.get(f"http://127.0.0.1:{behind.plain}/v1/me", timeout=SECONDS)
    assert (moved.status_code, moved.headers["location"]) == (308, "https://127.0.0.1/v1/me")
    assert "strict-transport-security" in behind.http.get("/healthz").headers
    unknown = behind.http.get("/internal/v1/commands")
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, "text/html")  # nginx itself says so


@pytest.mark.slow
def test_nobody_can_say_who_they_are_by_themselves(behind):
    """The service believes nginx, and nginx does not pass on what callers send."""
    with httpx.Client(base_url=behind.url, verify=behind.trusted, timeout=SECONDS) as stranger:
        for header in ("X-Forwarded-User", "x-forwarded-user", "X_Forwarded_User"):
            assert stranger.get("/v1/me", headers={header: "boss"}).status_code == 401
    backend = f"http://127.0.0.1:{behind.backend.port}"
    direct = httpx.get(f"{backend}/v1/me", headers={"X-Forwarded-User": "x"}, timeout=SECONDS)
    assert direct.json()["role"] == "viewer"  # without nginx between, the service would


@pytest.mark.slow
def test_every_answer_has_one_request_id_the_callers_if_it_can_be_kept(behind):
    for answer in (
        behind.http.get("/v1/me", headers={"X-Request-Id": "mine-1"}),
        behind.http.get("/v1/experiments/nobody", headers={"X-Request-Id": "mine-1"}),
        behind.http.post("/v1/experiments", content=b"x" * 1_100_000, headers={"X-Request-Id": "mine-1"}),
    ):
        assert answer.headers.get_list("x-request-id") == ["mine-1"]
    problem = behind.http.get("/v1/experiments/nobody", headers={"X-Request-Id": 'a"b'})
    (given,) = problem.headers.get_list("x-request-id")
    assert given == problem.json()["request_id"] != 'a"b'


@pytest.mark.slow
def test_events_come_through_as_they_happen(behind):
    experiment = new_experiment(behind)
    with behind.http.stream("GET", f"/v1/experiments/{experiment}/events") as response:
        lines = within(response.iter_lines(), "the play in the stream")
        views = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
        assert next(views)["plays"] == 0
        play = behind.http.post(f"/v1/experiments/{experiment}/ask", json={}).json()["plays"][0]
        behind.http.post(f"/v1/experiments/{experiment}/tell", json={"answers": [{"play": play["id"], "hit": None}]})
        assert next(view for view in views if view["plays"] == 1)


@pytest.mark.slow
def test_large_uploads_come_through_and_larger_ones_and_long_headers_do_not(behind):
    line = {"order": ["north", "east"], "hit": "east"}
    fits = 900_000 // len(json.dumps(line, separators=(",", ":")))
    assert new_experiment(behind, log=[line] * fits)
    assert behind.http.post("/v1/experiments", content=b"x" * 1_100_000).status_code == 413
    assert behind.http.get("/v1/me", headers={"X-Long": "x" * 40_000}).status_code in (400, 431, 494)
    assert behind.http.get(f"/v1/me?{'x' * 40_000}").status_code == 414


@pytest.mark.slow
def test_a_client_that_tries_again_does_not_notice_that_the_service_restarts(behind, monkeypatch):
    """Once asked to stop, and once killed. While it is away nginx says when to come back."""
    monkeypatch.setenv("SSL_CERT_FILE", str(behind.folder / "certificate.pem"))
    stop, played, troubles = threading.Event(), [], []
    patient = Retries(longest_seconds=2.0, seconds=SECONDS)
    with Client(behind.url, token=behind.token, retries=patient) as client:
        exp = client.create("restarts", ["north", "east"], lb.LinkedElimination(delta=1e-60), lease_seconds=600)

        def work():
            try:
                while not stop.is_set():
                    play = exp.ask()
                    exp.tell(play.id, None)
                    played.append(play.id)
            except Exception as error:
                troubles.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                before = len(played)
                until(lambda seen=before: len(played) > seen + 20 or troubles, "some plays")
                behind.backend.stop(number)
                away = behind.http.get("/v1/me")
                assert (away.status_code, away.headers["retry-after"]) == (503, "1")
                assert away.json()["type"] == "urn:linkedbandits:service-unavailable"
                named = behind.http.get("/v1/me", headers={"X-Request-Id": "mine-1"})
                assert (named.status_code, named.headers.get_list("x-request-id")) == (503, ["mine-1"])
                assert named.json()["request_id"] == "mine-1"
                behind.backend.start()
            before = len(played)
            until(lambda: len(played) > before + 20 or troubles, "plays after the restarts")
        finally:
            stop.set()
            join(thread)
        assert troubles == []
        assert len(set(played)) == len(played)
        assert sum(estimate.samples for estimate in exp.estimates()) >= len(played)


@pytest.mark.slow
def test_of_two_servers_one_that_is_gone_is_passed_over(behind):
    """Here one was never there. Experiments go by their identifiers, so some would have been its own."""
    for _ in range(24):
        made = behind.http.post(f"{behind.two}/v1/experiments", json={"name": "x", "arms": ["north", "east"]})
        assert made.status_code == 201
        asked = behind.http.post(f"{behind.two}/v1/experiments/{made.json()['id']}/ask", json={})
        assert asked.status_code == 200
    said = (behind.folder / "errors").read_text(encoding="utf-8")
    assert "connect() failed" in said


@pytest.mark.slow
@pytest.mark.parametrize("way", ["by_password", "by_request"])
def test_users_whom_nginx_signs_in_are_known_by_name_and_nobody_can_pretend(behind, way):
    """With the files that nginx.conf speaks of. Programmes go on using their tokens."""
    url = getattr(behind, way)
    pretending = {"X-Forwarded-User": "root", "X-Auth-Request-User": "root"}
    signed = {"auth": ("alice", "secret")} if way == "by_password" else {"cookies": {"session": "alices"}}
    with httpx.Client(base_url=url, verify=behind.trusted, timeout=SECONDS, headers=pretending) as http:
        assert http.get("/v1/me").status_code == 401
        if way == "by_request":  # a person is sent to where they sign in, which everybody may see
            assert http.get("/").headers["location"].endswith("/oauth2/sign_in?rd=/")
        assert http.get("/v1/me", auth=("root", "wrong")).status_code == 401
        token = {"Authorization": f"Bearer {behind.token}"}
        assert http.get("/v1/me", headers=token).json()["role"] == "admin"
        assert http.get("/v1/me", headers={"Authorization": "Bearer x"}).status_code == 401
        both = [("Authorization", "Bearer x"), ("Authorization", "Basic cm9vdDp3cm9uZw==")]
        assert http.get("/v1/me", headers=both).status_code in (400, 401)
        assert http.get("/linkedbandits-sign-in").status_code in (401, 404)

    with httpx.Client(base_url=url, verify=behind.trusted, timeout=SECONDS, headers=pretending, **signed) as http:
        me = http.get("/v1/me").json()
        assert (me["role"], me["name"]) == ("viewer", "alice")
        assert http.post("/v1/experiments", json={"name": "x", "arms": ["a", "b"]}).status_code == 403
        assert http.get("/v1/me", headers={"Origin": url}).status_code == 200
        assert http.get("/v1/me", headers={"Origin": "https://evil.example"}).status_code == 403
    if way == "by_request":  # a name that a caller writes where auth_basic would look for it
        with httpx.Client(base_url=url, verify=behind.trusted, timeout=SECONDS, cookies=signed["cookies"]) as http:
            assert http.get("/v1/me", auth=("root", "x")).json()["name"] == "alice"
