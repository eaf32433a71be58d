"""Addresses that servers of one store tell each other, and which of them cannot be right."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

Mistake = Literal["loopback", "same"]
"""What is wrong with an address: it is of this machine alone, and there are others; or two servers have the same."""

REMEDY = "start it with --url-for-others http://ADDRESS:PORT, where the others reach it"
_SENTENCES: dict[Mistake, str] = {
    "loopback": "the address is of its own machine alone, and other servers of the store are elsewhere",
    "same": "another server of the store has the same address, and only one of them can be there",
}


def is_loopback(host: str) -> bool:
    """Can only this machine reach the address?

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def mistaken(urls: Mapping[str, str]) -> dict[str, Mistake]:
    """Of servers with what they say is their address, those that others cannot reach there; all servers find the same.

    >>> mistaken({"a": "http://127.0.0.1:1", "b": "http://127.0.0.1:2"})
    {}
    >>> mistaken({"a": "http://127.0.0.1:1", "b": "http://10.0.0.1:2", "c": "http://10.0.0.1:3"})
    {'a': 'loopback'}
    >>> mistaken({"a": "http://10.0.0.1:1", "b": "http://10.0.0.1:1", "c": "http://10.0.0.1:2"})
    {'a': 'same', 'b': 'same'}
    """
    local = {server for server, url in urls.items() if is_loopback(urlsplit(url).hostname or "")}
    found: dict[str, Mistake] = dict.fromkeys(local, "loopback") if len(local) < len(urls) else {}
    times = Counter(urls.values())
    for server, url in urls.items():
        if times[url] > 1:
            found.setdefault(server, "same")
    return {server: found[server] for server in urls if server in found}


def said_of(mistake: Mistake) -> str:
    """What is wrong, and what to do."""
    return f"{_SENTENCES[mistake]}; {REMEDY}. Until then each does by itself what comes to it"
