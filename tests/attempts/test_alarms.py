"""Alarms: each is raised by what it is for, seldom by chance, and says what is the matter."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.alarms import REMEDIES, Rate, level, numbered, offsets, unchecked, watch
from linkedbandits.attempts.courses import KINDS, courses
from linkedbandits.errors import InvalidParameter
from linkedbandits.joint_worlds import SharedDifficulty
from tools import logs

MEANS = np.array([0.5, 0.6, 0.7, 0.8])


def log_with(*parts, orders=None, seed=0, options=None):
    """Options that follow one law after another, in shuffled orders unless others are given."""
    rng = np.random.default_rng(seed)
    would = np.concatenate([logs.outcomes(law, requests, rng) for law, requests in parts])
    orders = logs.shuffled(*would.shape, rng) if orders is None else orders
    return logs.log_of(would, orders, options)


def with_drift(seed=0):
    return log_with((MEANS, 6000), ([0.5, 0.6, 0.7, 0.6], 6000), seed=seed)


def with_dependence(seed=0):
    return log_with((SharedDifficulty(MEANS, 0.3), 12_000), seed=seed)


def with_position(seed=0):
    """Option c works half as often behind failures of b and a as behind those of a and b."""
    rng = np.random.default_rng(seed)
    orders = logs.shuffled(20_000, 4, rng)
    would = logs.outcomes([0.3, 0.3, 0.6, 0.4], 20_000, rng)
    behind = (orders[:, :3] == (1, 0, 2)).all(axis=1)
    would[behind, 2] &= rng.random(int(behind.sum())) < 0.4
    return logs.log_of(would, orders)


def with_memory(seed=0):
    """Option a remembers its last first attempt."""
    rng = np.random.default_rng(seed)
    orders = logs.shuffled(12_000, 4, rng)
    would = logs.outcomes(MEANS, 12_000, rng)
    begins = orders[:, 0] == 0
    would[begins, :1] = logs.with_memory(0.8, 0.5, int(begins.sum()), rng)
    # Where it is not the first it does what it does on average, so that place and dependence have no part in it.
    would[~begins, 0] = rng.random(int((~begins).sum())) < would[begins, 0].mean()
    return logs.log_of(would, orders)


CAUSES = {"drift": with_drift, "dependence": with_dependence, "position": with_position, "memory": with_memory}


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_raised_by_its_cause_and_by_no_other(kind):
    """Five fixed logs each. Evidence lies far above its level, so missing an alarm has a chance below 1e-4; a false one
    of another kind at most 0.01 in each log, except that drift can look like memory."""
    for seed in range(5):
        assert {alarm.kind for alarm in watch(CAUSES[kind](seed))} == {kind}


@pytest.mark.statistical
@pytest.mark.parametrize("orders", ["one order", "shuffled", "win-stay", "epsilon-greedy"])
@pytest.mark.parametrize("means", [MEANS, (0.01, 0.03, 0.02), (0.99, 0.97, 0.999)], ids=["middle", "near 0", "near 1"])
def test_clean_logs_are_silent(orders, means):
    """60 logs in a cell at alpha 0.05. With at most 0.05 false alarms a log, more than 10 have a chance of 1.5e-4."""
    rng = np.random.default_rng(9)
    would = np.stack([logs.outcomes(means, 300, rng) for _ in range(60)])
    if orders == "one order":
        chosen = np.stack([logs.fixed(300, len(means))] * 60)
    elif orders == "shuffled":
        chosen = np.stack([logs.shuffled(300, len(means), rng) for _ in range(60)])
    else:
        chosen = logs.adaptive(would, logs.win_stay if orders == "win-stay" else logs.epsilon_greedy, rng)
    assert sum(bool(watch(logs.log_of(*pair), alpha=0.05)) for pair in zip(would, chosen, strict=True)) <= 10


@pytest.mark.statistical
@pytest.mark.parametrize("ways", ["two changes", "slow"])
def test_drift_that_is_no_single_step_is_found(ways):
    """Fixed logs whose evidence is far above the level: a miss has a chance below 1e-3 each."""
    low = [0.5, 0.6, 0.7, 0.55]
    parts = [(MEANS, 5000), (low, 3000), (MEANS, 5000)]
    if ways == "slow":
        parts = [([0.5, 0.6, 0.7, mean], 100) for mean in np.linspace(0.85, 0.6, 150)]
    alarms = watch(log_with(*parts, seed=4))
    assert {(alarm.kind, alarm.option) for alarm in alarms} == {("drift", "d")}
    if ways == "two changes":
        (alarm,) = alarms
        assert 7700 < alarm.since < 8300
        assert alarm.sentence.startswith(f"Since request {alarm.since:,} 'd' works more often: 0.8")
        assert "it had changed before, at request " in alarm.sentence


def test_a_drop_is_told_in_plain_words():
    log = log_with((MEANS, 6000), ([0.5, 0.6, 0.7, 0.6], 6000), options=["adyen", "braintree", "checkout", "stripe"])
    (alarm,) = watch(log)
    assert (alarm.kind, alarm.option, alarm.level) == ("drift", "stripe", 4 * 4 / 0.01)
    assert 5800 < alarm.since < 6200 < alarm.noticed < 8000
    assert alarm.log10_evidence > np.log10(alarm.level)
    assert (alarm.before.mean, alarm.after.mean) == pytest.approx((0.8, 0.6), abs=0.04)
    first = log.option[log.first] == 3
    assert alarm.before.attempts + alarm.after.attempts == first.sum()
    assert alarm.before.successes + alarm.after.successes == log.success[log.first][first].sum()
    expected = f"Since request {alarm.since:,} 'stripe' works less often: {alarm.after.mean:.2f} instead of "
    assert alarm.sentence == f"{expected}{alarm.before.mean:.2f}."
    assert "part of the log behind the request at which it was noticed" in alarm.remedy
    assert str(alarm) == f"{alarm.sentence} {alarm.remedy}"


def test_a_request_has_its_time_where_the_log_has_times():
    log = log_with((MEANS, 3))
    assert numbered(log, 2) == "2"
    assert numbered(replace(log, time=np.arange(3.0)), 2) == "2"
    dated = replace(log, time=1714521600.0 + np.arange(3))
    assert numbered(dated, 2) == "2 (2024-05-01 00:00:02 UTC)"


def test_dependence_is_told_in_plain_words():
    log = with_dependence()
    alarms = watch(log)
    assert {alarm.option for alarm in alarms} == set("abcd")
    behind = np.diff(log.request, prepend=-1) == 0
    for alarm in alarms:
        assert alarm.after.mean < alarm.before.mean
        assert f"{alarm.option!r} works less often after others have failed: {alarm.after.mean:.2f}" in alarm.sentence
        assert f"instead of {alarm.before.mean:.2f} as the first tried" in alarm.sentence
        assert alarm.since == log.request[behind & (log.option == log.number_of(alarm.option))][0] < alarm.noticed
    assert "duels" in alarms[0].remedy


def test_dependence_on_one_option_is_told_of_that_one():
    """Option c does better where a fails and worse where b does, so that both together show nothing."""
    rng = np.random.default_rng(3)
    easy = rng.random(12_000) < 0.5
    would = np.column_stack(
        [
            rng.random(12_000) < np.where(easy, 0.9, 0.2),
            rng.random(12_000) < np.where(easy, 0.2, 0.9),
            rng.random(12_000) < np.where(easy, 0.2, 0.8),
        ]
    )
    found = {alarm.option: alarm for alarm in watch(logs.log_of(would, logs.shuffled(12_000, 3, rng)))}
    assert " began and failed on: 0." in found["c"].sentence
    begun_by = "a" if "'a' began" in found["c"].sentence else "b"
    assert (found["c"].after.mean > found["c"].before.mean) == (begun_by == "a")


def test_position_names_both_orders():
    (alarm,) = watch(with_position())
    assert alarm.option == "c"
    assert "'b', 'a'" in alarm.sentence
    assert "'a', 'b'" in alarm.sentence
    assert sorted([alarm.before.mean, alarm.after.mean]) == pytest.approx([0.24, 0.6], abs=0.06)


def test_memory_is_told_in_plain_words():
    (alarm,) = watch(with_memory())
    assert (alarm.option, alarm.kind) == ("a", "memory")
    assert (alarm.before.mean, alarm.after.mean) == pytest.approx((0.8, 0.5), abs=0.05)
    assert alarm.sentence.startswith("'a' works less often as the first tried if it failed the time before: 0.")


def test_means_that_are_close_are_told_apart_in_words():
    rng = np.random.default_rng(1)
    would = np.concatenate([logs.outcomes([0.9999], 150_000, rng), logs.outcomes([0.9960], 20_000, rng)])
    (alarm,) = [alarm for alarm in watch(logs.log_of(would, logs.fixed(170_000, 1))) if alarm.kind == "drift"]
    now, then = alarm.sentence.removesuffix(".").split(": ")[1].split(" instead of ")
    assert now != then
    assert now.startswith("0.99")


@pytest.mark.parametrize("kind", KINDS)
def test_alarms_of_a_beginning_are_those_noticed_in_it(kind):
    log = CAUSES[kind]()
    whole = [(alarm.kind, alarm.option, alarm.noticed) for alarm in watch(log)]
    moments = sorted({noticed + late for _, _, noticed in whole for late in (0, 1)} | {0, 1, 5000})
    for requests in moments:
        kept = log.request < requests
        early = Attempts(log.options, log.request[kept], log.option[kept], log.success[kept])
        expected = [key for key in whole if key[2] < requests]
        assert [(alarm.kind, alarm.option, alarm.noticed) for alarm in watch(early)] == expected


def test_the_level_is_shared_by_all_kinds_and_options():
    log = with_drift()
    assert level(log, 0.02) == pytest.approx(4 * 4 / 0.02)
    (alarm,) = watch(log)
    enough = 4 * 4 / 10**alarm.log10_evidence
    assert watch(log, alpha=enough * 1.01)
    assert not watch(log, alpha=enough * 0.99)


def test_alarms_are_those_of_the_courses():
    log = with_dependence()
    reached = {
        (course.kind, course.option): float(course.highest[-1])
        for course in courses(log)
        if 10 ** course.highest[-1] >= level(log, 0.01)
    }
    assert {(alarm.kind, alarm.option): alarm.log10_evidence for alarm in watch(log)} == reached


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, float("nan")])
def test_alpha_is_a_probability(alpha):
    for function in (watch, unchecked):
        with pytest.raises(InvalidParameter, match="alpha"):
            function(log_with((MEANS, 10)), alpha=alpha)


def empty(options=()):
    nothing = np.zeros(0, dtype=np.int32)
    return Attempts(options, nothing, nothing, nothing.astype(bool))


@pytest.mark.parametrize(
    "log",
    [
        empty(),
        empty(("a", "b")),
        Attempts.from_plays([(("a",), "a")]),
        Attempts.from_plays([(("a",), None)]),
        Attempts.from_plays([(("a", "b", "c", "d"), None)]),
        Attempts.from_plays([(("a",), "a")] * 300),
        Attempts.from_plays([(("a",), None)] * 300),
        Attempts.from_plays([(("a", "b"), None), (("b", "a"), None)] * 200),
        Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "b")] * 200, options=["a", "b", "never"]),
        Attempts.from_plays([(("a", "b", "c"), "c")] * 300),
    ],
)
def test_logs_with_little_in_them_raise_nothing(log):
    assert watch(log) == ()
    assert all(sentence.endswith(".") for sentence in unchecked(log))
    assert len(offsets(log)) == len(log.options)


# -------------------------------------------------------------------------------------------------- what is not checked


def test_nothing_is_left_unchecked_in_a_long_shuffled_log():
    assert unchecked(with_drift()) == ()


def test_one_order_cannot_show_dependence_and_says_so():
    log = log_with((SharedDifficulty(MEANS, 0.5), 5000), orders=logs.fixed(5000, 4))
    assert watch(log) == ()
    dependence, never, position = unchecked(log)
    assert "depend on each other could not be checked, as they are always tried in one order" in dependence
    assert "chosen at random, with another option" in dependence
    assert never.startswith("'b', 'c', 'd' were never the first tried")
    assert never.endswith("begin some requests with them.")
    assert "swap the first two options" in position


def test_an_option_tried_too_seldom_is_named():
    plays = [(("a", "b"), "a"), (("b", "a"), "b"), (("a", "b"), "b"), (("b", "a"), "a")] * 100
    log = Attempts.from_plays([*plays, *[(("c", "a"), "c")] * 5, *[(("a", "c"), "c")] * 5])
    dependence, first, _ = unchecked(log)
    assert dependence.startswith("'c' was tried too few times as the first, or behind failures of others")
    assert first.startswith("'c' was the first tried too few times to see whether it drifts or remembers")


def test_what_is_unchecked_never_raises_an_alarm():
    """As bad as can be, one attempt after the other: as soon as there is an alarm it counts as checked."""
    for attempts in range(1, 80):
        log = Attempts.from_plays([(("a",), "a")] * (attempts // 2) + [(("a",), None)] * (attempts - attempts // 2))
        if unchecked(log):
            assert not [alarm for alarm in watch(log) if alarm.kind == "drift"]
    assert not unchecked(log)
    assert watch(log)


def test_two_options_have_no_order_of_failures():
    log = log_with(([0.5, 0.5], 2000))
    assert unchecked(log) == ()


# --------------------------------------------------------------------------------------------------- what it amounts to


def test_offsets_say_how_far_all_attempts_are_off():
    log = with_dependence()
    for number, offset in enumerate(offsets(log)):
        own = log.option == number
        first = log.option[log.first] == number
        assert offset.option == log.options[number]
        assert offset.every.mean == pytest.approx(log.success[own].mean())
        assert offset.first.mean == pytest.approx(log.success[log.first][first].mean())
        assert offset.difference == pytest.approx(offset.every.mean - offset.first.mean)
        assert offset.difference < -4 * offset.standard_error < 0
        assert f"{offset.difference:+.3f}" in str(offset)


@pytest.mark.statistical
def test_standard_errors_of_offsets_are_those_of_many_logs():
    """Of 300 logs; a standard deviation from so many is off by more than a fifth with a chance below 1e-5."""
    found = [offsets(log_with((MEANS, 500), seed=seed))[0] for seed in range(300)]
    spread = np.std([offset.difference for offset in found])
    assert spread == pytest.approx(np.mean([offset.standard_error for offset in found]), rel=0.2)


def test_an_option_without_attempts_has_no_offset():
    log = Attempts.from_plays([(("a", "b"), "a")], options=["a", "b"])
    first, never = offsets(log)
    assert (first.difference, first.standard_error) == (0.0, 0.0)
    assert np.isnan(never.difference)
    assert astuple(never.first) == (0, 0)


def test_every_kind_has_a_remedy():
    assert REMEDIES.keys() == set(KINDS)
    assert Rate(1, 4).mean == 0.25
