"""Verdicts from logs: right as often as stated whoever chose, the same on longer logs, and honest where it is none."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.attempts.deciding import FromQueues, read_with, samples_of
from linkedbandits.attempts.log import Attempts
from linkedbandits.attempts.queues import Queues
from linkedbandits.attempts.race import RaceOnALog
from linkedbandits.attempts.report import in_words
from linkedbandits.intervals import anytime_interval
from linkedbandits.model import Counts
from tests.attempts.test_log import plays


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


def win_stay(means, requests, rng):
    """A logger that stays with what worked and turns to the next after a failure; one attempt a request."""
    now, made = 0, []
    for _ in range(requests):
        worked = rng.random() < means[now]
        made.append(((now,), now if worked else None))
        now = now if worked else (now + 1) % len(means)
    return Attempts.from_plays(made, options=range(len(means)))


def read(log, delta=0.1, which="first"):
    queues = Queues(log, samples_of(log, which))
    return read_with(RaceOnALog(delta, queues.shares), log, FromQueues(queues))


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


@settings(max_examples=25)
@given(plays("abc", most=120), st.integers(1, 120))
def test_what_was_read_of_a_prefix_does_not_change_as_the_log_grows(made, cut):
    """Blocks, bets and evidence, one after the other."""
    for which in ("first", "all"):
        whole = read(Attempts.from_plays(made, options="abc"), which=which)
        part = read(Attempts.from_plays(made[:cut], options="abc"), which=which)
        assert len(part.course) <= len(whole.course)
        for (requests, evidence), (requests_before, evidence_before) in zip(whole.course, part.course, strict=False):
            assert requests == requests_before
            assert np.array_equal(evidence, evidence_before)
        if part.stopped:
            assert (whole.requests, whole.state.arm[0]) == (part.requests, part.state.arm[0])


@pytest.mark.statistical
def test_a_logger_that_stays_with_what_works_misleads_nobody():
    """250 logs of three equal options at delta = 0.1: each is dropped in at most a tenth of them.

    The limit allows five standard errors, so a false alarm has a probability below 1e-6. Were block sizes read from the
    orders that are still to come, which tell what has worked, most runs would drop one.
    """
    dropped = np.zeros(3)
    for seed in range(250):
        log = win_stay([0.5] * 3, 150, np.random.default_rng(seed))
        dropped += ~read(log).state.still_in[0]
    assert (dropped / 250 <= 0.1 + 5 * np.sqrt(0.09 / 250)).all()


def needs_of(log, blocks):
    """What is asked in so many blocks and the one behind them; with the queues as they are then."""
    queues = Queues(log, log.first)
    policy = RaceOnALog(1e-9, queues.shares)
    state = policy.start(1, len(log.options), np.zeros(1, dtype=np.uint64))
    asked = []
    for _ in range(blocks):
        asked.append(state.needs[0].tolist())
        successes = queues.successes(state.needs[0])
        if successes is None:
            return None, queues
        policy.observe(state, Counts(state.needs, successes[np.newaxis]))
    return [*asked, state.needs[0].tolist()], queues


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_what_is_asked_next_does_not_depend_on_what_was_not_read(seed, blocks):
    """Behind the first attempt that was not read, all may come in another order, and what was not read may differ."""
    rng = np.random.default_rng(seed)
    log = win_stay(rng.random(3), 400, rng)
    asked, queues = needs_of(log, blocks)
    if asked is None:
        return
    read_of_each = [np.flatnonzero(log.option == option)[: queues.read[option]] for option in range(3)]
    was_read = np.zeros(len(log), dtype=bool)
    was_read[np.concatenate(read_of_each)] = True
    known = int((~was_read).argmax()) + 1  # of that attempt it is known which option it was
    behind = np.arange(known, len(log))
    behind = behind[np.lexsort((behind, log.option[behind], ~was_read[behind]))]
    order = np.concatenate([np.arange(known), behind])
    success = np.where(was_read, log.success, ~log.success)[order]
    other = Attempts(log.options, log.request, log.option[order], success)
    assert needs_of(other, blocks)[0] == asked


def test_a_log_of_all_sizes_is_used_nearly_to_its_end():
    """At least nine tenths of what the shortest queue allows, and more of what there is more of."""
    rng = np.random.default_rng(3)
    for shares in ([1, 1, 1, 1], [10, 1, 1], [30, 10, 1]):
        first = rng.choice(len(shares), 4000, p=np.array(shares) / sum(shares))
        log = Attempts.from_plays([((option,), option if rng.random() < 0.5 else None) for option in first])
        done = read(log, delta=1e-9)
        sizes = np.bincount(log.option[log.first])
        used = done.answers.samples_read()
        assert used.sum() >= 0.9 * sizes.size * sizes.min()
        assert (used >= 0.75 * sizes).all()


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


def test_the_order_heeds_what_fails_together():
    """b is second best, and fails where a fails; so c comes second."""
    rng = np.random.default_rng(6)
    made = []
    for _ in range(6000):
        hard, luck = rng.random() < 0.3, rng.random()
        works = {"a": not hard, "b": not hard and luck < 0.95, "c": rng.random() < 0.5}
        order = tuple(np.array(["a", "b", "c"])[rng.permutation(3)].tolist())
        made.append((order, next((option for option in order if works[option]), None)))
    log = Attempts.from_plays(made, options="abc")
    order = log.verdict().order
    assert order.options == ("a", "c", "b")
    assert not order.as_if_independent
    assert order.success == pytest.approx(0.85, abs=0.02)
    assert order.cost == pytest.approx(1 + 0.3 + 0.15, abs=0.03)
    assert order.success_now == pytest.approx(0.85, abs=0.02)
    assert log.verdict(attempts="all").order.as_if_independent


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


@pytest.mark.statistical
def test_limits_hold_at_all_times_together():
    """500 rows of 400 coins: at some time outside in at most 5 %; five standard errors more are allowed."""
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(500):
        successes = 0
        sums = np.cumsum(rng.random(400) < 0.3)
        looks = np.unique(np.geomspace(1, 400, 15).astype(int))
        for samples in looks:
            successes = int(sums[samples - 1])
            low, high = anytime_interval(successes, int(samples))
            if not low <= 0.3 <= high:
                outside += 1
                break
    assert 0 < outside / 500 <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("successes", "samples"), [(0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (3, 9)])
def test_limits_are_where_the_likelihood_is_a_twentieth_of_its_average(successes, samples):
    from scipy.special import betaln, xlog1py, xlogy

    low, high = anytime_interval(successes, samples)
    for limit in (low, high):
        if 0 < limit < 1:
            likelihood = xlogy(successes, limit) + xlog1py(samples - successes, -limit)
            average = betaln(successes + 1, samples - successes + 1)
            assert average - likelihood == pytest.approx(math.log(20), rel=2e-3)
    assert low <= successes / samples <= high


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "3 seconds"), (90, "2 minutes"), (5400, "2 hours"), (4e7, "463 days")]
)
def test_times_are_for_people(seconds, words):
    assert in_words(seconds) == words
