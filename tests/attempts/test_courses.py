"""Evidence on logs: by its definition, by exact enumeration of all that can happen, and the same in every beginning."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts import courses as module
from linkedbandits.attempts.courses import (
    KINDS,
    courses,
    dependence_evidence,
    drift_evidence,
    every_option,
    grid,
    likeliest_changes,
    log_best_mean,
    log_evidence_of_drift,
    looks_within,
    memory_evidence,
    one_option,
    position_evidence,
)
from linkedbandits.joint_worlds import SharedDifficulty
from tools import logs

CHANCES = (0.0, 0.05, 0.2, 0.5, 0.7, 0.95, 1.0)


def log_of_chains(chains, options=3):
    """A log from ((options tried, did the last one work), ...)."""
    request = [number for number, (tried, _) in enumerate(chains) for _ in tried]
    option = [arm for tried, _ in chains for arm in tried]
    success = [place == len(tried) - 1 and hit for tried, hit in chains for place in range(len(tried))]
    return Attempts(
        tuple("abcdef"[:options]),
        np.array(request, dtype=np.int32),
        np.array(option, dtype=np.int32),
        np.array(success, dtype=np.bool_),
    )


def beginning(log, requests):
    """The log as it was after so many requests."""
    kept = log.request < requests
    return Attempts(log.options, log.request[kept], log.option[kept], log.success[kept])


def some_log(requests=400, seed=0, options=4):
    rng = np.random.default_rng(seed)
    law = SharedDifficulty(np.linspace(0.2, 0.5, options), 0.4)
    return logs.log_of(logs.outcomes(law, requests, rng), logs.shuffled(requests, options, rng))


# --------------------------------------------------------------------------------------------------- by its definition


def marginal(outcomes):
    """KT, one prediction after the other."""
    product, seen = Fraction(1), [0, 0]
    for outcome in outcomes:
        product *= (seen[outcome] + Fraction(1, 2)) / (sum(seen) + 1)
        seen[outcome] += 1
    return product


def best_mean(outcomes):
    worked, tried = sum(outcomes), len(outcomes)
    return Fraction(worked, max(tried, 1)) ** worked * Fraction(tried - worked, max(tried, 1)) ** (tried - worked)


def evidence_of(groups):
    """Of lists of outcomes."""
    top = Fraction(1)
    for group in groups:
        top *= marginal(group)
    return top / best_mean([outcome for group in groups for outcome in group])


def chains_of(log):
    """For each attempt: the option, the options that failed before it, and its outcome."""
    failed: list[int] = []
    before = -1
    for request, option, success in zip(log.request.tolist(), log.option.tolist(), log.success.tolist(), strict=True):
        failed = failed if request == before else []
        yield option, tuple(failed), int(success)
        failed = [*failed, option]
        before = request


def last(evidence):
    return float(np.exp(evidence[1][-1]))


LOG = beginning(some_log(60), 49)  # so few that every number of attempts is looked at


@pytest.mark.parametrize("number", range(4))
def test_dependence_is_what_it_is_defined_to_be(number):
    first = [success for option, failed, success in chains_of(LOG) if option == number and not failed]
    behind = [(failed[0], success) for option, failed, success in chains_of(LOG) if option == number and failed]
    others = [other for other in range(4) if other != number]
    expected = Fraction(1, 2) * evidence_of([first, [success for _, success in behind]])
    for other in others:
        expected += Fraction(1, 6) * evidence_of([first, [success for begun, success in behind if begun == other]])
    assert last(dependence_evidence(one_option(LOG, number))) == pytest.approx(float(expected))


@pytest.mark.parametrize("number", range(4))
def test_memory_is_what_it_is_defined_to_be(number):
    first = [success for option, failed, success in chains_of(LOG) if option == number and not failed]
    groups = [[now for then, now in itertools.pairwise(first) if then == outcome] for outcome in (0, 1)]
    assert last(memory_evidence(one_option(LOG, number))) == pytest.approx(float(evidence_of(groups)))


@pytest.mark.parametrize("table", [1, module.TABLE], ids=["set by set", "at once"])
@pytest.mark.parametrize("number", range(4))
def test_position_is_what_it_is_defined_to_be(number, table, monkeypatch):
    monkeypatch.setattr(module, "FEWEST_OF_SET", 3)
    monkeypatch.setattr(module, "TABLE", table)
    behind = [(failed, success) for option, failed, success in chains_of(LOG) if option == number]
    expected = 0.0
    for size, weight in ((2, 0.5 / 3), (3, 0.25)):
        for failed in itertools.combinations([other for other in range(4) if other != number], size):
            groups = [
                [success for order, success in behind if order == wanted] for wanted in itertools.permutations(failed)
            ]
            seen = [group for group in groups if group]
            if len(seen) > 1 and sum(map(len, seen)) >= 3:
                expected += weight * float(evidence_of(seen))
    assert expected > 0
    assert last(position_evidence(one_option(LOG, number))) == pytest.approx(expected)


def test_drift_is_what_it_is_defined_to_be():
    outcomes = (np.random.default_rng(1).random(14) < np.repeat([0.9, 0.2], 7)).astype(int).tolist()
    cuts, every = [2, 4, 6, 8, 10, 12], grid()[1::2].size
    expected = Fraction(0)
    for changes, share in ((1, Fraction(1, 2)), (2, Fraction(1, 4)), (3, Fraction(1, 4))):
        for chosen in itertools.combinations(cuts, changes):
            parts = [outcomes[start:end] for start, end in itertools.pairwise([0, *chosen, 14])]
            expected += share / comb(every, changes) * evidence_of(parts)
    found = log_evidence_of_drift(np.array(outcomes, dtype=bool), looks_within(14))
    assert np.exp(found[-1]) == pytest.approx(float(expected))


def test_the_grid_is_dense_enough_and_ends_where_logs_end():
    assert grid()[:50].tolist() == list(range(1, 51))
    assert (np.diff(grid()) <= np.maximum(0.02 * grid()[:-1] + 1, 1)).all()
    assert 2**31 / 1.03 < grid()[-1] < 2**31
    assert looks_within(0).size == 0
    assert looks_within(52).tolist()[-1] == 51


# ------------------------------------------------------------------------ the worst that routing and stopping can make


def worst_mean(history, steps, evidence, chance, choices):
    """The mean of the evidence, if one stops and chooses as is worst at every step, knowing all that has happened.

    A choice is what can happen next, as (chance, what happened) for a given mean.
    """
    now = evidence(history)
    if len(history) == steps:
        return now
    going_on = max(
        sum(p * worst_mean((*history, happened), steps, evidence, chance, choices) for p, happened in choice if p > 0)
        for choice in choices(chance)
    )
    return max(now, going_on)


def mean_of(evidence_of_log, number, options=3):
    """The evidence of a history of chains."""

    @cache
    def evidence(history):
        if not history:
            return 0.0
        _, values = evidence_of_log(one_option(log_of_chains(history, options), number))
        return float(np.exp(values[-1])) if values.size else 0.0

    return evidence


def alone(chance):
    """One option."""
    return [[(chance, ((0,), True)), (1 - chance, ((0,), False))]]


def first_or_second(chance, other=0.5):
    """Two options, in either order; the first of them is the one that is watched."""
    own_first = [
        (chance, ((0,), True)),
        ((1 - chance) * other, ((0, 1), True)),
        ((1 - chance) * (1 - other), ((0, 1), False)),
    ]
    own_second = [
        (other, ((1,), True)),
        ((1 - other) * chance, ((1, 0), True)),
        ((1 - other) * (1 - chance), ((1, 0), False)),
    ]
    return [own_first, own_second]


def third(chance):
    """Two options that fail, in either order, and then the one that is watched."""
    return [[(chance, ((*failed, 2), True)), (1 - chance, ((*failed, 2), False))] for failed in ((0, 1), (1, 0))]


@pytest.mark.parametrize(
    ("evidence", "number", "choices", "steps"),
    [
        (drift_evidence, 0, alone, 8),
        (memory_evidence, 0, alone, 9),
        (dependence_evidence, 0, first_or_second, 4),
        (position_evidence, 2, third, 5),
    ],
    ids=["drift", "memory", "dependence", "position"],
)
def test_no_routing_and_no_stopping_time_makes_the_mean_of_the_evidence_larger_than_1(
    evidence, number, choices, steps, monkeypatch
):
    """Enumerated: over all outcomes, the worst choice and the worst time to stop after each."""
    monkeypatch.setattr(module, "FEWEST_OF_SET", 1)
    monkeypatch.setattr(module, "grid", lambda: np.arange(1, 10))  # so that each cut has much weight
    of_history = mean_of(evidence, number)
    worst = [worst_mean((), steps, of_history, chance, choices) for chance in CHANCES]
    assert max(worst) <= 1 + 1e-9
    assert max(worst) > 0.2  # there is something to see: the bound is not kept by evidence that never comes


def test_the_enumeration_would_notice_too_small_a_denominator(monkeypatch):
    """The marginal instead of the best mean is a likelihood of no mean in particular."""
    monkeypatch.setattr(module, "log_best_mean", module.log_marginal)
    of_history = mean_of(memory_evidence, 0)
    assert max(worst_mean((), 9, of_history, chance, alone) for chance in CHANCES) > 1.05


def test_weights_add_up_to_at_most_1():
    changes = [np.exp(module._log_weight(number)) * comb(grid()[1::2].size, number) for number in (1, 2, 3)]
    assert sum(changes) == pytest.approx(1)
    assert module.dependence_weights(7).sum() == pytest.approx(1)
    option = one_option(some_log(3000, options=5), 0)
    assert module.position_groups(option).weights.sum() == pytest.approx(0.75)  # all sets of two and of three are seen


# ------------------------------------------------------------------------------------------------------------- courses


def test_every_kind_and_option_has_a_course_that_goes_with_the_log():
    log = some_log()
    found = courses(log)
    assert [(course.kind, course.option) for course in found] == [(kind, name) for kind in KINDS for name in "abcd"]
    for course in found:
        assert course.request.size == course.log10_evidence.size > 0
        assert (np.diff(course.request) > 0).all()
        assert course.request[-1] < log.requests
        assert (course.highest[1:] >= course.highest[:-1]).all()
        assert (course.highest >= course.log10_evidence).all()
        assert course.highest[-1] == course.log10_evidence.max()


@pytest.mark.parametrize("requests", [0, 1, 17, 500, 2000, 2999])
def test_the_course_of_a_beginning_is_the_beginning_of_the_course(requests):
    log = some_log(3000, seed=3)
    for early, whole in zip(courses(beginning(log, requests)), courses(log), strict=True):
        seen = int(np.searchsorted(whole.request, requests))
        assert early.request.tolist() == whole.request[:seen].tolist()
        assert np.allclose(early.log10_evidence, whole.log10_evidence[:seen], rtol=0, atol=1e-12)


def test_it_does_not_matter_how_many_attempts_are_counted_together(monkeypatch):
    log = some_log(500, seed=6)
    at_once = courses(log)
    monkeypatch.setattr(module, "BLOCK", 7)
    for one, other in zip(at_once, courses(log), strict=True):
        assert one.log10_evidence.tolist() == other.log10_evidence.tolist()


def test_a_set_of_failures_counts_when_it_was_seen_in_two_orders():
    chains = [((0, 1, 2), True)] * 30 + [((1, 0, 2), False)] * 30
    _, evidence = position_evidence(one_option(log_of_chains(chains), 2))
    assert np.isneginf(evidence[:30]).all()
    assert np.isfinite(evidence[30:]).all()
    assert evidence[-1] > 20


def test_attempts_of_each_option_are_found_with_what_came_before_them():
    log = some_log(300, seed=4)
    expected = [(option, failed, success) for option, failed, success in chains_of(log)]
    for option in every_option(log):
        own = [(failed, success) for number, failed, success in expected if number == option.number]
        assert option.place.tolist() == [len(failed) for failed, _ in own]
        assert option.success.tolist() == [bool(success) for _, success in own]
        assert option.begun_by.tolist() == [failed[0] if failed else option.number for failed, _ in own]
        which, failed = option.behind(2)
        assert failed.tolist() == [list(own[at][0]) for at in which.tolist()]


def test_more_options_than_fit_into_small_numbers():
    rng = np.random.default_rng(0)
    log = logs.log_of(
        logs.outcomes(np.full(300, 0.3), 200, rng), logs.shuffled(200, 300, rng), [f"option {i}" for i in range(300)]
    )
    same = [one_option(log, number).at.tolist() for number in range(300)]
    assert [option.at.tolist() for option in every_option(log)] == same


@pytest.mark.parametrize("changes", [(700,), (700, 1500), (400, 900, 2000)])
def test_changes_are_found_where_they_are(changes):
    rng = np.random.default_rng(5)
    edges = [0, *changes, 3000]
    chances = np.repeat([0.9, 0.2, 0.8, 0.1][: len(edges) - 1], np.diff(edges))
    found = likeliest_changes(rng.random(3000) < chances)
    assert len(found) == len(changes)
    assert np.allclose(found[:-1], changes[:-1], rtol=0.05)
    assert abs(found[-1] - changes[-1]) <= 10


def test_a_change_is_found_to_the_attempt_where_it_is_clear():
    for at in (3, 57, 1000, 1999):
        assert likeliest_changes(np.arange(2000) < at) == (at,)
    assert likeliest_changes(np.zeros(0, dtype=bool)) == ()
    assert likeliest_changes(np.ones(1, dtype=bool)) == ()


def test_the_best_mean_of_nothing_is_sure():
    assert log_best_mean([0, 5], [0, 0]).tolist() == [0.0, 0.0]
