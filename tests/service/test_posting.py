"""One message to a real receiver: what arrives, what does not, and how long it may take."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from linkedbandits.service import posting
from linkedbandits.service.posting import Post
from linkedbandits.service.webhooks import Delivery, make_webhook, verify
from linkedbandits.version import __version__
from tests.support.http_messages import whole_message
from tests.support.http_servers import serving
from tools.waiting import join

DELIVERY = Delivery("w", "msg_1", "verdict", "e", 1.0, json.dumps({"type": "experiment.verdict", "ü": "ü"}))


def webhook_to(url):
    return make_webhook(url, private=True, clock=lambda: 0.0)


def test_a_message_arrives_signed_and_with_its_id():
    with serving(lambda *_: 204) as receiver:
        webhook = webhook_to(f"{receiver.address}/hook?of=us")
        posted = Post(private=True, clock=lambda: 1_700_000_000.9).send(webhook, DELIVERY)
    assert (posted.arrived, posted.said) == (True, "answered 204")
    ((method, path, body),) = receiver.asked
    headers = {name.lower(): value for name, value in receiver.headers[0].items()}
    assert (method, path, body) == ("POST", "/hook?of=us", DELIVERY.body.encode())
    assert verify(webhook.secret, headers, body, now=1_700_000_000)
    assert headers["webhook-id"] == "msg_1"
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"] == f"linkedbandits/{__version__}"
    assert headers["host"] == receiver.address.removeprefix("http://")


@pytest.mark.parametrize("status", [301, 307, 400, 404, 410, 500, 503])
def test_any_other_answer_is_none_and_redirects_are_not_followed(status):
    with serving(lambda _, path, __: (status, {"Location": "/elsewhere"}) if path == "/" else 200) as receiver:
        posted = Post(private=True).send(webhook_to(f"{receiver.address}/"), DELIVERY)
    assert (posted.arrived, posted.said) == (False, f"answered {status}")
    assert len(receiver.asked) == 1


def test_a_receiver_that_hangs_up_or_is_not_there_has_not_got_it():
    with serving(lambda *_: "hangs up") as receiver:
        assert "no connection" in Post(private=True).send(webhook_to(receiver.address), DELIVERY).said
    posted = Post(private=True).send(webhook_to(receiver.address), DELIVERY)
    assert (posted.arrived, posted.said) == (False, "no connection (Connection refused)")


def test_what_is_no_http_is_said_to_be_none():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        said = []
        answering = threading.Thread(target=lambda: said.append(_answer(listening, b"220 mail.example.org\r\n\r\n")))
        answering.start()
        posted = Post(private=True).send(webhook_to(f"http://127.0.0.1:{listening.getsockname()[1]}"), DELIVERY)
        join(answering)
    assert (posted.arrived, posted.said) == (False, "the answer is not HTTP (BadStatusLine)")


def _answer(listening, content):
    connection, _ = listening.accept()
    with connection:
        whole_message(connection)  # what is not read undoes the answer on its way
        connection.sendall(content)


def test_one_that_trickles_is_cut_when_the_time_is_up():
    """Every byte comes in time; all of them together do not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        stop = threading.Event()

        def trickle():
            connection, _ = listening.accept()
            with connection:
                while not stop.wait(0.02):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        trickling = threading.Thread(target=trickle)
        trickling.start()
        posted = Post(private=True, seconds=0.3).send(
            webhook_to(f"http://127.0.0.1:{listening.getsockname()[1]}"), DELIVERY
        )
        stop.set()
        join(trickling)
    assert (posted.arrived, posted.said) == (False, "no answer within 0.3 s")


def test_one_that_speaks_no_tls_is_cut_too():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        posted = Post(private=True, seconds=0.3).send(
            webhook_to(f"https://127.0.0.1:{listening.getsockname()[1]}"), DELIVERY
        )
    assert (posted.arrived, posted.said) == (False, "no answer within 0.3 s")


def test_a_name_that_leads_to_this_machine_is_refused_before_anything_is_sent(monkeypatch):
    """However public it looks: what counts is the address that is connected to, looked up once."""
    with serving(lambda *_: 200) as receiver:
        port = receiver.server_address[1]
        asked = []

        def look_up(host, *rest, **more):
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

        monkeypatch.setattr(posting.socket, "getaddrinfo", look_up)
        refused = Post(private=False).send(webhook_to(f"http://example.org:{port}/"), DELIVERY)
        assert receiver.asked == []
        assert Post(private=True).send(webhook_to(f"http://example.org:{port}/"), DELIVERY).arrived
    assert not refused.arrived
    assert "127.0.0.1 is no public address" in refused.said
    assert asked[0] == "example.org"


def test_a_name_that_is_not_known_is_said_to_be_so(monkeypatch):
    def look_up(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(posting.socket, "getaddrinfo", look_up)
    assert Post(private=False).send(webhook_to("https://example.org/"), DELIVERY).said == (
        "the name of the server is not known"
    )
