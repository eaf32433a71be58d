"""Requests whose first option failed and whose second was not tried: no duels, by whatever door, and first attempts."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from tests.support.command_line import refusal, run

SAID = r"3 of 60 requests were cut off: .* use first attempts"
DUELS = lb.LinkedDuels(0.05)


def rows_of(requests: int, cut: int) -> list[dict[str, object]]:
    """A row for each attempt, also for what was offered and not needed; of a's failures, ``cut`` end the request."""
    rng = np.random.default_rng(4)
    rows: list[dict[str, object]] = []
    for number in range(requests):
        works = rng.random(2) < 0.5
        first = number % 2
        ends_here = first == 0 and not works[0] and cut > 0
        cut -= ends_here
        seconds = "" if works[first] or ends_here else "ok" if works[1 - first] else "failed"
        outcomes = ["ok" if works[first] else "failed", seconds]
        rows += [
            {"request": number, "option": "ab"[option], "outcome": outcome}
            for option, outcome in zip((first, 1 - first), outcomes, strict=True)
        ]
    return rows


@pytest.fixture
def log() -> lb.Attempts:
    return lb.Attempts.from_rows(rows_of(60, cut=3))


def test_a_verdict_from_duels_is_refused_and_first_attempts_are_read(log):
    with pytest.raises(lb.InvalidAttempts, match=SAID + r".*\(attempts='first'\)"):
        log.verdict(attempts="duels")
    assert log.verdict().verdict is None
    assert sum(each.samples for each in log.verdict().estimates) == 60
    whole = lb.Attempts.from_rows(rows_of(60, cut=0))
    assert whole.verdict(attempts="duels").verdict is None


def test_as_plays_it_stays_cut_off(log):
    again = lb.Attempts.from_plays(log.plays(), options=log.options)
    assert again.cut_off.tolist() == log.cut_off.tolist()
    with pytest.raises(lb.InvalidAttempts, match=SAID):
        again.verdict(attempts="duels")


@pytest.mark.parametrize(
    "row",
    [
        {"tried": '["a", "b"]', "outcome": '["failed", null]'},  # offered and not tried
        {"tried": "a, a", "outcome": "failed, ok"},  # a retry worked
        {"tried": "a, b", "outcome": "failed, gone"},  # an outcome that is not known
        {"tried": "a, c", "outcome": "failed, ok"},  # an option that is not one of those given
    ],
)
def test_every_way_to_lose_the_second_attempt_of_a_failure_is_one(row):
    rows = [{"tried": '["a", "b"]', "outcome": '["ok", null]'}, {"tried": "b, a", "outcome": "failed, ok"}] * 9
    assert lb.Attempts.from_rows(rows, options=["a", "b"]).why_no_duels is None
    with pytest.raises(lb.InvalidAttempts, match="1 of 19 requests were cut off"):
        lb.Attempts.from_rows([row, *rows], options=["a", "b"]).verdict(attempts="duels")


def test_an_experiment_does_not_begin_with_such_pairs(log):
    with pytest.raises(lb.InvalidAttempts, match=SAID + ".*log_attempts='first'"):
        lb.Experiment("ab", DUELS, linkage="free", log=log, log_attempts="duels")
    assert lb.Experiment("ab", lb.LinkedElimination(0.05), linkage="single", log=log).from_log.read > 0


@pytest.mark.parametrize("second_known", ["where nothing was cut off", "behind failures alone"])
def test_a_successor_reads_no_pairs_of_it_but_those_that_were_played(log, second_known):
    """Of a log whose pairs are selected by outcome, none is read, whatever policy first began with it."""
    if second_known == "behind failures alone":
        log = lb.Attempts.from_plays([(("a", "b"), "b"), (("b", "a"), None), (("a",), "a"), (("b",), "b")] * 15)
    exp = lb.Experiment("ab", lb.UniformSampling(samples=10**6), linkage="free", log=log)
    played = [exp.ask() for _ in range(40)]
    for play in played:
        exp.tell(play.id, play.arms[-1])
    pairs = sum(len(play.arms) == 2 for play in played)
    after = exp.successor(policy=DUELS)
    assert (after.from_log.attempts, after.from_log.requests, after.from_log.samples) == ("duels", 100, pairs)
    again = lb.Experiment.from_json(after.to_json()).successor(why="once more")
    assert again.from_log.samples == pairs


def test_the_command_refuses_it_with_the_remedy(tmp_path):
    path = tmp_path / "log.csv"
    lines = ["request,option,outcome", *(",".join(map(str, row.values())) for row in rows_of(60, cut=3))]
    path.write_text("\n".join(lines) + "\n")
    said = refusal("verdict", str(path), "--attempts", "duels")
    assert said.startswith("3 of 60 requests were cut off")
    assert said.endswith("(--attempts 'first')")
    assert run("verdict", str(path)).returncode == 3


@pytest.mark.parametrize("offered", ["order", "options"])
def test_an_order_beside_what_was_tried_is_a_question(tmp_path, offered):
    """With the order alone, a request that was cut off would look like one on which all options had failed."""
    path = tmp_path / "log.csv"
    rows = ["a>b,a>b,b", "b>a,b,", "a>b,a,a", "b>a,b>a,a"] * 10
    path.write_text("\n".join([f"{offered},tried,hit", *rows]) + "\n")
    with pytest.raises(lb.InvalidAttempts, match="say order='tried' if some requests ended before"):
        lb.read_attempts(path)
    log = lb.read_attempts(path, order="tried")
    with pytest.raises(lb.InvalidAttempts, match="duels"):
        log.verdict(attempts="duels")
    assert len(lb.read_attempts(path, order=offered)) > len(log)
