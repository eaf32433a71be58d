"""Expenses that processes tell: the last of each is kept, all are added up, and their number is bounded."""

from __future__ import annotations

import json
import math

import pytest

import linkedbandits as lb
from linkedbandits.intervals import RunningMean
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service import expenses
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.expenses import (
    CONFIDENCE,
    MOST_SHOWN,
    LimitsOfExpenses,
    ShownExpenses,
    Spendings,
    expenses_data,
    nothing_told,
    spendings_of,
)
from linkedbandits.service.exporting import journal_lines
from tests.support.service_parts import SETUP, ManualClock, create, state_of


def tried(times: int, cost: float | None = None, most: float | None = 4.0, seconds: float = 0.5) -> FirstAttempts:
    kept = FirstAttempts(RunningMean(most), RunningMean())
    for number in range(times):
        kept.add(number % 2 == 0, seconds, cost)
    return kept


def tell(desk, experiment, source, **firsts):
    return desk.keep_expenses(experiment, source, list(firsts.items())).result()


def told(desk, experiment):
    return desk.spendings(experiment).result()


def test_the_last_of_every_source_counts_and_all_are_added_up(each_store, clock):
    with Desk(each_store, clock=clock) as desk:
        experiment = create(desk)
        assert told(desk, experiment) is None
        assert tell(desk, experiment, "web1", north=tried(3, 2.0))
        for _ in range(2):  # as often as it likes
            assert tell(desk, experiment, "web1", north=tried(5, 2.0), east=tried(1))
        clock.now += 5.0
        assert tell(desk, experiment, "web2", north=tried(7, 4.0))
        assert tell(desk, experiment, "web1", north=tried(3, 2.0))  # came late: there is more on record
        found = told(desk, experiment)
        assert {label: first.tries for label, first in found.firsts.items()} == {"north": 12, "east": 1, "south": 0}
        assert found.firsts["north"] == tried(5, 2.0).merged(tried(7, 4.0))
        assert (found.sources, found.at, found.costs, found.order) == (2, clock.now, "measured", None)
    with Desk(each_store) as desk:  # after a restart
        assert told(desk, experiment) == found


def test_they_are_no_part_of_the_journal_and_change_no_verdict(store, desk):
    experiment = create(desk)
    before = state_of(desk, experiment), desk.record(experiment).result(), list(journal_lines(store, experiment))
    tell(desk, experiment, "web1", north=tried(30, 1.0))
    assert before == (
        state_of(desk, experiment),
        desk.record(experiment).result(),
        list(journal_lines(store, experiment)),
    )


def test_beyond_the_room_the_oldest_are_added_to_those_that_are_gone_and_begin_anew(each_store, clock, monkeypatch):
    monkeypatch.setattr(expenses, "MOST_SOURCES", 3)
    monkeypatch.setattr(expenses, "FEWEST_SOURCES", 1)
    monkeypatch.setattr(expenses, "MOST_NAMES", 4)
    with Desk(each_store, clock=clock) as desk:
        experiment = create(desk)
        for number in range(8):
            clock.now += 1.0
            assert tell(desk, experiment, f"web{number}", north=tried(number + 1, 2.0))
        found = told(desk, experiment)
        assert found.sources == 3
        assert found.firsts["north"].tries == sum(range(1, 9))
        assert found.firsts["north"].cost.total == 2.0 * sum(range(1, 9))
        assert tell(desk, experiment, "web4", north=tried(20, 2.0)) == 0
        assert tell(desk, experiment, "web7", north=tried(9, 2.0)) > 0
        assert told(desk, experiment).firsts["north"].tries == sum(range(1, 9)) + 1
        with each_store.reading() as tables:
            known = [name for name in range(8) if tables.expenses(experiment, f"web{name}")]
        assert known == [1, 2, 3, 4, 5, 6, 7]  # the name of the first one is forgotten


def test_with_many_arms_fewer_sources_are_kept_apart(desk, clock, monkeypatch):
    monkeypatch.setattr(expenses, "MOST_SUMS", 30)
    experiment = create(desk)
    for number in range(12):
        clock.now += 1.0
        tell(desk, experiment, f"web{number}", north=tried(1))
    assert told(desk, experiment).sources == 10


@pytest.mark.parametrize(
    ("firsts", "said"),
    [
        ([("west", tried(1))], "'west' is no arm"),
        ([("north", tried(1)), ("north", tried(1))], "comes twice"),
        ([("north", FirstAttempts(tries=1))], "every attempt takes some"),
        ([(True, tried(1))], "True is no arm"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_kept(desk, firsts, said):
    experiment = create(desk)
    with pytest.raises(lb.InvalidParameter, match=said):
        desk.keep_expenses(experiment, "web1", firsts).result()
    assert told(desk, experiment) is None


def test_a_label_is_taken_by_its_type_as_well(desk):
    experiment = create(desk, arms=(1, "1", 0))
    for wrong in (True, 1.0, False):
        with pytest.raises(lb.InvalidParameter, match="is no arm"):
            desk.keep_expenses(experiment, "web1", [(wrong, tried(1))]).result()
    assert desk.keep_expenses(experiment, "web1", [(1, tried(1)), ("1", tried(2))]).result()
    assert [first.tries for first in told(desk, experiment).firsts.values()] == [1, 2, 0]


def test_an_archived_experiment_takes_none_and_a_successor_begins_without(service):
    with Client(service.url) as client:
        exp = client.create("x", ["north", "east"], lb.LinkedElimination(0.1))
        assert exp.report_expenses("web1", {"north": tried(3)})
        new = exp.successor()
        assert exp.report_expenses("web1", {"north": tried(4)})  # calls in flight end there
        assert [found.tries for found in exp.option_estimates()] == [4, 0]
        assert [found.tries for found in new.option_estimates()] == [0, 0]
        exp.archive()
        with pytest.raises(lb.WrongState):
            exp.report_expenses("web1", {"north": tried(5)})


def test_where_costs_are_known_they_are_those_of_the_policy(desk, store):
    policy = {"name": "linked-elimination", "parameters": {"delta": 0.05, "costs": [4.0, 1.0, 1.0]}}
    experiment = create(desk, policy=policy, linkage="single")
    tell(desk, experiment, "web1", north=tried(10), east=tried(20), south=tried(10))
    found = told(desk, experiment)
    assert (found.costs, found.order[-1]) == ("known", "north")
    assert found.estimates(0.9)[0] == tried(10).estimate("north", 0.9, known_cost=4.0)


def test_the_order_by_measured_costs_is_there_when_every_arm_was_tried_often_enough(desk):
    experiment = create(desk)
    tell(desk, experiment, "web1", north=tried(10, 3.0), east=tried(10, 1.0), south=tried(9, 2.0))
    assert told(desk, experiment).order is None
    tell(desk, experiment, "web2", south=tried(1, 2.0))
    assert told(desk, experiment).order == ("east", "south", "north")


def test_what_is_sent_is_json_also_where_a_limit_is_infinite():
    firsts = {"north": tried(1, 3.0, most=None), "east": FirstAttempts(RunningMean(2.0), RunningMean(2.0))}
    firsts["east"].add(True, 0.1, 0.1)
    data = expenses_data(Spendings(firsts, 2, 5.0, None), 0.9)
    north, east = json.loads(json.dumps(data, allow_nan=False))["options"]
    assert north["cost"] == {"mean": 3.0, "low": None, "high": None, "proved": False}
    assert firsts["east"].estimate("east", 0.9).success_per_cost.high == math.inf
    assert east["success_per_cost"]["high"] is None
    assert east["success_per_cost"]["low"] > 0
    assert {key: data[key] for key in ("confidence", "sources", "at", "costs", "order", "arms")} == {
        "confidence": 0.9,
        "sources": 2,
        "at": 5.0,
        "costs": "measured",
        "order": None,
        "arms": 2,
    }


def test_of_many_arms_a_view_shows_those_with_most_successes_per_cost():
    firsts = {number: tried(20, 1.0 + number) for number in range(2 * MOST_SHOWN)}
    firsts[0] = FirstAttempts()
    assert Spendings(firsts, 1, 5.0, None).shown() == list(range(1, MOST_SHOWN + 1))
    few = {number: firsts[number] for number in (3, 0, 2)}
    assert Spendings(few, 1, 5.0, None).shown() == [3, 0, 2]


def test_a_view_reads_them_now_and_then_and_only_if_they_have_changed(store, desk, monkeypatch):
    experiment, clock = create(desk), ManualClock()
    shown = ShownExpenses(store, clock)
    assert shown.latest(experiment, SETUP) is None
    tell(desk, experiment, "web1", north=tried(3))
    assert shown.latest(experiment, SETUP) is None
    clock.now += 2.0
    first = shown.latest(experiment, SETUP)
    assert (first["options"][0]["tries"], first["confidence"]) == (3, CONFIDENCE)
    monkeypatch.setattr(expenses, "spendings_of", lambda *_: pytest.fail("nothing has changed"))
    clock.now += 2.0
    assert shown.latest(experiment, SETUP) is first
    monkeypatch.undo()
    tell(desk, experiment, "web1", north=tried(4))
    clock.now += 2.0
    assert shown.latest(experiment, SETUP)["options"][0]["tries"] == 4
    with store.reading() as tables:
        assert spendings_of(tables, experiment, SETUP).firsts["north"] == tried(4)


def limits_of(store, **changes):
    return LimitsOfExpenses(store, pause=lambda _: None, **changes)


def test_limits_are_reckoned_once_for_what_is_on_record(store, desk, monkeypatch):
    experiment = create(desk)
    limits, reckoned = limits_of(store), []
    estimate = FirstAttempts.estimate
    monkeypatch.setattr(FirstAttempts, "estimate", lambda *of: reckoned.append(1) or estimate(*of))
    assert json.loads(limits.latest(experiment, 0.9)) == nothing_told(SETUP.arms, 0.9)
    tell(desk, experiment, "web1", north=tried(3))
    reckoned.clear()
    first = limits.latest(experiment, 0.9)
    assert json.loads(first) == expenses_data(told(desk, experiment), 0.9)
    reckoned.clear()
    for _ in range(5):
        assert limits.latest(experiment, 0.9) is first
    assert reckoned == []
    assert limits.latest(experiment, 0.8) != first
    tell(desk, experiment, "web1", north=tried(4))
    assert json.loads(limits.latest(experiment, 0.9))["options"][0]["tries"] == 4
    with pytest.raises(lb.UnknownName):
        limits.latest("nobody", 0.9)


def test_only_so_many_limits_are_kept_ready(store, desk, monkeypatch):
    experiment = create(desk)
    tell(desk, experiment, "web1", north=tried(3))
    limits = limits_of(store)
    size = len(limits.latest(experiment, 0.5))
    monkeypatch.setattr(expenses, "MOST_BYTES_KEPT", 3 * size + 100)
    first = limits.latest(experiment, 0.5)
    for confidence in (0.6, 0.7, 0.8, 0.9):
        limits.latest(experiment, confidence)
    assert len(limits._kept) == 3
    assert limits._bytes == sum(len(body) for _, body in limits._kept.values())
    assert limits.latest(experiment, 0.5) is not first


def test_others_get_on_while_limits_are_reckoned(store, desk):
    experiment, clock, pauses = create(desk), ManualClock(), []
    tell(desk, experiment, "web1", north=tried(3))

    def tick():
        clock.now += 0.5
        return clock.now

    LimitsOfExpenses(store, tick, pauses.append).latest(experiment, 0.9)
    assert pauses == [0.5] * len(SETUP.arms)


def test_a_source_that_tells_absurd_numbers_can_be_forgotten(each_store, clock):
    absurd = FirstAttempts(RunningMean(1e40), RunningMean())
    absurd.add(True, 1e39, None)
    with Desk(each_store, clock=clock) as desk:
        experiment = create(desk)
        tell(desk, experiment, "web1", north=tried(3))
        before = told(desk, experiment)
        tell(desk, experiment, "web2", north=absurd)
        assert told(desk, experiment).firsts["north"].seconds.most == 1e40
        listed = desk.expenses_sources(experiment).result()
        assert {one["source"]: (one["tries"], one["most_seconds"]) for one in listed} == {
            "web1": (3, 4.0),
            "web2": (1, 1e40),
        }
        clock.now += 1.0
        assert desk.forget_expenses(experiment, "web2").result() == 1
        assert told(desk, experiment).firsts == before.firsts
        assert tell(desk, experiment, "web2", north=absurd) == 0  # it has to begin anew
        assert told(desk, experiment).firsts == before.firsts
        with pytest.raises(lb.InvalidParameter, match="forget all"):
            desk.forget_expenses(experiment, "web2").result()
        with pytest.raises(lb.UnknownName):
            desk.forget_expenses("nobody", None).result()


def test_all_can_be_forgotten_those_that_are_gone_included(each_store, clock, monkeypatch):
    monkeypatch.setattr(expenses, "MOST_SOURCES", 2)
    monkeypatch.setattr(expenses, "FEWEST_SOURCES", 1)
    with Desk(each_store, clock=clock) as desk:
        experiment = create(desk)
        for number in range(5):
            clock.now += 1.0
            tell(desk, experiment, f"web{number}", north=tried(number + 1, 2.0))
        assert desk.forget_expenses(experiment, None).result() == 3  # two, and those that are gone
        assert told(desk, experiment) is None
        for number in range(5, 9):
            clock.now += 1.0
            assert tell(desk, experiment, f"web{number}", north=tried(1))
        assert told(desk, experiment).firsts["north"].tries == 4
