"""How much a caller may send, and how often."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.service.http.limits import LARGEST_BODY, RateLimit
from tests.support.problem_documents import check_problem
from tests.support.service_parts import ManualClock

NEW = {"name": "directions", "arms": ["north", "east"]}


@pytest.mark.parametrize("per_second", [0.01, 0.1, 0.25, 0.5])
def test_a_rate_of_less_than_one_request_in_two_seconds_still_lets_one_in_at_a_time(per_second):
    """What two seconds are worth is less than a request there, and no caller may need more than they can ever save."""
    clock = ManualClock()
    rate = RateLimit(per_second, clock)
    for _ in range(3):
        rate.spend("somebody")
        with pytest.raises(lb.TooManyRequests) as refused:
            rate.spend("somebody")
        assert refused.value.retry_after == pytest.approx(1 / per_second)
        clock.now += 1 / per_second
    clock.now += 100 / per_second  # what is not used is not saved up
    rate.spend("somebody")
    with pytest.raises(lb.TooManyRequests):
        rate.spend("somebody")


def test_a_body_that_is_too_large_whether_it_says_so_or_not(service):
    def pieces():
        for _ in range(20):
            yield b" " * (LARGEST_BODY // 10)

    for body in (b" " * (LARGEST_BODY + 1), pieces()):
        response = service.http.post("/v1/experiments", content=body, headers={"Content-Type": "application/json"})
        check_problem(response, 413, "urn:linkedbandits:request-too-large")


def announced(body):
    return body  # httpx sends the length of bytes


def in_chunks(body):
    """Of something that has no length httpx announces none, and sends it in chunks."""
    return (body[start : start + 70_001] for start in range(0, len(body), 70_001))


@pytest.mark.parametrize("sent", [announced, in_chunks])
@pytest.mark.parametrize(
    ("path", "content", "accepted"), [("", NEW, 201), ("/{experiment}/ask", {"count": 2}, 200)], ids=["long", "short"]
)
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(service, path, content, accepted, sent):
    """On the long and on the short way, whether the length was announced or not."""
    url = "/v1/experiments" + path.format(experiment=service.create())
    for size, status in ((LARGEST_BODY - 1, accepted), (LARGEST_BODY, accepted), (LARGEST_BODY + 1, 413)):
        body = json.dumps(content).encode().ljust(size)
        response = service.http.post(url, content=sent(body), headers={"Content-Type": "application/json"})
        assert ("content-length" in response.request.headers) == (sent is announced)
        assert response.status_code == status, size
