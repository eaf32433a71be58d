"""A service that answers by a script, in this process: to see how clients get through its failures."""

from __future__ import annotations

import itertools

import httpx

from linkedbandits.service.client import Client
from linkedbandits.service.retries import Retries

ARMS = ["north", "east", "south"]


QUICK = Retries(times=3, first_seconds=1.0, longest_seconds=3.0, draw=lambda: 1.0)


class Weather:
    """A service that fails in a given way, and then answers; remembers what it was sent."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.bodies = []
        self.request_ids = []

    def __call__(self, request):
        self.bodies.append(request.content)
        self.request_ids.append(request.headers.get("X-Request-Id"))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def asked(play=0):
    return httpx.Response(200, json={"plays": [{"id": play, "arms": ARMS}], "expires_at": 1.0})


def client_in(weather, slept):
    keys = (f"key {number}" for number in itertools.count())
    request_ids = (f"r{number}" for number in itertools.count())
    return Client(
        "http://service",
        "lb_token",
        retries=QUICK,
        sleep=slept.append,
        new_key=lambda: next(keys),
        new_request_id=lambda: next(request_ids),
        transport=httpx.MockTransport(weather),
    )
