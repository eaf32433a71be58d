"""How a chain stands, in a few lines."""

from __future__ import annotations

from dataclasses import replace

import linkedbandits as lb
from linkedbandits.chain.status import WIDEST


def test_what_is_nothing_is_left_out():
    chain = lb.Chain({"a": int, "b": int})
    assert repr(chain.status()) == (
        "ChainStatus(\n    0 calls over\n    order ('a', 'b'), none of it proved\n    no verdict yet\n)"
    )


def test_all_that_is_worth_a_look_is_shown():
    status = replace(
        lb.Chain({"a": int, "b": int}).status(),
        calls=3000,
        plays=200,
        served=2700,
        watched=100,
        failed=12,
        in_flight=3,
        attempts_above_best=54.25,
        spent=20.0,
        cost_above_best=1.5,
        dropped=7,
        errors=2,
        last_error="the disk is full, " * 10,
        order=("b", "a"),
        proved=1,
        verdict=lb.Verdict("b", "confident", 200, 0.05),
        reopened=1,
    )
    lines = repr(status).splitlines()
    assert [line.strip() for line in lines[1:-2]] == [
        "3,000 calls over: 200 plays, 2,700 served, 100 watched",
        "12 failed, 3 in flight",
        "order ('b', 'a'), the first proved",
        "verdict 'b' after 200 plays, error at most 0.05",
        "reopened 1 time",
        "learning and watching took 54.25 attempts above the best order",
        "cost 20.0, 1.5 above the best order",
        "answers: 7 dropped",
    ]
    assert lines[-2].startswith("    2 errors beside the calls, the last: the disk is full")
    assert max(map(len, lines)) == WIDEST + 4 == 80


def test_one_play_is_no_plays_and_less_than_nothing_is_said_in_words():
    status = replace(lb.Chain({"a": int, "b": int}).status(), calls=1, plays=1, attempts_above_best=-0.25)
    assert "1 call over: 1 play\n" in repr(status)
    assert "learning and watching took 0.25 attempts below the best order" in repr(status)


def test_what_is_of_this_process_and_what_of_all_is_said_where_there_may_be_others():
    status = replace(
        lb.Chain({"a": int, "b": int}).status(),
        calls=3000,
        plays=200,
        attempts_above_best=54.25,
        spent=20.0,
        cost_above_best=1.5,
        shared=True,
    )
    lines = [line.strip() for line in repr(status).splitlines()]
    assert lines[1] == "3,000 calls of this process over: 200 plays"
    assert lines[4:7] == [
        "54.25 attempts above the best order, by plays of all processes",
        "cost of this process 20.0",
        "cost 1.5 above the best order, by plays of all processes",
    ]
    measured = repr(replace(status, costs_measured=True))
    assert "cost of this process 20.0, 1.5 above the best order\n" in measured
    assert "cost of this process 20.0\n" in repr(replace(status, costs_measured=True, cost_above_best=None))


def test_a_chain_knows_whether_its_experiment_is_shared(tmp_path):
    options = {"a": int, "b": int}
    assert not lb.Chain(options).status().shared
    assert not lb.Chain(options, costs={"a": 1.0, "b": 2.0}).status().costs_measured
    assert lb.Chain(options, costs="seconds").status().costs_measured
    with lb.Chain(options, state=tmp_path / "chain.json") as chain:
        assert chain.status().shared


def test_several_places_may_be_proved():
    verdict = lb.Verdict("b", "confident", 200, None, top=("b", "a"))
    status = replace(lb.Chain({"a": int, "b": int}).status(), order=("b", "a"), proved=2, verdict=verdict)
    assert "order ('b', 'a'), the first 2 proved" in repr(status)
    assert "verdict ('b', 'a') after 200 plays, not proved" in repr(status)
