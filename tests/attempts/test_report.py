"""Verdicts from logs: right as often as stated whoever chose, the same on longer logs, and honest where it is none."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.attempts import Attempts
from linkedbandits.attempts import report as report_module
from linkedbandits.attempts.report import in_words
from tests.support.logs import log_of


def shuffled(means, requests, seed, options=None):
    """Chains in random orders, independent options."""
    rng = np.random.default_rng(seed)
    labels = options or tuple(f"option {number}" for number in range(len(means)))
    made = []
    for order in (rng.permutation(len(means)) for _ in range(requests)):
        works = rng.random(len(means)) < means
        hit = next((option for option in order if works[option]), None)
        made.append((tuple(labels[option] for option in order), None if hit is None else labels[hit]))
    return Attempts.from_plays(made, options=labels)


@pytest.mark.parametrize("which", ["first", "duels", "all"])
def test_a_long_log_has_a_verdict(which):
    report = shuffled([0.3, 0.8, 0.5], 1500, seed=1).verdict(delta=0.05, attempts=which)
    assert report.verdict.arm == "option 1"
    assert (report.verdict.status, report.verdict.error_bound) == ("confident", 0.05)
    assert report.verdict.plays <= 1500
    assert report.verdict.assumes == (("independent options",) if which == "all" else ())
    assert report.missing == ()
    assert report.sentence.startswith("option 1 works most often, wrong with probability at most 0.05")
    assert report.order.options[0] == "option 1"
    assert report.order.settled == 1


@pytest.mark.parametrize("which", ["first", "duels", "all"])
def test_a_short_log_says_what_is_missing(which):
    report = shuffled([0.5, 0.55], 60, seed=1).verdict(delta=0.05, attempts=which)
    assert report.verdict is None
    assert report.missing
    assert all(each.samples > 0 and 0 < each.requests < math.inf for each in report.missing)
    assert report.sentence.startswith("Not yet: the log does not decide which option works most often.")
    assert "more requests are missing" in report.sentence


def test_any_policy_that_asks_for_needs_reads_a_log():
    log = shuffled([0.2, 0.9, 0.5], 4000, seed=2)
    told = lb.LinkedLead(0.05, lift=0.3)
    for policy in (
        lb.LinkedElimination(0.05),
        told,
        lb.LilUCB(0.05),
        lb.LinkedTrackAndStop(0.05),
    ):
        assert log.verdict(policy).verdict.arm == "option 1"
    assert log.verdict(told).verdict.assumes == ("told difference",)


def test_what_cannot_be_answered_is_refused_with_the_remedy():
    log = shuffled([0.2, 0.9], 20, seed=2)
    with pytest.raises(lb.InvalidAttempts, match="use attempts='duels' for LinkedDuels"):
        log.verdict(lb.LinkedDuels(0.05))
    with pytest.raises(lb.InvalidAttempts, match="answers pairs alone"):
        log.verdict(lb.LinkedElimination(0.05), attempts="duels")
    with pytest.raises(lb.InvalidParameter, match="none of 'first', 'duels' and 'all'"):
        log.verdict(attempts="every")
    with pytest.raises(lb.InvalidParameter, match="leave out the costs"):
        log.verdict(attempts="duels", costs=[1, 2])
    with pytest.raises(lb.InvalidParameter, match="costs are the policy's"):
        log.verdict(lb.LinkedElimination(0.05), costs=[1, 2])
    with pytest.raises(lb.InvalidParameter, match="delta"):
        log.verdict(delta=2)
    with pytest.raises(lb.InvalidAttempts, match="the log has 1 option; to choose takes two"):
        Attempts.from_plays([(("a",), None)]).verdict()
    alone = Attempts(log.options, log.request, log.option, log.success)
    with pytest.raises(lb.InvalidAttempts, match="a row a request, with its options in order"):
        alone.verdict(attempts="duels")


def test_with_costs_the_option_with_most_successes_per_cost_is_named():
    log = shuffled([0.5, 0.9], 3000, seed=4)
    assert log.verdict(costs=[1, 1]).verdict.arm == "option 1"
    report = log.verdict(costs=[1, 5])
    assert report.verdict.arm == "option 0"
    assert "has most successes per cost" in report.sentence


def test_in_one_fixed_order_all_attempts_decide_nothing_without_the_users_word():
    rng = np.random.default_rng(5)
    made = []
    for _ in range(800):
        works = rng.random(2) < (0.3, 0.9)
        made.append((("a", "b"), "a" if works[0] else "b" if works[1] else None))
    log = Attempts.from_plays(made)
    doubtful = log.verdict(attempts="all")
    assert doubtful.verdict is None
    assert any("always tried in one order" in note and "If they are, b is the best." in note for note in doubtful.notes)
    assert log.verdict(attempts="all", independent=True).verdict.arm == "b"
    first = log.verdict()
    assert first.verdict is None
    assert any(note.startswith("Never tried first: b.") for note in first.notes)
    assert "no first attempts of b" in first.sentence


def test_the_report_is_json():
    for log in (shuffled([0.3, 0.8], 400, seed=1), shuffled([0.3, 0.31], 40, seed=1)):
        data = json.loads(json.dumps(log.verdict().to_json(), allow_nan=False))
        assert data["requests"] == log.requests
        assert [each["option"] for each in data["estimates"]] == list(log.options)
        assert (data["verdict"] is None) == (log.requests == 40)


def test_an_empty_log_has_nothing_to_say():
    report = Attempts.from_plays([], options="ab").verdict()
    assert report.verdict is None
    assert report.order is None
    assert [each.mean for each in report.estimates] == [None, None]


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "3 seconds"), (90, "2 minutes"), (5400, "2 hours"), (4e7, "463 days")]
)
def test_times_are_for_people(seconds, words):
    assert in_words(seconds) == words


def test_duels_are_refused_where_the_second_option_is_known_of_some_requests_alone():
    """Those that show it are then chosen by how they ended."""
    known = shuffled([0.5, 0.7], 300, seed=1)
    second = known.second.copy()
    second[known.success[known.first] & (known.option[known.first] == 1)] = -1
    with pytest.raises(lb.InvalidAttempts, match="offered second on every request"):
        Attempts(known.options, known.request, known.option, known.success, second).verdict(attempts="duels")


def test_the_sentence_says_what_the_policy_looks_for():
    log = shuffled([0.9, 0.8, 0.1], 4000, seed=2)
    two = log.verdict(lb.LinkedElimination(0.05, k=2))
    assert "option 0 and option 1 are the 2 that work most often" in two.sentence.replace(
        "option 1 and option 0", "option 0 and option 1"
    )
    assert two.order.settled == 0
    near = log.verdict(lb.LinkedElimination(0.05, epsilon=0.3))
    assert "is within 0.3 of what works most often" in near.sentence
    told = log.verdict(lb.LinkedLead(0.05, gap=0.05))
    assert "if it is ahead by as much as was told" in told.sentence
    assert any("ahead of every other by at least 0.05" in note for note in told.notes)


def test_a_stray_request_does_not_make_one_order_many():
    made = [(("a", "b"), "b")] * 300
    assert Attempts.from_plays([*made, (("b", "a"), None)]).in_one_order
    assert not Attempts.from_plays([*made, *[(("b", "a"), None)] * 10]).in_one_order


def test_where_dependence_is_found_it_is_said_how_far_off_all_attempts_are():
    rng = np.random.default_rng(3)
    made = []
    for _ in range(3000):
        hard = rng.random() < 0.4
        order = ("a", "b") if rng.random() < 0.5 else ("b", "a")
        works = {option: not hard and rng.random() < 0.9 for option in order}
        made.append((order, next((option for option in order if works[option]), None)))
    report = Attempts.from_plays(made, options="ab").verdict()
    assert [alarm.kind for alarm in report.alarms] == ["dependence", "dependence"]
    assert [each.option for each in report.offsets] == ["a", "b"]
    assert all(each.difference < -0.05 for each in report.offsets)
    assert sum(" first ones: -0." in note for note in report.notes) == 2


def test_alarms_that_are_no_matter_for_the_verdict_are_not_shown_as_alarms():
    rng = np.random.default_rng(3)
    made = []
    for _ in range(3000):
        hard = rng.random() < 0.4
        order = ("a", "b") if rng.random() < 0.5 else ("b", "a")
        works = {option: not hard and rng.random() < 0.9 for option in order}
        made.append((order, next((option for option in order if works[option]), None)))
    log = Attempts.from_plays(made, options="ab")
    first, every = log.verdict(), log.verdict(attempts="all", independent=True)
    assert "no alarms" in repr(first)
    assert "2 alarms (dependence)" in repr(every)
    for shown in (str, lambda report: report._repr_html_()):
        assert "Alarm: " not in shown(first)
        assert "does not touch a verdict from first attempts" in shown(first)
        assert first.alarms[0].sentence.split("'")[-1] in shown(first)
        assert shown(every).count("Alarm: ") == 2


@pytest.mark.parametrize(
    ("policy", "looked_for"),
    [
        (lb.LinkedElimination(0.05, k=2), "which 2 options work most often"),
        (lb.LinkedElimination(0.05, epsilon=0.01), "on an option within 0.01 of what works most often"),
        (lb.LinkedElimination(0.05, neighbours=1), "on an option within 1 place of what works most often"),
        (lb.LinkedElimination(0.05), "which option works most often"),
    ],
)
def test_where_it_is_not_yet_time_it_is_said_what_is_looked_for(policy, looked_for):
    report = shuffled([0.5] * 6, 40, seed=1).verdict(policy)
    assert report.sentence.startswith(f"Not yet: the log does not decide {looked_for}. ")


def test_where_costs_are_on_record_the_order_goes_by_success_per_cost():
    log = shuffled([0.8, 0.7], 3000, seed=5)
    cost = np.where(log.option == 0, 100.0, 1.0)
    report = Attempts(log.options, log.request, log.option, log.success, log.second, cost=cost).verdict()
    assert report.verdict.arm == "option 0"
    assert (report.order.options, report.order.settled) == (("option 1", "option 0"), 0)
    assert report.order.cost < report.order.cost_now


def test_a_second_test_that_decides_is_said_to():
    """The service turns from one option to the other: the race has to wait for the first."""
    rng = np.random.default_rng(4)
    made = [((option,), option if rng.random() < (0.9, 0.4)[option] else None) for option in [0, 1] * 8]
    made += [((0,), 0 if rng.random() < 0.9 else None) for _ in range(400)]
    made += [((1,), 1 if rng.random() < 0.4 else None) for _ in range(400)]
    report = Attempts.from_plays(made).verdict()
    assert report.verdict.arm == 0
    if any("uses all samples" in note for note in report.notes):
        assert [each.still_in for each in report.estimates] == [True, False]


@pytest.mark.parametrize("costs", [(), (1.0, 2.0)])
def test_the_two_tests_share_delta(costs, monkeypatch):
    """What the race has and what the second test has add up to delta; with costs there is no second test."""
    spent = []
    whole = {"read_with": report_module.read_with, "decided_by_all_samples": report_module.decided_by_all_samples}

    def race(policy, *others):
        spent.append(1 / policy._enough(2))
        return whole["read_with"](policy, *others)

    def second(queues, delta):
        spent.append(delta)
        return whole["decided_by_all_samples"](queues, delta)

    monkeypatch.setattr(report_module, "read_with", race)
    monkeypatch.setattr(report_module, "decided_by_all_samples", second)
    shuffled([0.5, 0.6], 40, seed=1).verdict(delta=0.04, costs=costs)
    assert len(spent) == (1 if costs else 2)
    assert sum(spent) == pytest.approx(0.04)


def test_an_answer_without_a_guarantee_is_called_that():
    log = lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "a")] * 200)
    report = log.verdict(lb.UniformSampling(samples=50))
    assert not report.proved
    assert report.sentence == (
        "a is the answer of the policy, without a guarantee (it stopped after 100 of 400 requests)."
    )
    assert report.order.settled == 0
    assert report.to_json()["sentence"] == report.sentence
    assert log.verdict().proved


def test_costs_by_a_word_that_is_none_are_refused():
    log = log_of([0.9, 0.5], 50)
    with pytest.raises(lb.InvalidParameter, match="costs='minutes' are no numbers"):
        log.verdict(costs="minutes")
    with pytest.raises(lb.InvalidAttempts, match="does not say how long"):
        log.verdict(costs="seconds")


def test_measured_costs_are_in_the_data():
    log = log_of([0.9, 0.5], 500)
    log = replace(log, cost=np.where(log.option == 0, 2.0, 0.5), seconds=np.ones(len(log)))
    data = log.verdict().to_json()
    first = data["estimates"][0]
    assert first["cost"] == {"mean": 2.0, "low": 2.0, "high": 2.0, "proved": False}
    assert first["seconds"]["mean"] == 1.0
    assert first["success_per_cost"]["low"] < first["mean"] / 2 < first["success_per_cost"]["high"]
    assert (data["order"]["unit"], data["order"]["seconds_now"]) == ("cost", pytest.approx(len(log) / 500))
    json.dumps(data)


def test_a_report_prints_its_answer_and_not_its_log():
    report = shuffled([0.3, 0.8], 1500, seed=1).verdict(delta=0.05)
    assert repr(report) == f"Report(1,500 requests, 2 options, no alarms, 0 notes: {report.sentence})"
    drifted = Attempts.from_plays([(("a", "b"), "a")] * 300 + [(("a", "b"), "b")] * 300).verdict()
    against = [alarm.kind for alarm in drifted.alarms if alarm.kind in ("drift", "memory")]
    assert f"{len(against)} alarms ({', '.join(dict.fromkeys(against))})" in repr(drifted)
    assert "drift" in against


def test_in_a_notebook_a_report_is_a_table_with_what_speaks_against_it():
    log = Attempts.from_plays([(("<script>", "b"), "<script>")] * 300 + [(("<script>", "b"), "b")] * 300)
    report = log.verdict()
    html = report._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert f">{report.estimates[0].low:.3g} - {report.estimates[0].high:.3g}<" in html
    assert html.count("Alarm: ") == sum(alarm.kind in ("drift", "memory") for alarm in report.alarms) > 0
    assert "Never tried first: b." in html


def test_the_picture_of_a_report_has_its_options_and_the_course_of_evidence(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    report = shuffled([0.3, 0.8], 300, seed=1).verdict(delta=0.05)
    figure = report.plot()
    known, course = figure.axes
    assert [label.get_text() for label in known.get_yticklabels()] == ["option 0", "option 1"]
    assert [list(line.get_xdata()) for line in known.get_lines()[1:4:2]] == [[each.mean] for each in report.estimates]
    assert list(course.get_lines()[0].get_xdata()) == [requests for requests, _ in report.course]
    assert course.get_lines()[-1].get_ydata()[0] == pytest.approx(math.log10(20))
    for ending in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"report.{ending}")
        assert (tmp_path / f"report.{ending}").stat().st_size > 1000
    assert report.plot(ax=known) is known
    assert len(replace(report, course=()).plot().axes) == 1
    assert len(replace(report, delta=None).plot().axes) == 1


def test_estimates_of_a_report_as_a_frame():
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    log = shuffled([0.3, 0.8], 200, seed=1)
    report = log.verdict()
    frame = report.to_polars()
    first = report.estimates[0]
    assert frame["option"].to_list() == ["option 0", "option 1"]
    assert frame.to_dicts()[0] == {name: getattr(first, name) for name in frame.columns}
    assert "cost" not in frame.columns
    costly = replace(log, cost=np.full(len(log), 2.0)).verdict().to_polars()
    assert costly["cost"].to_list() == [2.0, 2.0]
    assert {"cost_low", "cost_high", "success_per_cost", "success_per_cost_low"} <= set(costly.columns)


@pytest.mark.parametrize(
    ("attempts", "instead"), [("first", r"LinkedElimination\(0.05\), or none"), ("duels", r"LinkedDuels\(0.05\)")]
)
def test_what_is_no_policy_is_refused_and_one_for_what_is_read_suggested(attempts, instead):
    log = Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "a")])
    with pytest.raises(lb.InvalidParameter, match=f"'linked-duels' is no policy; pass one such as {instead}"):
        log.verdict("linked-duels", attempts=attempts)


def test_names_that_differ_in_case_are_said_once_in_the_text():
    log = Attempts.from_rows([(n, ("a", "A")[n % 2], n % 2) for n in range(8)], columns=["request", "option", "ok"])
    said = "'a' and 'A' differ only in case, and are two options"
    report = log.verdict()
    assert said in report.sentence
    assert sum(said in note for note in report.notes) == 1
    assert str(report).count(said) == 1
