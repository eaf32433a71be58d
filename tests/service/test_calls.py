"""What the clients send, and how they read the answers."""

from __future__ import annotations

import math
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.intervals import RunningMean
from linkedbandits.live import Play
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service import calls
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
    assert (url.query, url.fragment) == (b"tuples=true", "")


def test_unknown_problems_keep_their_words():
    assert "500 it broke" in str(error_of({"type": "about:blank", "status": 500, "detail": "it broke"}))


FIRST = FirstAttempts(RunningMean(2.0, 1, 0.5, 0.25), tries=1)
EVERY = {
    "experiments": calls.experiments(),
    "create": calls.create("x", ["a", "b"], lb.LinkedElimination(delta=0.1), "ordered", 0, None, None, 60.0),
    "set_status": calls.set_status("x", "pause"),
    "ask": calls.ask("x", 2, "k"),
    "tell": calls.tell("x", [(0, "a"), (1, None)]),
    "abandon": calls.abandon("x", (3, 4)),
    "recommend": calls.recommend("x"),
    "estimates": calls.estimates("x"),
    "option_estimates": calls.option_estimates("x", 0.9),
    "report_expenses": calls.report_expenses("x", "web/1", {"a": FIRST}),
}


def test_only_what_creates_without_a_key_may_not_be_sent_twice():
    assert [name for name, call in EVERY.items() if not call.repeatable] == ["create"]
    policy = lb.LinkedElimination(delta=0.1)
    keyed = calls.create("x", ["a", "b"], policy, "ordered", 0, None, None, 60.0, key="k")
    assert (keyed.repeatable, keyed.key, keyed.body) == (True, "k", EVERY["create"].body)


@pytest.mark.parametrize("on_record", ["east", 7, 2.5, False, None])
def test_a_conflict_says_what_is_on_record(on_record):
    problem = {"type": "urn:linkedbandits:conflicting-tell", "detail": "told before", "on_record": on_record}
    assert error_of(problem).on_record is on_record
    assert error_of({"type": problem["type"], "detail": "told before"}).on_record is None


def test_every_call_asks_for_what_its_name_says():
    assert {name: (call.method, call.path) for name, call in EVERY.items()} == {
        "experiments": ("GET", "/v1/experiments"),
        "create": ("POST", "/v1/experiments"),
        "set_status": ("POST", "/v1/experiments/x/pause"),
        "ask": ("POST", "/v1/experiments/x/ask?tuples=true"),
        "tell": ("POST", "/v1/experiments/x/tell"),
        "abandon": ("POST", "/v1/experiments/x/abandon"),
        "recommend": ("GET", "/v1/experiments/x/verdict"),
        "estimates": ("GET", "/v1/experiments/x/estimates"),
        "option_estimates": ("GET", "/v1/experiments/x/expenses?confidence=0.9"),
        "report_expenses": ("PUT", "/v1/experiments/x/expenses/web%2F1"),
    }
    assert EVERY["tell"].body == {"answers": [{"play": 0, "hit": "a"}, {"play": 1, "hit": None}]}
    assert EVERY["abandon"].body == {"plays": [3, 4], "unused": False}
    nothing = {"most": None, "count": 0, "total": 0.0, "squares": 0.0}
    seconds = {"most": 2.0, "count": 1, "total": 0.5, "squares": 0.25}
    told = {"option": "a", "tries": 1, "successes": 0, "seconds": seconds, "cost": nothing}
    assert EVERY["report_expenses"].body == {"options": [told]}
    assert EVERY["ask"].body == {"count": 2, "key": "k"}


def test_plays_are_read_in_both_forms():
    plays = [Play(7, ("a", 1)), Play(8, (True,), ("b",)), Play(9, ("a", 1))]
    long = {
        "plays": [{"id": 7, "arms": ["a", 1]}, {"id": 8, "arms": [True], "rest": ["b"]}, {"id": 9, "arms": ["a", 1]}]
    }
    short = {"first": 7, "tuples": [{"arms": ["a", 1]}, {"arms": [True], "rest": ["b"]}], "plays": [0, 1, 0]}
    assert EVERY["ask"].read(long) == EVERY["ask"].read(short) == plays
    for wrong in ([2], [-1], []):
        with pytest.raises(ValueError, match="play"):
            EVERY["ask"].read({**short, "plays": wrong})


def test_a_lower_limit_without_an_upper_one_has_none():
    """JSON has no infinity."""
    limits = {"mean": 2.0, "low": 1.0, "high": None, "proved": True}
    same = dict.fromkeys(("success", "seconds", "cost"))
    said = {"option": "a", "tries": 1, "successes": 1, **same, "success_per_cost": limits}
    (found,) = EVERY["option_estimates"].read({"options": [said]})
    assert found.success_per_cost == (2.0, 1.0, math.inf, True)
    assert found.success is None
    with pytest.raises(lb.InvalidParameter):
        calls.option_estimates("x", 1.5)


def test_an_answer_that_is_not_known_has_its_status():
    assert error_of({"type": "about:blank", "status": 404, "detail": "Not Found"}).status == 404
    assert error_of({"type": "about:blank", "status": "?", "detail": "Not Found"}).status is None
    assert error_of("teapot").status is None


names = st.text(min_size=1, max_size=20).filter(lambda name: not any("\ud800" <= letter <= "\udfff" for letter in name))


@given(names)
def test_whatever_its_name_an_experiment_is_one_part_of_the_path(name):
    path = calls.estimates(name).path
    *before, place, verb = path.split("/")
    assert (before, verb) == (["", "v1", "experiments"], "estimates")
    assert "." not in place
    assert unquote(place) == name


def test_a_refused_answer_among_others_is_the_error_that_it_speaks_of():
    problem = {"type": "urn:linkedbandits:unknown-play", "detail": "no play 1", "status": 404}
    told = EVERY["tell"].read({"receipts": ["late", problem], "done": True})
    assert (told.receipts[0], told.done) == ("late", True)
    assert isinstance(told.receipts[1], lb.UnknownName)
    with pytest.raises(lb.UnknownName, match="no play 1"):
        calls.only_receipt(calls.tell("x", [(1, None)]).read({"receipts": [problem], "done": False}))


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        ({"type": "urn:linkedbandits:access-denied", "detail": "teapot"}, lb.AccessDenied),
        ({"type": "urn:linkedbandits:invalid-request", "detail": "teapot"}, lb.InvalidParameter),
        ({"type": "urn:linkedbandits:of-a-later-version", "detail": "teapot"}, lb.UnexpectedAnswer),
        ({"type": ["about:blank"], "detail": "teapot"}, lb.UnexpectedAnswer),
        ({"type": None, "detail": "teapot"}, lb.UnexpectedAnswer),
        ({"error": "teapot"}, lb.UnexpectedAnswer),
        (["teapot"], lb.UnexpectedAnswer),
    ],
    ids=str,
)
def test_every_answer_that_is_no_success_is_some_error_with_its_words(problem, error):
    found = error_of(problem)
    assert type(found) is error
    assert "teapot" in str(found)


def test_a_problem_without_detail_has_its_title():
    problem = {"type": "urn:linkedbandits:unknown-play", "title": "Unknown play"}
    assert str(error_of(problem)) == "Unknown play"
