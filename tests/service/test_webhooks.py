"""Webhooks: addresses that may be sent to, signatures, and messages that are not too large."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.service.webhooks import (
    LARGEST_BODY,
    Happening,
    check_address,
    check_url,
    make_webhook,
    signed_headers,
    trial_delivery,
    verdict_data,
    verify,
)

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.5.5", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("::1", "fe80::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1"),
        *("224.0.0.1", "ff02::1", "255.255.255.255", "198.18.0.1", "2001:db8::1"),
        *("64:ff9b:1::808:808", "fec0::1", "::808:808", "::127.0.0.1", "::10.0.0.1"),
    ],
)
def test_what_is_not_public_is_refused(address):
    with pytest.raises(lb.InvalidParameter, match="--webhooks-to-private"):
        check_address(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_what_is_public_is_not(address):
    check_address(address)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/", "no address of a web server"),
        ("https:///hook", "no address of a web server"),
        ("https://example.org:0/", "no address of a web server"),
        ("https://example.org:99999/", "no address"),
        ("https://[::1", "no address"),
        ("https://user:secret@example.org/", "needs no password"),
        ("https://example.org/#part", "'#'"),
        ("https://example.org/a b", "no blanks"),
        ("https://example.org/\r\nX: y", "no blanks"),
        ("https://exämple.org/", "ASCII"),
        ("https://example.org/" + "x" * 2_000, "at most 2000"),
        ("https://a..b/hook", "no name of a server"),
        ("https://.example.org/", "no name of a server"),
        (f"https://{'x' * 64}.example.org/", "1 to 63 characters"),
        ("http://localhost:8000/", "no public address"),
        ("http://a.localhost/", "no public address"),
        ("http://127.0.0.1/", "no public address"),
        ("http://[::1]/", "no public address"),
    ],
)
def test_an_address_that_cannot_be_sent_to_is_refused_with_the_reason(url, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        check_url(url, private=False)


@pytest.mark.parametrize("url", ["http://localhost:8000/x", "http://127.0.0.1/", "http://10.0.0.1:81/"])
def test_private_addresses_may_be_allowed(url):
    assert check_url(url, private=True).scheme == "http"


@pytest.mark.parametrize(("events", "said"), [([], "nothing"), (["verdict", "lunch"], "'lunch' is no event; .*alarm")])
def test_events_that_do_not_exist_are_refused(events, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        make_webhook("https://example.org/", events, clock=lambda: 0.0)


def test_each_webhook_has_a_secret_of_its_own():
    made = [make_webhook("https://example.org/", ["paused", "verdict", "paused"], clock=lambda: 2.5) for _ in range(2)]
    assert made[0].secret != made[1].secret
    assert len(base64.b64decode(made[0].secret.removeprefix("whsec_"))) == 32
    assert (made[0].events, made[0].created_at, made[0].experiment) == (("verdict", "paused"), 2.5, None)


def test_signatures_are_those_of_the_specification():
    """Computed here as https://www.standardwebhooks.com has it: over the id, the time and the body, with dots."""
    headers = signed_headers(SECRET, "msg_1", 1_700_000_000, b'{"a": 1}')
    digest = hmac.new(b"0123456789abcdef", b'msg_1.1700000000.{"a": 1}', hashlib.sha256).digest()
    assert headers == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


@given(
    st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature", "body", "secret", "now", "missing"]),
    st.integers(1, 10**6),
)
def test_whatever_is_changed_the_signature_does_not_fit(changed, by):
    headers, body, now, secret = signed_headers(SECRET, "msg_1", 1_000_000, b"{}"), b"{}", 1_000_000.0, SECRET
    assert verify(secret, headers, body, now)
    if changed == "body":
        body += str(by).encode()
    elif changed == "secret":
        secret = "whsec_" + base64.b64encode(str(by).encode()).decode()
    elif changed == "now":
        now += 300 + by
    elif changed == "missing":
        del headers[sorted(headers)[by % 3]]
    elif changed == "webhook-timestamp":
        headers[changed] = str(1_000_000 + by)
    else:
        headers[changed] += str(by)
    assert not verify(secret, headers, body, now)


def test_one_of_several_signatures_is_enough():
    """While a secret is being exchanged, some senders sign with both."""
    headers = signed_headers(SECRET, "msg_1", 5, b"{}")
    headers["webhook-signature"] = f"v1,AAAA {headers['webhook-signature']}"
    assert verify(SECRET, headers, b"{}", now=5.0)


def test_the_same_happening_has_the_same_message_and_another_one_another():
    one = Happening("e1", "name", "verdict", "verdict", 1.0, {})
    assert one.id == Happening("e1", "name", "verdict", "verdict", 2.0, {"x": 1}).id
    assert (
        len(
            {
                one.id,
                Happening("e2", "", "verdict", "verdict", 1.0, {}).id,
                Happening("e1", "", "alarm", "a", 1.0, {}).id,
            }
        )
        == 3
    )


def test_a_message_says_what_happened_when_and_to_which_experiment():
    verdict = lb.Experiment(["north", "east"], lb.LinkedElimination(delta=0.05)).recommend()
    said = json.loads(Happening("e1", "ü", "verdict", "verdict", 1.5, verdict_data(verdict)).body())
    assert said["type"] == "experiment.verdict"
    assert said["timestamp"] == "1970-01-01T00:00:01.500+00:00"
    assert (said["data"]["experiment"], said["data"]["name"], said["data"]["arm"]) == ("e1", "ü", "north")


def test_a_message_that_would_be_too_large_leaves_the_long_lists_out():
    data = {"arm": "a", "top": ["ü" * 200] * 1_000, "assumes": ["a"] * 1_000}
    body = Happening("e1", "", "verdict", "verdict", 1.0, data).body()
    assert len(body) < LARGEST_BODY
    assert json.loads(body)["data"] == {"experiment": "e1", "name": "", "arm": "a", "shortened": True}


def test_a_trial_says_nothing_and_has_an_id_of_its_own():
    webhook = make_webhook("https://example.org/", clock=lambda: 0.0)
    one, other = trial_delivery(webhook, 1.0), trial_delivery(webhook, 1.0)
    assert one.id != other.id
    assert json.loads(one.body)["type"] == "webhook.test"
