"""What the clients send, and how they read the answers."""

from __future__ import annotations

import httpx
import pytest

from linkedbandits.service.calls import error_of
from linkedbandits.service.client import Client
from tests.support.weather import asked


@pytest.mark.parametrize("name", ["../x", "..", "x/y", "x?y", "x#y"])
def test_a_name_stays_in_its_place(name):
    seen = []

    def service(request):
        seen.append(request.url)
        return asked()

    with Client("http://service", transport=httpx.MockTransport(service)) as client:
        client.experiment(name).ask()
    (url,) = seen
    assert url.path == f"/v1/experiments/{name}/ask"
    assert url.raw_path.count(b"/") == 4
    assert (url.query, url.fragment) == (b"", "")


def test_unknown_problems_keep_their_words():
    assert "500 it broke" in str(error_of({"type": "about:blank", "status": 500, "detail": "it broke"}))
