"""A policy that asks otherwise than the one that played: what was played is a log for it, and nothing is lost."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.linkage import LINKAGES, Ordered, find_linkage
from linkedbandits.live import Played, Run
from linkedbandits.live.answer_log import NO_HIT
from linkedbandits.live.requests import begin
from linkedbandits.live.saving import ASKED_IN_FORMAT_2, _constants, asks_as_in_format_2, asks_digest
from linkedbandits.model import Repeats
from linkedbandits.policies import evidence_race
from linkedbandits.policy import Goal, LaneState, Policy, open_lanes
from linkedbandits.version import __version__
from linkedbandits.world import LogWorld
from tests.support.coin_flips import CoinFlipper
from tests.support.every_policy import EVERY_POLICY, policy_id

ASSUMES = ("independent options",)
DATA = Path(__file__).parent / "data"
SAVED_IN_FORMAT_1, SAVED_IN_FORMAT_2, SAVED_BY_EVERY_POLICY, SAVED_IN_FORMAT_3, SAVED_IN_FORMAT_4 = (
    json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    for name in (
        "saved_in_format_1",
        "saved_in_format_2",
        "saved_by_every_policy",
        "saved_in_format_3",
        "saved_in_format_4",
    )
)
OTHER_CONSTANTS = {
    "policies.evidence_race.GROWTH": 0.04,
    "policies.cascade_bai.PRINTED_FACTOR": 3.0,
    "policies.lil_ucb.BETA": 0.4,
    "stopping.looks.GROWTH": 0.2,
    "stopping.lil.EPSILON": 0.02,
}
WITHOUT_CONSTANTS = ("linked-ege", "median-elimination")
"""Policies whose numbers are those of the paper."""
ASKS_OTHERWISE_SINCE_FORMAT_4 = ("linked-halving, ordered",)
ASKS_OTHERWISE = ("linked-halving", "linked-elimination", "linked-track-and-stop")
"""Policies that ask otherwise now than when formats 1 and 2 were written, on purpose."""


class Tapes:
    """The j-th sample of an arm is the same, whichever policy takes it and when."""

    def __init__(self, seed: int, means=(0.1, 0.2, 0.4, 0.8)) -> None:
        self._outcomes = np.random.default_rng(seed).random((20_000, len(means))) < means
        self._taken = [0] * len(means)

    def answer(self, arms) -> int:
        for arm in arms.tolist():
            self._taken[arm] += 1
            if self._outcomes[self._taken[arm] - 1, arm]:
                return arm
        return NO_HIT


def play(run: Run, tapes: Tapes, most: int = 10**9) -> Run:
    for _ in range(most):
        if run.decision is not None:
            break
        number, arms = run.ask()
        run.tell(number, tapes.answer(arms))
    return run


def new_run(policy, linkage: str, arms: int = 4) -> Run:
    return Run(policy, find_linkage(linkage), arms)


class ShortSuffixUCB(lb.SuffixUCB):
    """One that ends after some samples."""

    name = "short-suffix-ucb"

    def observe(self, state, counts):
        super().observe(state, counts)
        state.stopped = state.samples.sum(axis=1) >= 600


NEEDS = [lb.LinkedElimination(0.1), lb.LinkedElimination(0.1, k=2), lb.UniformSampling(delta=0.3), lb.LilUCB(0.3)]
EXACT = [name for name in LINKAGES if name != "suffix"]
"""Under suffix a run throws away what a play tries beyond the need, and a log has it: the two see other outcomes."""
CASES = [(policy, linkage) for policy in NEEDS for linkage in EXACT]
CASES += [(ShortSuffixUCB(0.3), "ordered"), (ShortSuffixUCB(0.3), "free"), (lb.CascadeBAI(0.3, k=2), "free")]


@pytest.mark.parametrize("before", [1, 200])
@pytest.mark.parametrize(("policy", "linkage"), CASES, ids=str)
def test_with_a_log_a_policy_decides_what_it_decides_without(policy, linkage, before):
    """On the same tapes: so what it sees has the law that its guarantee is about, whatever chose what is in the log."""
    alone = play(new_run(policy, linkage), Tapes(before))
    for other in (lb.LinkedElimination(1e-60), lb.SuffixUCB(1e-60)):
        if not find_linkage(linkage).allows(other.asks):
            continue
        tapes = Tapes(before)
        earlier = play(new_run(other, linkage), tapes, most=before)
        run = new_run(policy, linkage)
        run.go_on(Played.of(earlier.content(), earlier.answers), "0.0.9")
        assert run.upgrade == (__version__, "0.0.9", before, 0)
        assert [array.tolist() for array in run.totals()] == [array.tolist() for array in earlier.totals()]
        play(run, tapes)
        assert (run.decision.top, run.decision.status) == (alone.decision.top, alone.decision.status)
        assert run.state_as_json() == alone.state_as_json()


@pytest.mark.parametrize("policy", [*NEEDS, lb.MaximalSampling(delta=0.3)], ids=str)
def test_where_plays_try_more_than_is_needed_a_log_serves_as_well(policy):
    """Nothing is read twice, nothing is read that was not asked for, and the answer is the best arm."""
    tapes = Tapes(7)
    earlier = play(new_run(lb.LinkedElimination(1e-60), "suffix"), tapes, most=200)
    before = [array.tolist() for array in earlier.totals()]
    run = new_run(policy, "suffix")
    run.go_on(Played.of(earlier.content(), earlier.answers), "0.0.9")
    assert [array.tolist() for array in run.totals()] == before
    play(run, tapes)
    alone = play(new_run(policy, "suffix"), Tapes(7))
    assert run.decision.status == alone.decision.status
    assert set(run.decision.top) == set(alone.decision.top)


@pytest.mark.parametrize("before", [1, 30, 200])
@pytest.mark.parametrize("other", [lb.LinkedElimination(1e-60), lb.SuffixUCB(1e-60)], ids=str)
def test_suffixes_are_read_from_a_log_and_the_rest_of_them_is_played_as_suffixes(other, before):
    """What a play tries behind the piece that the log has nothing of is in the estimates, and no more."""
    tapes = Tapes(before)
    earlier = play(new_run(other, "suffix"), tapes, most=before)
    run = new_run(ShortSuffixUCB(0.3), "suffix")
    run.go_on(Played.of(earlier.content(), earlier.answers), "0.0.9")
    assert [array.tolist() for array in run.totals()] == [array.tolist() for array in earlier.totals()]
    seen = run.totals()[0]
    given_up = 0
    while run.decision is None:
        number, arms = run.ask()
        assert arms.tolist() == list(range(arms[0], 4))
        if number % 7 == 0 and given_up < 20:
            given_up += 1
            run.abandon(number)
            continue
        hit = tapes.answer(arms)
        run.tell(number, hit)
        seen[arms[: arms.tolist().index(hit) + 1 if hit != NO_HIT else 4]] += 1
        assert run.totals()[0].tolist() == seen.tolist()
        if number % 5 == 0:
            run = read_again(run, ShortSuffixUCB(0.3), "suffix")
    shown = np.array(run.state_as_json()["samples"]["values"])
    assert shown.sum() >= 600  # the policy's own rule
    assert (shown <= seen).all()
    assert run.decision.top == (3,)


def read_again(run: Run, policy, linkage: str) -> Run:
    again = new_run(policy, linkage)
    again.fill(json.loads(json.dumps(run.content())), run.answers)
    return again


def test_behind_a_piece_nothing_counts_for_the_policy():
    """One play of all three arms; the log has an outcome of the second alone, so the first and the last are played."""
    log = LogWorld([np.zeros(count, dtype=bool) for count in (0, 1, 0)])
    request = begin(Repeats(np.array([[0, 1, 2]]), np.array([1])), 3, find_linkage("suffix"), log)
    arms = request.hand_out()
    assert (arms.tolist(), request.claimed.tolist()) == ([0, 1, 2], [0])
    request.bring_claimed(request.claimed, arms, reached=2, hit=True)  # a hit of the second is none of the first
    assert request.counts().samples.tolist() == [[1, 1, 0]]
    assert request.counts().successes.tolist() == [[0, 0, 0]]
    arms = request.hand_out()
    assert (arms.tolist(), request.claimed) == ([2], None)
    request.bring(arms, reached=1, hit=True)
    assert request.fulfilled
    assert request.counts().successes.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("linkage", EXACT)
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_the_log_of_a_policy_itself_leads_to_the_same_state(policy, linkage):
    """Budgets of plays included."""
    if not LINKAGES[linkage].allows(policy.asks):
        return
    exp = lb.Experiment(range(4), policy, linkage=linkage)
    coins = CoinFlipper([0.2, 0.5, 0.1, 0.45], 5)
    for _ in range(100):
        if exp.done:
            return
        asked = exp.ask()
        exp.tell(asked.id, coins.answer(asked))
    again = lb.Experiment(range(4), policy, linkage=linkage)
    again.run.go_on(Played.of(exp.run.content(), exp.answers), None)
    assert again.run.state_as_json() == exp.run.state_as_json()
    assert again.estimates() == exp.estimates()
    # Where whole plays are taken over, the first request is told of all that were made.
    if INDEPENDENT_OPTIONS in exp.assumptions or LINKAGES[linkage].tries_one:
        assert again.snapshot()["plays_observed"] == exp.snapshot()["plays_observed"]


def busy_experiment(policy, **given) -> lb.Experiment:
    """Two hundred plays, of which some are out, some given up, and some told late."""
    exp = lb.Experiment("abc", policy, **given)
    rng, out = np.random.default_rng(5), []
    for step in range(200):
        out.append(exp.ask())
        if len(out) > 4:
            asked = out.pop(int(rng.integers(4)))
            if step % 10 == 3:
                exp.abandon(asked.id)
            if step % 20 != 3:
                exp.tell(asked.id, asked.arms[-1] if rng.random() < 0.4 else None)
    return exp


def change_policy(monkeypatch) -> None:
    monkeypatch.setattr(evidence_race, "GROWTH", 0.04)


def change_state(monkeypatch) -> None:
    monkeypatch.setattr(evidence_race.RaceState, "from_json", lambda data: data["a part that it never had"])


def counts(exp: lb.Experiment) -> list[list[int]]:
    return [[estimate.samples, estimate.successes] for estimate in exp.estimates()]


def finish(exp: lb.Experiment) -> lb.Verdict:
    """Tell what is out, and play on with "c" as the only one that works."""
    for number, *_ in exp.snapshot()["tickets"]:
        exp.tell(number, None)
    while not exp.done:
        asked = exp.ask()
        exp.tell(asked.id, "c" if "c" in asked.arms else None)
    return exp.recommend()


def test_a_saved_experiment_goes_on_with_a_policy_that_asks_otherwise(monkeypatch):
    exp = busy_experiment(lb.LinkedElimination(1e-60))
    text = exp.to_json()
    assert lb.Experiment.from_json(text).upgrade is None
    change_policy(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert counts(read) == counts(exp)
    assert (read.plays, read.late, read.in_flight) == (exp.plays, exp.late, exp.in_flight)
    assert read.upgrade == (__version__, __version__, exp.plays - exp.late, 0)
    saved = lb.Experiment.from_json(read.to_json())
    assert saved.to_json() == read.to_json()
    assert finish(saved) == finish(read) == lb.Verdict("c", "confident", read.recommend().plays, 1e-60, assumes=ASSUMES)


def test_a_state_in_a_form_of_before_leads_to_a_log_also_in_the_same_version(monkeypatch):
    exp = busy_experiment(lb.LinkedElimination(1e-60))
    text = exp.to_json()
    change_state(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert read.upgrade == (__version__, __version__, exp.plays - exp.late, 0)
    assert counts(read) == counts(exp)
    assert finish(read).arm == "c"


def test_duels_that_were_saved_when_each_block_was_counted_alone_go_on():
    """Their plays are of whole tuples, and serve again."""
    exp = lb.Experiment("abc", lb.LinkedDuels(1e-9), linkage="free")
    rng = np.random.default_rng(3)
    for _ in range(300):
        asked = exp.ask()
        exp.tell(asked.id, asked.arms[0] if rng.random() < 0.5 else None)
    content = exp.run.content()
    for name in ("planned", "challenged", "new_hits"):
        del content["state"][name]
    read = lb.Experiment("abc", lb.LinkedDuels(1e-9), linkage="free")
    read.run.fill(content, exp.answers)
    assert read.upgrade == (__version__, __version__, 300, 0)
    assert counts(read) == counts(exp)
    assert finish(read).arm == "c"


def test_plays_that_are_out_are_waited_for_in_their_place(monkeypatch):
    """The first of all is out: no sample of its arm counts before it is told."""
    exp = lb.Experiment("ab", lb.LinkedElimination(1e-60), linkage="single")
    first = exp.ask()
    for _ in range(60):
        asked = exp.ask()
        exp.tell(asked.id, asked.arms[0] if asked.id % 2 else None)
    text = exp.to_json()
    change_policy(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert read.upgrade.plays == 60
    assert sum(read.run.state_as_json()["samples"]["values"]) == 0
    assert read.tell(first.id, None) == "counted"
    assert sum(read.run.state_as_json()["samples"]["values"]) > 0


def test_late_answers_are_no_part_of_the_log(monkeypatch):
    """A hundred plays were given up, and told late as if only "a" ever worked."""
    exp = lb.Experiment("abc", lb.LinkedElimination(1e-60))
    for step in range(130):
        asked = exp.ask()
        if step < 100:
            exp.abandon(asked.id)
        worked = "a" if step < 100 else "c"
        exp.tell(asked.id, worked if worked in asked.arms else None)
    text = exp.to_json()
    change_policy(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert (read.upgrade.plays, read.upgrade.others, read.late) == (30, 0, 100)
    assert read.recommend() == lb.Verdict("c", "budget", 30, None, assumes=ASSUMES)
    assert counts(read) == counts(exp)


@pytest.mark.parametrize("change", [change_policy, change_state])
def test_a_verdict_stands(monkeypatch, change):
    exp = lb.Experiment("abc", lb.LinkedElimination(0.01))
    verdict = finish(exp)
    text = exp.to_json()
    change(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert (read.done, read.recommend(), read.upgrade) == (True, verdict, None)
    assert read.estimates() == exp.estimates()


def test_a_budget_counts_the_plays_of_the_log(monkeypatch):
    exp = busy_experiment(lb.LinkedElimination(1e-60), max_plays=190)
    text = exp.to_json()
    change_policy(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert exp.plays - exp.late < 190
    assert finish(read) == lb.Verdict(read.recommend().arm, "budget", 190, None, assumes=ASSUMES)


def test_what_has_no_log_is_kept_in_the_estimates(monkeypatch):
    """Saved in format 2, which had no tuples, with a state that this version cannot read."""
    old = next(save for save in SAVED_IN_FORMAT_2 if save["name"] == "needs in order")
    change_state(monkeypatch)
    exp = lb.Experiment.from_json(old["saved"])
    assert exp.upgrade == (__version__, None, 0, old["plays"] - old["late"])
    assert counts(exp) == [row[:2] for row in old["estimates"]]
    assert (exp.in_flight, exp.late) == (old["in_flight"], old["late"])
    assert finish(exp).status == "confident"


def test_tuples_beyond_what_is_kept_serve_the_estimates_alone(monkeypatch):
    monkeypatch.setattr("linkedbandits.live.answer_log.MOST_ARMS_KEPT", 2)
    exp = busy_experiment(lb.LinkedElimination(1e-60), linkage="single")
    text = exp.to_json()
    change_policy(monkeypatch)
    read = lb.Experiment.from_json(text)
    assert read.upgrade.plays > 0
    assert read.upgrade.others > 0
    assert read.upgrade.plays + read.upgrade.others == exp.plays - exp.late
    assert counts(read) == counts(exp)


def test_a_policy_is_told_from_one_that_asks_otherwise(monkeypatch):
    def digest() -> str:
        return asks_digest(lb.LinkedElimination(0.1), find_linkage("ordered"), 1000)

    before = digest()
    assert before == digest()
    assert before != asks_digest(lb.LinkedElimination(0.1, k=2), find_linkage("ordered"), 1000)
    assert before != asks_digest(lb.UniformSampling(0.1), find_linkage("ordered"), 1000)
    with monkeypatch.context() as patch:
        patch.setattr(evidence_race, "GROWTH", 0.04)
        assert digest() != before
    assert digest() == before


def test_constants_are_those_that_modules_have_now(monkeypatch):
    """Of the library, those that change and those that come; of a user's own module, also what becomes a number."""
    own = sys.modules[__name__]

    now = {("ASSUMES", 7), ("LOOKS", 11), ("ANOTHER", 0.5)}
    before = set(_constants(FirstAttempts))
    assert ("TRIED_FIRST", TRIED_FIRST) in before
    assert not now & before
    monkeypatch.setattr(own, "ASSUMES", 7)
    monkeypatch.setattr(evidence_race, "LOOKS", 11)
    monkeypatch.setattr(evidence_race, "ANOTHER", 0.5, raising=False)
    assert now < set(_constants(FirstAttempts))


def test_a_policy_that_breaks_on_made_up_outcomes_can_be_saved_all_the_same():
    class Moody(lb.UniformSampling):
        name = "moody"

        def observe(self, state, counts):
            if counts.samples.sum() > 10:
                raise RuntimeError("not today")
            super().observe(state, counts)

    exp = lb.Experiment("abc", Moody(samples=4))
    exp.tell(exp.ask().id, "a")
    assert lb.Experiment.from_json(exp.to_json(), policy=Moody(samples=4)).plays == 1


def test_a_linkage_or_a_policy_without_a_hash_can_be_saved_all_the_same():
    @dataclass
    class Window(Ordered):
        name = "window"
        width: int = 3

    class Sweep(lb.UniformSampling):
        name = "sweep"
        __hash__ = None

    exp = lb.Experiment("abc", Sweep(samples=4), linkage=Window())
    exp.tell(exp.ask().id, "a")
    assert lb.Experiment.from_json(exp.to_json(), policy=Sweep(samples=4), linkage=Window()).plays == 1
    for policy, linkage in ((lb.UniformSampling(samples=4), Window()), (Sweep(samples=4), "ordered")):
        assert exp.run.asks() == lb.Experiment("abc", policy, linkage=linkage).run.asks()


def other_constants(monkeypatch) -> None:
    for name, value in OTHER_CONSTANTS.items():
        monkeypatch.setattr(f"linkedbandits.{name}", value)


def said_by(exp: lb.Experiment) -> list[object]:
    verdict = exp.recommend()
    return [exp.done, verdict.arm, verdict.status, verdict.plays, verdict.error_bound, list(verdict.top)]


def play_on(exp: lb.Experiment, out: list[int]) -> lb.Experiment:
    """What is out fails, and then only the last arm works: that is what was done when it was saved."""
    for number in out:
        exp.tell(number, None)
    while not exp.done:
        asked = exp.ask()
        exp.tell(asked.id, exp.arms[-1] if exp.arms[-1] in asked.arms else None)
    return exp


@pytest.mark.parametrize("old", SAVED_BY_EVERY_POLICY, ids=lambda old: old["name"])
def test_what_every_policy_saved_before_format_3_ends_as_it_would_have(old):
    """Written down by the library of that time, with labels beyond ASCII."""
    exp = lb.Experiment.from_json(old["saved"])
    assert [exp.plays, exp.late, exp.in_flight] == old["counts"]
    if old["name"].startswith(ASKS_OTHERWISE) and not old["verdict"][0]:
        assert counts(exp) == [row[:2] for row in old["estimates"]]
        assert exp.upgrade == (__version__, None, 0, exp.plays - exp.late)
        assert play_on(exp, old["out"]).done
        return
    assert [[each.samples, each.successes, each.still_in] for each in exp.estimates()] == old["estimates"]
    assert said_by(exp) == old["verdict"]
    play_on(exp, old["out"])
    assert (said_by(exp), exp.upgrade) == (old["in_the_end"], None)


@pytest.mark.parametrize(
    ("version", "old"),
    [(3, old) for old in SAVED_IN_FORMAT_3] + [(4, old) for old in SAVED_IN_FORMAT_4],
    ids=lambda value: value["name"] if isinstance(value, dict) else f"format {value}",
)
def test_what_every_policy_saved_in_formats_3_and_4_ends_as_it_would_have(version, old):
    """Before there were logs to begin with, and before there were whole chains."""
    assert json.loads(old["saved"])["version"] == version
    exp = lb.Experiment.from_json(old["saved"])
    assert (exp.from_log, exp.whole_chains, exp.learning) == (None, False, None)
    assert [exp.plays, exp.late, exp.in_flight] == old["counts"]
    if old["name"] in ASKS_OTHERWISE_SINCE_FORMAT_4 and not old["verdict"][0]:
        assert counts(exp) == [row[:2] for row in old["estimates"]]
        assert exp.upgrade.plays + exp.upgrade.others == exp.plays - exp.late
        assert exp.upgrade.plays > 0  # it goes on with them as a log
        assert play_on(exp, old["out"]).done
        return
    assert [[each.samples, each.successes, each.still_in] for each in exp.estimates()] == old["estimates"]
    assert said_by(exp) == old["verdict"]
    play_on(exp, old["out"])
    assert (said_by(exp), exp.upgrade) == (old["in_the_end"], None)


@pytest.mark.parametrize("old", SAVED_BY_EVERY_POLICY, ids=lambda old: old["name"])
def test_it_is_not_gone_on_from_a_state_of_other_constants(monkeypatch, old):
    """It does not say which play tried what, so the decision starts anew, and says so; the estimates stay."""
    other_constants(monkeypatch)
    exp = lb.Experiment.from_json(old["saved"])
    assert [exp.plays, exp.late, exp.in_flight] == old["counts"]
    assert counts(exp) == [row[:2] for row in old["estimates"]]
    if old["verdict"][0]:
        assert (said_by(exp), exp.upgrade) == (old["verdict"], None)
        return
    if old["name"].startswith(WITHOUT_CONSTANTS):
        assert exp.upgrade is None
    else:
        assert exp.upgrade == (__version__, None, 0, exp.plays - exp.late)
        assert all(each.still_in for each in exp.estimates())
    assert play_on(exp, old["out"]).done


@pytest.mark.parametrize(
    "old", [*SAVED_IN_FORMAT_1, *SAVED_IN_FORMAT_2], ids=lambda old: old.get("name", "of format 1")
)
@pytest.mark.parametrize("played_on", [False, True])
def test_no_earlier_format_is_gone_on_from_with_other_constants(monkeypatch, old, played_on):
    """Also where it was opened and saved again, in the present format, by a version that asked what was asked then."""
    text = old["saved"]
    before = lb.Experiment.from_json(text)
    if played_on:
        for _ in range(0 if before.done else 5):
            before.tell(before.ask().id, None)
        text = before.to_json()
    other_constants(monkeypatch)
    exp = lb.Experiment.from_json(text)
    assert (counts(exp), exp.plays, exp.late, exp.in_flight) == (
        counts(before),
        before.plays,
        before.late,
        before.in_flight,
    )
    changed = not before.done and before.policy.name not in WITHOUT_CONSTANTS
    if played_on and before.policy.name in ASKS_OTHERWISE:  # by then it was this version that asked, and it has none
        changed = before.upgrade is not None
    assert (exp.upgrade is not None) == changed
    if before.done:
        assert exp.recommend() == before.recommend()


OF_THAT_TIME = [policy for policy in EVERY_POLICY if policy.name in ASKED_IN_FORMAT_2 and not policy.goal.costs]
"""Policies that there were when saves said nothing of what is asked."""


@pytest.mark.parametrize("policy", OF_THAT_TIME, ids=policy_id)
def test_policies_still_ask_what_they_asked_when_formats_said_nothing_of_it(policy):
    """If one does not, on purpose, saves in formats 1 and 2 start their decision anew: say so in docs/upgrading.md."""
    assert asks_as_in_format_2(policy) == (policy.name not in ASKS_OTHERWISE)


def test_they_are_known_of_every_policy_of_that_time():
    since = {"linked-duels", "linked-order", "linked-lead", "deterministic-shifting", "whole-sequence-ege"}
    assert {policy.name for policy in EVERY_POLICY} - since == set(ASKED_IN_FORMAT_2)


def test_a_change_of_constants_is_seen_in_every_policy_that_has_some(monkeypatch):
    other_constants(monkeypatch)
    still = {policy.name for policy in OF_THAT_TIME if asks_as_in_format_2(policy)}
    assert still == set(WITHOUT_CONSTANTS)


class TestAnotherVersion:
    """That asks the same as far as the digest says: what it compares is one request here."""

    @pytest.fixture(autouse=True)
    def _digest_of_one_request(self, monkeypatch):
        monkeypatch.setattr("linkedbandits.live.saving.REQUESTS_COMPARED", 1)

    def as_version(self, monkeypatch, version: str = "9.0.0") -> None:
        monkeypatch.setattr("linkedbandits.live.run.__version__", version)

    def played(self, linkage: str = "ordered", plays: int = 150) -> lb.Experiment:
        exp = lb.Experiment("abc", lb.LinkedElimination(1e-60), linkage=linkage)
        coins = CoinFlipper([0.2, 0.5, 0.4], 3)
        for _ in range(plays):
            asked = exp.ask()
            hit = coins.answer(lb.Play(asked.id, tuple(map("abc".index, asked.arms))))
            exp.tell(asked.id, None if hit is None else "abc"[hit])
        return exp

    @pytest.mark.parametrize("linkage", EXACT)
    def test_goes_on_exactly_if_it_comes_to_the_same_state(self, monkeypatch, linkage):
        exp = self.played(linkage)
        self.as_version(monkeypatch)
        read = lb.Experiment.from_json(exp.to_json())
        assert read.upgrade is None
        assert read.run.state_as_json() == exp.run.state_as_json()
        assert finish(read) == finish(exp)

    @pytest.mark.parametrize("linkage", EXACT)
    def test_takes_what_was_played_as_a_log_if_it_does_not(self, monkeypatch, linkage):
        exp = self.played(linkage)
        text = exp.to_json()
        change_policy(monkeypatch)
        unseen = lb.Experiment.from_json(text)
        assert unseen.upgrade is None  # one version has one set of constants
        self.as_version(monkeypatch)
        read = lb.Experiment.from_json(text)
        assert read.upgrade == ("9.0.0", __version__, exp.plays, 0)
        assert counts(read) == counts(exp)
        assert read.run.state_as_json() != exp.run.state_as_json()
        assert finish(read) == lb.Verdict(
            "c", "confident", read.recommend().plays, 1e-60, assumes=() if linkage == "single" else ASSUMES
        )

    def test_believes_the_digest_where_not_all_is_on_record(self, monkeypatch):
        monkeypatch.setattr("linkedbandits.live.answer_log.MOST_ARMS_KEPT", 2)
        exp = self.played("single")
        text = exp.to_json()
        self.as_version(monkeypatch)
        assert lb.Experiment.from_json(text).upgrade is None


TRIED_FIRST = 0
"""Which arm ``FirstAttempts`` tries first until it has enough of it; another version begins with the other."""


@dataclass
class FirstAttemptsState(LaneState):
    tried: np.ndarray
    worked: np.ndarray


@dataclass(frozen=True)
class FirstAttempts(Policy[FirstAttemptsState]):
    """Counts the first arm of each play alone, which is a sample of it whatever depends on what."""

    delta: float = 0.05
    name: ClassVar[str] = "first-attempts"
    asks: ClassVar[str] = "tuples"
    status_at_stop: ClassVar[str] = "confident"

    @property
    def error_bound(self):
        return self.delta

    @property
    def goal(self):
        return Goal(delta=self.delta)

    def assumptions(self, linkage):
        return ()

    def start(self, lanes, arms, seeds):
        nothing = np.zeros((lanes, arms), dtype=np.int64)
        return FirstAttemptsState(**open_lanes(lanes, arms), tried=nothing, worked=nothing)

    def request(self, state):
        first = TRIED_FIRST if state.tried[0, TRIED_FIRST] < 400 else 1 - TRIED_FIRST
        return Repeats(np.array([[first, 1 - first]]), np.array([20]))

    def observe(self, state, counts):
        first = self.request(state).order[0, 0]
        state.tried, state.worked = state.tried.copy(), state.worked.copy()
        state.tried[0, first] += counts.samples[0, first]
        state.worked[0, first] += counts.successes[0, first]
        state.arm = (state.worked / np.maximum(state.tried, 1)).argmax(axis=1)
        state.stopped = state.tried.min(axis=1) >= 400


def test_what_came_behind_others_is_no_sample_for_a_policy_that_assumes_no_independence(monkeypatch):
    """Arm 1 works on 60 % of the requests, arm 0 on 50 %; but where arm 0 has failed, arm 1 works on 24 %.

    Of 400 first attempts each, arm 0 has as many successes as arm 1 with a probability of 0.2 %; seeds are fixed.
    """
    for seed in range(8):
        monkeypatch.setattr(sys.modules[__name__], "TRIED_FIRST", 0)
        draws = np.random.default_rng(seed).random(3000).tolist()

        def answer(exp, draws=draws):
            play, request = exp.ask(), draws.pop()
            works = (request < 0.50, request < 0.48 or request > 0.88)
            exp.tell(play.id, next((arm for arm in play.arms if works[arm]), None))

        exp = lb.Experiment([0, 1], FirstAttempts(), linkage="free")
        for _ in range(410):
            answer(exp)
        saved = exp.to_json()
        monkeypatch.setattr(sys.modules[__name__], "TRIED_FIRST", 1)
        read = lb.Experiment.from_json(saved, policy=FirstAttempts())
        assert read.upgrade is not None
        assert counts(read) == counts(exp)
        while not read.done:
            answer(read)
        assert (read.recommend().arm, read.recommend().status) == (1, "confident")
        assert read.plays < 410 + 800  # the plays that began with arm 0 were used


def test_of_whole_plays_the_first_are_taken_and_not_the_last(monkeypatch):
    """When an upgrade comes may depend on what was seen; where the record begins does not."""
    monkeypatch.setattr("linkedbandits.live.run.MOST_SPARES", 40)
    exp = lb.Experiment(range(3), lb.LinkedDuels(1e-9), linkage="free")
    coins = CoinFlipper([0.5, 0.5, 0.5], 3)
    for _ in range(200):
        asked = exp.ask()
        exp.tell(asked.id, coins.answer(asked))
    again = lb.Experiment(range(3), lb.LinkedDuels(1e-9), linkage="free")
    again.run.go_on(Played.of(exp.run.content(), exp.answers), None)
    assert (again.upgrade.plays, again.upgrade.others) == (40, 160)
    assert max(again.snapshot()["spares"]["plays"], default=0) < 40
