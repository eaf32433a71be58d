"""Reports in words."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.attempts import Attempts, SetAside
from linkedbandits.attempts.alarms import Alarm, Rate
from linkedbandits.attempts.orders import Place
from linkedbandits.attempts.outlook import Missing
from linkedbandits.attempts.wording import (
    by_mean,
    evidence_in_words,
    first_shares_in_words,
    missing_by_mean,
    missing_in_words,
    noticed_in_words,
    offsets_table,
    order_caveat,
    order_in_words,
    prices_caveat,
    prices_tables,
    set_aside_in_words,
    success_in_words,
    when_in_words,
)
from tests.support.logs import log_of


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (Missing("a", 1, 4.0, None), "about 1 more first attempt: 4 more requests"),
        (
            Missing("a", 1200, 4800.4, 7200.0),
            "about 1,200 more first attempts: 4,800 more requests, 2 hours at its rate",
        ),
        (Missing("a", 30, math.inf, math.inf), "about 30 more first attempts, and the log has none"),
        (Missing("a", None, math.inf, None), "more first attempts, with no end in sight"),
    ],
)
def test_what_is_missing(missing, said):
    assert missing_in_words(missing, "first") == said
    assert missing_in_words(missing, "all") == said.replace("first ", "")


def test_what_was_set_aside_has_its_lines():
    assert set_aside_in_words(SetAside("torn", "why", 1, (1234,))) == "torn: 1 row, in line 1,234; why"
    assert set_aside_in_words(SetAside("torn", "why", 2, (1, 2))) == "torn: 2 rows, in lines 1, 2; why"
    in_files = SetAside("torn", "why", 3, (4, 5, 2), ("a.csv", "a.csv", "b.csv"))
    assert set_aside_in_words(in_files) == "torn: 3 rows, in lines 4, 5 of a.csv and line 2 of b.csv; why"
    assert set_aside_in_words(SetAside("torn", "why", 2000)) == "torn: 2,000 rows; why"


def test_evidence_is_a_word_where_it_is_decided():
    decided = log_of([0.9, 0.5, 0.2], 600).verdict()
    assert [evidence_in_words(each, decided) for each in sorted(decided.estimates, key=lambda each: each.option)] == [
        "best",
        "out",
        "out",
    ]
    open_yet = log_of([0.6, 0.5], 40).verdict()
    for each in open_yet.estimates:
        assert float(evidence_in_words(each, open_yet)) == pytest.approx(10**each.log10_evidence, rel=0.01)


def timed(times):
    log = Attempts.from_plays([(("a", "b"), "a")] * len(times))
    return Attempts(log.options, log.request, log.option, log.success, log.second, time=np.array(times))


def test_when_a_log_was():
    assert when_in_words(timed([1.7e9, 1.7e9 + 7200])) == "2023-11-14 22:13 to 2023-11-15 00:13 UTC"
    assert when_in_words(timed([0.0, 7200.0])) == "2 hours"
    assert when_in_words(timed([1.7e9, 1e17])).endswith("years")
    assert when_in_words(timed([math.nan, math.nan])) is None
    assert when_in_words(log_of([0.5, 0.5], 3)) is None


def test_what_requests_begin_with():
    plays = [(tuple("abcdef"[start:] + "abcdef"[:start]), None) for start in (0, 0, 0, 0, 1, 1, 2, 3, 4, 5)]
    assert first_shares_in_words(Attempts.from_plays(plays)) == "a 40 %, b 20 %, c 10 %, d 10 % and 2 more"


def test_an_order_is_in_attempts_or_in_costs():
    log = log_of([0.9, 0.5], 400)
    report = log.verdict()
    best, now = order_in_words(report.order)
    assert best == f"{100 * report.order.success:.1f} % of requests succeed, with {report.order.cost:.2f} attempts each"
    assert now.startswith(f"{100 * log.success.sum() / log.requests:.1f} % of requests succeed")
    assert order_in_words(log.verdict(costs=[1, 2]).order)[0].endswith(" of cost each")
    timed = replace(log, seconds=np.where(log.option == log.number_of("a"), 2.0, 0.5))
    best, now = order_in_words(timed.verdict().order)
    assert re.search(r"with 1\.\d\d attempts and 2\.\d+ seconds each$", best)
    assert re.search(r"with 1\.\d\d attempts and 1\.\d+ seconds each$", now)
    assert re.search(r"with [\d.]+ seconds each$", order_in_words(timed.verdict(costs="seconds").order)[0])


def priced(requests=900, **columns):
    log = log_of([0.9, 0.5], requests)
    return replace(log, **{name: np.where(log.option == log.number_of("a"), 2.0, 0.5) for name in columns})


def test_costs_and_seconds_are_tables_of_their_own():
    assert prices_tables(priced().verdict()) == []
    (headings, rows), (of_time, _) = prices_tables(priced(cost=True, seconds=True).verdict())
    assert headings == ["option", "cost", "(95 % limits)", "works per cost", "(95 % limits)"]
    assert of_time == ["option", "seconds", "(95 % limits)"]
    assert [row[0] for row in rows] == ["a", "b"]  # as in all tables, though 0.45 successes for a cost of 1 are few
    assert rows[1][1] == "0.5"
    ((headings, rows),) = prices_tables(priced(seconds=True).verdict(costs="seconds"))
    assert headings == ["option", "seconds", "(95 % limits)", "works per second", "(95 % limits)"]
    ((_, rows),) = prices_tables(priced().verdict(costs=[2.0, 1.0]))
    assert sorted(row[1:3] for row in rows) == [["1", "given"], ["2", "given"]]
    ((_, rows), _) = prices_tables(priced(60, cost=True, seconds=True).verdict())
    assert {row[2] for row in rows} == {"too few"}


def test_the_caveat_of_prices_says_which_limits_are_not_proved():
    assert prices_caveat(priced(cost=True, seconds=True).verdict()).startswith(
        "Means of first attempts. Limits of costs and of seconds hold for those who begin to look after enough"
    )
    assert "Limits of seconds hold" in prices_caveat(priced(seconds=True).verdict(costs="seconds"))
    late = priced(seconds=True).within(1.0).verdict()
    assert prices_caveat(late) == "Means of first attempts. Seconds count up to the deadline of 1 second."
    assert prices_caveat(priced().verdict(costs=[1, 2])) == "Means of first attempts."


def test_an_order_by_measured_costs_is_said_to_be_another_thing_than_the_verdict():
    report = priced(cost=True).verdict()
    assert (report.verdict.arm, report.order.options, report.order.settled) == ("a", ("b", "a"), 0)
    assert order_caveat(report, report.order) == (
        "It goes by successes for the costs measured, which is an estimate; the verdict does not."
    )
    late = priced(seconds=True).within(1.0).verdict()
    assert "goes on to the next option when the deadline is over" in order_caveat(late, late.order)


def test_an_order_that_takes_options_to_be_independent_says_so_and_if_they_are_not():
    log = log_of([0.9, 0.7, 0.5], 3000, difficulty=0.3)
    every, first = log.verdict(attempts="all"), log.verdict()
    said = order_caveat(every, every.order)
    assert said.endswith(
        "Options are taken to be independent. They fail together here, so less than that will succeed."
    )
    assert order_caveat(first, first.order) == "The first place is decided, the others are estimates."
    short = log_of([0.5, 0.5], 20).verdict()
    assert order_caveat(short, short.order).startswith(
        "All of it is an estimate. Behind failures that the log has hardly"
    )


@pytest.mark.parametrize(("log10", "reached"), [(3.2, "1,585"), (7.5, "1e8")])
def test_how_much_evidence_an_alarm_has(log10, reached):
    alarm = Alarm("drift", "a", log10, 800.0, 3, 1234, Rate(1, 2), Rate(0, 2), "", "")
    assert noticed_in_words(alarm) == (
        f"Noticed at request 1,234; its evidence is {reached}, where 800 is enough for an alarm."
    )


def test_what_was_taken_for_a_success():
    log = replace(Attempts.from_plays([(("a",), "a")]), columns=(("outcome", "code"),))
    assert success_in_words(Attempts.from_plays([(("a",), "a")])) is None
    assert success_in_words(log) == "Taken for a success in code: none of its values."
    many = replace(log, taken_for_success=tuple(str(200 + number) for number in range(8)))
    assert success_in_words(many) == (
        "Taken for a success in code: '200', '201', '202', '203', '204', '205' and 2 more."
    )


def test_options_are_in_one_order_in_all_tables_and_lists():
    log = log_of([0.3, 0.32, 0.31], 200, difficulty=0.0, seed=4)
    report = replace(log, seconds=np.ones(len(log))).verdict()
    by_mean_now = [each.option for each in by_mean(report.estimates)]
    assert by_mean_now != list(log.options)
    assert [each.option for each in missing_by_mean(report)] == [
        option for option in by_mean_now if option in {each.option for each in report.missing}
    ]
    assert len(report.missing) > 1
    ((_, rows),) = prices_tables(report)
    assert [row[0] for row in rows] == by_mean_now


def test_where_options_fail_together_a_table_says_by_how_much():
    report = log_of([0.5, 0.9, 0.7], 3000, difficulty=0.3).verdict()
    headings, rows = offsets_table(report)
    assert len(headings) == len(rows[0])
    assert [row[0] for row in rows] == [each.option for each in by_mean(report.estimates)]
    offset = next(each for each in report.offsets if each.option == rows[0][0])
    assert rows[0][1:4] == [f"{rate.mean:.3f}" for rate in (offset.first, offset.behind, offset.every)]
    assert offset.behind.attempts == offset.every.attempts - offset.first.attempts
    assert offsets_table(log_of([0.5, 0.9], 300).verdict()) is None


def test_an_order_whose_later_place_works_more_often_explains_itself():
    report = log_of([0.5, 0.9, 0.7], 300).verdict()
    said = "so an option may work more often at its own than one before it does"
    places = [Place("b", 0.9, 1.0, 90), Place("c", 0.67, 1.0, 0), Place("a", 0.77, 1.0, 0)]
    assert said in order_caveat(report, replace(report.order, places=tuple(places)))
    places[2] = replace(places[2], success=0.67)
    assert said not in order_caveat(report, replace(report.order, places=tuple(places)))
