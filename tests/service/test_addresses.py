"""Which addresses of servers are of use to others."""

from __future__ import annotations

import pytest

from linkedbandits.service.addresses import is_loopback, mistaken, said_of


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.9.8.7", True),
        ("::1", True),
        ("192.168.1.4", False),
        ("::", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_an_address_is_loopback_if_only_this_machine_can_reach_it(host, loopback):
    assert is_loopback(host) == loopback


@pytest.mark.parametrize(
    ("urls", "found"),
    [
        (["http://localhost:1"], {}),
        (["http://localhost:1", "http://[::1]:2"], {}),
        (["http://localhost:1", "http://[fd00::1]:2"], {0: "loopback"}),
        (["http://127.0.0.1:1", "http://127.0.0.1:1"], {0: "same", 1: "same"}),
        (["http://127.0.0.1:1", "http://127.0.0.1:1", "http://10.0.0.1:1"], {0: "loopback", 1: "loopback"}),
        (["http://10.0.0.1:1", "http://10.0.0.1:2", "http://10.0.0.2:1"], {}),
    ],
)
def test_servers_that_cannot_be_reached_where_they_say(urls, found):
    assert mistaken({str(number): url for number, url in enumerate(urls)}) == {
        str(number): mistake for number, mistake in found.items()
    }
    assert all("--url-for-others" in said_of(mistake) for mistake in found.values())
