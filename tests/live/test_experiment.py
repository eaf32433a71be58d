"""Ask and tell: tickets, plays in flight, repeated and late answers, saving and going on."""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live import experiment
from tests.support.coin_flips import CoinFlipper, run_live
from tests.support.every_policy import EVERY_POLICY, of_as_many_arms, policy_id

POINTS = ("north", "east", "south")
ASSUMES = ("independent options",)


def ask(exp: lb.Experiment, times: int) -> list[lb.Play]:
    return [exp.ask() for _ in range(times)]


def ask_up_to(exp: lb.Experiment, times: int) -> list[lb.Play]:
    """Fewer where the policy's own budget allows no more."""
    plays: list[lb.Play] = []
    with suppress(lb.TooManyInFlight):
        for _ in range(times):
            plays.append(exp.ask())  # noqa: PERF401 - what was asked before the refusal counts
    return plays


def samples(exp: lb.Experiment) -> list[int]:
    """Of all plays told, whatever is still out before them."""
    return exp.samples_of_means()[0].tolist()


def test_a_whole_experiment():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=2))
    assert exp.ask() == lb.Play(id=0, arms=POINTS)
    assert exp.tell(0, hit="east") == "counted"
    assert exp.tell(exp.ask().id, hit=None) == "counted"
    assert exp.ask().arms == ("south",)  # the others have their two samples
    assert not exp.done
    exp.tell(2, hit=None)
    assert exp.done
    assert exp.recommend() == lb.Verdict(arm="east", status="exhausted", plays=3, error_bound=None, assumes=ASSUMES)
    assert exp.estimates()[1] == lb.Estimate("east", samples=2, successes=1, mean=0.5, still_in=True)


def test_a_confident_verdict_carries_its_proved_bound():
    exp = run_live([0.05, 0.9], lb.UniformSampling(delta=0.05), "ordered", seed=1)
    assert exp.recommend().status == "confident"
    assert exp.recommend().error_bound == 0.05


def test_before_the_end_the_leader_is_recommended_without_a_bound():
    exp = lb.Experiment(POINTS, lb.LinkedEGE(delta=0.1))
    exp.tell(exp.ask().id, hit="south")
    assert exp.recommend() == lb.Verdict("south", "running", plays=1, error_bound=None, assumes=ASSUMES)
    assert exp.estimates()[0].mean == 0.0


def test_no_more_plays_speak_for_an_arm_than_it_needs():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=2))
    first, second, third = ask(exp, 3)
    assert first.arms == second.arms == POINTS
    assert exp.tell(third.id, None) == "spare"  # everything needed was out already
    exp.tell(first.id, "north")  # what the first play did not reach is what the third brought
    assert samples(exp) == [2, 1, 1]
    assert exp.ask().arms == POINTS
    assert exp.tell(second.id, "north") == "counted"
    assert exp.ask().arms == ("east", "south")
    assert exp.in_flight == 2


def test_a_spare_play_serves_the_next_request_in_the_order_asked_not_told():
    policy = lb.LinkedEGE(delta=0.9, gap=0.4)
    exp = lb.Experiment(["a", "b"], policy)
    need = exp.snapshot()["request"]["needs"][0]
    current = ask(exp, need)
    spares = ask(exp, 3)
    assert exp.tell(spares[2].id, "a") == "spare"
    for play in current:
        exp.tell(play.id, None)  # both means are 0: no arm is dropped, a second round follows
    assert exp.tell(spares[0].id, None) == "counted"
    assert exp.tell(spares[1].id, None) == "counted"
    assert samples(exp) == [need + 3, need + 2]


def test_a_spare_play_tries_what_has_not_come_back():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    first, spare = ask(exp, 2)
    assert spare.arms == POINTS
    exp.tell(first.id, "north")
    assert [play.arms for play in ask(exp, 2)] == [("east", "south")] * 2


def test_samples_that_nobody_needs_now_wait_for_a_request_that_does():
    exp = lb.Experiment(["a", "b"], lb.LilUCB(delta=0.1))
    first = exp.ask()
    spares = ask(exp, 4)
    for play in spares:
        assert exp.tell(play.id, None) == "spare"
    assert exp.plays == 4
    assert samples(exp) == [4, 4]
    exp.tell(first.id, None)
    assert samples(exp) == [5, 5]
    # The tape serves the requests that follow, so the policy has seen all ten samples by now.
    assert sum(exp.state_as_json()["samples"]["values"]) == 10


def test_an_abandoned_play_is_asked_again_and_late_if_told():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    lost = exp.ask()
    exp.abandon(lost.id)
    exp.abandon(lost.id)
    assert exp.in_flight == 0
    again = exp.ask()
    assert again.arms == lost.arms
    assert exp.tell(lost.id, "north") == "late"
    assert exp.late == 1
    assert samples(exp) == [1, 0, 0]
    exp.tell(again.id, None)
    assert exp.done
    assert exp.recommend().arm == "north"  # by estimate; the decision itself saw no success
    assert exp.estimates()[0] == lb.Estimate("north", 2, 1, 0.5, still_in=True)


def test_late_answers_have_no_say_in_the_verdict():
    """All but one of the plays are given up, and told late as if nothing but "a" ever worked."""
    exp = lb.Experiment(["a", "b", "c"], lb.LinkedHalving(plays=30))
    plays = ask(exp, 29)
    for play in plays:
        exp.abandon(play.id)
    for play in plays:
        assert exp.tell(play.id, "a" if "a" in play.arms else None) == "late"
    assert not exp.done
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, "c" if "c" in play.arms else None)
    verdict = exp.recommend()
    assert verdict.arm == "c"
    assert verdict.plays <= 30
    assert exp.plays == verdict.plays + 29
    assert exp.estimates()[0].successes > 0  # they are part of the estimates all the same


def test_late_answers_do_not_use_up_the_budget():
    exp = lb.Experiment(["a", "b"], lb.LinkedElimination(delta=0.01), max_plays=10)
    lost = ask(exp, 9)
    for play in lost:
        exp.abandon(play.id)
        exp.tell(play.id, "a" if "a" in play.arms else None)
    assert exp.recommend().arm == "a"  # nothing in time yet: the first
    play = exp.ask()
    exp.tell(play.id, "b")
    assert not exp.done
    assert exp.recommend().arm == "b"
    again = lb.Experiment.from_json(exp.to_json())
    assert again.recommend() == exp.recommend()
    assert again.estimates() == exp.estimates()


def test_a_play_told_after_the_verdict_is_late_and_kept():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    play, extra = ask(exp, 2)
    exp.tell(play.id, None)
    verdict = exp.recommend()
    assert exp.tell(extra.id, "south") == "late"
    assert exp.recommend() == verdict
    assert samples(exp) == [2, 2, 2]
    assert exp.late == 1


def test_telling_the_same_twice_is_harmless_and_a_conflict_is_refused():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, "east")
    before = exp.to_json()
    assert exp.tell(0, "east") == "repeated"
    with pytest.raises(lb.ConflictingTell, match="play 0 was told hit='east' before and now hit=None; the first"):
        exp.tell(0, None)
    assert exp.to_json() == before


@pytest.mark.parametrize(
    ("play", "hit", "error", "said"),
    [
        (7, None, lb.UnknownName, "no play 7 was asked; ids run from 0 to 1"),
        (7, "up", lb.UnknownName, "no play 7 was asked"),
        (-1, None, lb.UnknownName, "no play -1"),
        ("0", None, lb.UnknownName, "no play '0'"),
        (1, "up", lb.InvalidParameter, "'up' is no arm; the arms are 'north', 'east', 'south'"),
        (1, ["east"], lb.InvalidParameter, r"\['east'\] is no arm"),
        (1, "north", lb.InvalidParameter, "play 1 did not try 'north'; its arms were 'east', 'south'"),
    ],
)
def test_a_bad_answer_changes_nothing(play, hit, error, said):
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    exp.tell(exp.ask().id, "north")
    assert exp.ask().arms == ("east", "south")
    before = exp.to_json()
    with pytest.raises(error, match=said):
        exp.tell(play, hit)
    assert exp.to_json() == before


def test_unknown_plays_are_key_errors_and_bad_hits_value_errors():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    with pytest.raises(KeyError, match="nor any other yet; ask"):
        exp.tell(0, None)
    exp.ask()
    with pytest.raises(ValueError, match="no arm"):
        exp.tell(0, "up")


def test_asking_after_the_verdict_says_where_it_is():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=1))
    exp.tell(exp.ask().id, None)
    with pytest.raises(lb.ExperimentFinished, match=r"done after 1 plays; recommend\(\)"):
        exp.ask()


def test_the_budget_counts_what_is_out():
    exp = lb.Experiment(POINTS, lb.LinkedEGE(delta=0.1), max_plays=3)
    plays = ask(exp, 3)
    with pytest.raises(lb.TooManyInFlight, match="all 3 plays of the budget are out"):
        exp.ask()
    for play in plays:
        exp.tell(play.id, "south")
    assert exp.done
    assert exp.recommend() == lb.Verdict("south", "exhausted", plays=3, error_bound=None, assumes=ASSUMES)


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_told_how_many_may_be_out_a_policy_keeps_them_busy(policy, linkage):
    """With six out all the time, most plays belong to the current request; without being told, they may be spare."""
    if not LINKAGES[linkage].allows(policy.asks):
        return
    means = [0.2, 0.5, 0.4, 0.1] if policy.goal.neighbours else [0.2, 0.5, 0.4]  # or all would be right
    means = of_as_many_arms(means, policy)
    exp = lb.Experiment(range(len(means)), policy, linkage=linkage, parallel=6)
    coins = CoinFlipper(means, 5)
    out = ask(exp, 6)
    with pytest.raises(lb.TooManyInFlight, match="6 plays are out, as many as parallel=6 allows"):
        exp.ask()
    receipts = []
    while not exp.done and len(receipts) < 150:
        play = out.pop(0)
        receipts.append(exp.tell(play.id, coins.answer(play)))
        if not exp.done:
            out += ask_up_to(exp, 1)
    assert receipts.count("counted") > 0.5 * len(receipts)


@pytest.mark.parametrize("policy", [lb.LinkedHalving(plays=50), lb.MaximalSampling(plays=50)], ids=policy_id)
def test_a_budget_of_the_policys_own_holds_with_plays_in_flight(policy):
    exp = lb.Experiment(range(3), policy, parallel=8)
    coins, out, handed_out = CoinFlipper([0.2, 0.5, 0.4], 5), [], 0
    while not exp.done:
        try:
            out.append(exp.ask())
            handed_out += 1
        except lb.TooManyInFlight:
            play = out.pop(0)
            exp.tell(play.id, coins.answer(play))
    assert handed_out == exp.recommend().plays == 50


def test_what_a_policy_was_told_of_parallel_plays_stands_unless_told_otherwise():
    policy = lb.LinkedElimination(0.1, parallel=16)
    assert lb.Experiment("ab", policy).policy.parallel == 16
    assert lb.Experiment("ab", policy, parallel=4).policy.parallel == 4
    for exp in (lb.Experiment("ab", policy), lb.Experiment("ab", policy, parallel=4)):
        assert lb.Experiment.from_json(exp.to_json()).policy == exp.policy
        assert lb.Experiment.from_json(exp.to_json(), policy=policy).policy == exp.policy


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", "b", "a"], "label 'a' stands for 2 arms"),
        ([1, True], "label 1 stands for 2 arms"),
        (["a"], "at least two"),
        (["a", None], "label None is no text, number or boolean"),
        (["a", ("b", "c")], "use one that JSON can hold"),
        (["a", float("nan")], "label nan"),
        (["a", ["b"]], "label"),
        (5, "5 is no list of labels"),
    ],
)
def test_bad_labels_are_named(labels, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.Experiment(labels, lb.UniformSampling(samples=1))


def test_labels_of_every_kind_survive_saving():
    labels = ["text", 7, 2.5, False, ""]
    exp = lb.Experiment(labels, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, 2.5)
    read = lb.Experiment.from_json(exp.to_json())
    assert read.arms == tuple(labels)
    assert [type(label) for label in read.arms] == [type(label) for label in labels]


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_a_saved_experiment_goes_on_exactly_where_it_stopped(policy, linkage):
    if not LINKAGES[linkage].allows(policy.asks):
        with pytest.raises(lb.InvalidParameter):
            lb.Experiment(range(4), policy, linkage=linkage)
        return
    means = [0.2, 0.7, 0.4, 0.1]
    exp = lb.Experiment(range(4), policy, linkage=linkage, seed=4)
    coins, out = CoinFlipper(means, 5), []
    for step in range(120):
        if exp.done:
            break
        out += ask_up_to(exp, 1)
        if step % 3 and out:  # a third of the plays stay out for a while
            play = out.pop(0)
            exp.tell(play.id, coins.answer(play))
    text = exp.to_json()
    read = lb.Experiment.from_json(text)
    assert read.to_json() == text
    assert read.recommend() == exp.recommend()
    if not exp.done:
        assert [play.arms for play in ask_up_to(read, 5)] == [play.arms for play in ask_up_to(exp, 5)]


@pytest.mark.parametrize("policy", [lb.LinkedElimination(delta=1e-60), lb.LinkedDuels(delta=1e-30)], ids=policy_id)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), saved_every=st.integers(1, 30))
def test_saving_again_and_again_leaves_no_trace_however_many_plays_are_out(policy, seed, saved_every):
    def lead(saved_every):
        chance, out = random.Random(seed), []
        exp = lb.Experiment(range(6), policy, parallel=60)
        for step in range(60):
            if out and chance.random() < 0.5:
                chance.shuffle(out)
                for play in [out.pop() for _ in range(min(len(out), chance.randint(1, 30)))]:
                    if chance.random() < 0.1:
                        exp.abandon(play.id)
                    else:
                        exp.tell(play.id, chance.choice([None, *play.arms]))
            else:
                out += ask_up_to(exp, min(chance.randint(1, 12), 60 - len(out)))
            if step % saved_every == saved_every - 1:
                exp = lb.Experiment.from_json(exp.to_json())
        return exp.to_json()

    assert lead(saved_every) == lead(1000)


ENDS = {
    "confident": (lb.LinkedElimination(delta=0.05), None, ("confident", 0.05)),
    "confident, the two best": (lb.LinkedElimination(delta=0.05, k=2), None, ("confident", 0.05)),
    "confident without a proof": (lb.LinkedEGE(delta=0.05, gap=0.3), None, ("confident", None)),
    "the budget is used up": (lb.LinkedElimination(delta=0.05), 7, ("exhausted", None)),
    "the budget is used up, the two best": (lb.LinkedElimination(delta=0.05, k=2), 7, ("exhausted", None)),
    "a policy that just uses what it was given": (lb.UniformSampling(samples=4), None, ("exhausted", None)),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_verdict_is_the_same_after_saving(end):
    """Status, plays and bound: a budget that is used up proves nothing, not after a restart either."""
    policy, max_plays, said = ENDS[end]
    exp = run_live([0.05, 0.9, 0.5], policy, "ordered", seed=1, max_plays=max_plays)
    verdict = exp.recommend()
    assert (verdict.status, verdict.error_bound) == said
    read = lb.Experiment.from_json(exp.to_json())
    restored = lb.Experiment.restore(json.loads(json.dumps(exp.snapshot())), exp.answers)
    for again in (read, restored, lb.Experiment.from_json(read.to_json())):
        assert again.done
        assert again.recommend() == verdict
        assert again.recommend().top == verdict.top


@pytest.mark.parametrize("told", [0, 1, 5])
@pytest.mark.parametrize("policy", [lb.LinkedElimination(delta=0.05), lb.LinkedElimination(delta=0.05, k=2)])
def test_without_a_verdict_there_is_none_after_saving_either(policy, told):
    exp = lb.Experiment(POINTS, policy, max_plays=100)
    for _ in range(told):
        exp.tell(exp.ask().id, "south")
    exp.ask()
    read = lb.Experiment.from_json(exp.to_json())
    assert not read.done
    assert read.recommend() == exp.recommend()
    assert (read.recommend().status, read.recommend().plays, read.recommend().error_bound) == ("running", told, None)


def test_a_late_answer_changes_nothing_about_a_verdict_that_was_saved():
    exp = lb.Experiment(POINTS, lb.LinkedElimination(delta=0.05), max_plays=2)
    given_up = exp.ask()
    exp.abandon(given_up.id)
    for _ in range(2):
        exp.tell(exp.ask().id, "south")
    verdict = exp.recommend()
    assert (verdict.status, verdict.plays, verdict.error_bound) == ("exhausted", 2, None)
    read = lb.Experiment.from_json(exp.to_json())
    assert read.tell(given_up.id, "north") == "late"
    assert read.recommend() == lb.Experiment.from_json(read.to_json()).recommend() == verdict


def test_a_snapshot_and_its_answers_are_the_experiment():
    exp = run_live([0.2, 0.6, 0.4], lb.LinkedElimination(delta=0.01), "ordered", seed=3)
    snapshot = json.loads(json.dumps(exp.snapshot()))
    assert lb.Experiment.restore(snapshot, exp.answers).to_json() == exp.to_json()


def test_a_snapshot_does_not_grow_with_the_plays():
    """A tenth of the plays are given up, and three are out at any time."""
    exp = lb.Experiment(range(4), lb.LinkedElimination(delta=1e-100))
    sizes, coins, out = [], CoinFlipper([0.3, 0.301, 0.302, 0.303], 1), []
    for number in range(12_000):
        if number in (2_000, 11_999):
            sizes.append(len(json.dumps(exp.snapshot())))
        out.append(exp.ask())
        if len(out) > 3:
            play = out.pop(0)
            if number % 10:
                exp.tell(play.id, coins.answer(play))
            else:
                exp.abandon(play.id)
    assert sizes[1] < 1.2 * sizes[0]


@pytest.mark.parametrize("policy", [lb.LinkedElimination(0.1), lb.LinkedTrackAndStop(0.1)], ids=policy_id)
def test_evidence_grows_to_the_level_at_which_arms_are_dropped(policy):
    exp = lb.Experiment(range(3), policy)
    assert exp.evidence() == [0.0, 0.0, 0.0]
    coins = CoinFlipper([0.2, 0.7, 0.3], 2)
    dropped: set[int] = set()
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, coins.answer(play))
        evidence = exp.evidence()
        for arm, estimate in enumerate(exp.estimates()):
            if not estimate.still_in and arm not in dropped:
                dropped.add(arm)
                assert evidence[arm] >= 1.0  # 1/delta is ten
            elif estimate.still_in:
                assert evidence[arm] < 1.0
    assert dropped == {0, 2}


@pytest.mark.parametrize(
    "policy", [lb.LinkedElimination(0.1, k=2), lb.LinkedElimination(0.1, epsilon=0.05)], ids=policy_id
)
def test_an_arm_with_evidence_at_the_level_is_not_in(policy):
    exp = lb.Experiment(range(4), policy)
    coins, highest = CoinFlipper([0.1, 0.8, 0.7, 0.2], 2), 0.0
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, coins.answer(play))
        evidence = [value for value, e in zip(exp.evidence(), exp.estimates(), strict=True) if e.still_in]
        highest = max(highest, *evidence)
    assert 0.5 < highest < 1.0


def test_most_policies_keep_no_evidence():
    assert lb.Experiment("ab", lb.UniformSampling(delta=0.1)).evidence() is None


def test_spare_plays_that_nobody_wants_are_forgotten_by_age(monkeypatch):
    """An odd policy that never asks the same tuple twice; its spare plays would pile up for ever."""
    monkeypatch.setattr("linkedbandits.live.requests.MOST_SPARES", 20)
    exp = lb.Experiment(range(3), lb.SuffixUCB(delta=1e-9))
    waiting = ask(exp, 5)
    coins = CoinFlipper([0.4, 0.5, 0.6], 3)
    for _ in range(2_000):
        waiting.append(exp.ask())
        play = waiting.pop(0)
        exp.tell(play.id, coins.answer(play))
    rows = exp.snapshot()["request"]["rows"]
    assert sum(len(row["plays"]) for row in rows) <= 20 + 6
    assert len(rows) <= 20 + 7


def test_a_policy_of_ones_own_is_passed_again():
    class Own(lb.UniformSampling):
        name = "own"

    text = lb.Experiment(POINTS, Own(samples=3)).to_json()
    with pytest.raises(lb.UnknownName, match=r"unknown policy 'own'.*from_json\(text, policy=...\)"):
        lb.Experiment.from_json(text)
    assert lb.Experiment.from_json(text, policy=Own(samples=3)).ask().arms == POINTS
    with pytest.raises(lb.DamagedSave, match="was saved with"):
        lb.Experiment.from_json(text, policy=Own(samples=4))


class LiveUse(RuleBasedStateMachine):
    """Many plays in flight, answered in any order, twice, late or never, with restarts in between.

    Whatever happens, the totals are those of the plays told, and nothing is counted twice.
    """

    plays = Bundle("plays")

    @initialize(
        linkage=st.sampled_from(list(LINKAGES)),
        policy=st.sampled_from([lb.UniformSampling(delta=0.3, calibration="plain"), lb.LilUCB(delta=0.3)]),
        seed=st.integers(0, 5),
    )
    def begin(self, linkage, policy, seed):
        self.exp = lb.Experiment(range(4), policy, linkage=linkage)
        self.coins = CoinFlipper([0.2, 0.5, 0.3, 0.4], seed)
        self.told: dict[int, tuple[lb.Play, object]] = {}
        self.abandoned: set[int] = set()
        self.asked = 0

    @rule(target=plays)
    @precondition(lambda self: not self.exp.done)
    def ask(self):
        self.asked += 1
        return self.exp.ask()

    @rule(play=consumes(plays))
    def tell(self, play):
        hit = self.coins.answer(play)
        receipt = self.exp.tell(play.id, hit)
        assert (receipt == "late") == (play.id in self.abandoned or (self.finished_before(play)))
        self.told[play.id] = (play, hit)

    def finished_before(self, play):
        return self.exp.done and self.exp.recommend().plays <= len(self.told)

    @rule(play=plays)
    def abandon(self, play):
        self.exp.abandon(play.id)
        self.abandoned.add(play.id)

    @rule()
    @precondition(lambda self: self.told)
    def tell_again(self):
        play, hit = self.told[max(self.told)]
        assert self.exp.tell(play.id, hit) == "repeated"

    @rule()
    def restart(self):
        self.exp = lb.Experiment.from_json(self.exp.to_json())

    @invariant()
    def totals_are_those_of_the_plays_told(self):
        if not hasattr(self, "exp"):
            return
        expected = np.zeros((4, 2), dtype=int)
        for play, hit in self.told.values():
            reached = play.arms if hit is None else play.arms[: play.arms.index(hit) + 1]
            expected[list(reached), 0] += 1
            if hit is not None:
                expected[hit, 1] += 1
        assert np.transpose(self.exp.samples_of_means()).tolist() == expected.tolist()
        assert self.exp.plays == len(self.told)
        request = self.exp.snapshot()["request"]
        assert all(free <= left for free, left in zip(request["free"], request["remaining"], strict=True))
        gone = len(self.abandoned - self.told.keys())
        assert self.exp.in_flight == self.asked - len(self.told) - gone


TestLiveUse = LiveUse.TestCase
TestLiveUse.settings = settings(max_examples=15, stateful_step_count=50)


@pytest.mark.parametrize("policy", [lb.LilUCB(delta=0.3), lb.LinkedElimination(delta=0.1), lb.SuffixUCB(delta=0.3)])
def test_from_some_arm_on_every_play_goes_on_to_the_last_arm_however_many_are_out(policy):
    """Plays beyond what is needed, too, and those of a copy that was saved on the way."""
    exp = lb.Experiment(range(4), policy, linkage="suffix")
    coins, out = CoinFlipper([0.3, 0.2, 0.5, 0.1], seed=2), []
    for step in range(300):
        out.append(exp.ask())
        assert out[-1].arms == tuple(range(out[-1].arms[0], 4))
        if len(out) > 12:
            play = out.pop(step % 7)
            exp.tell(play.id, coins.answer(play))
        if step % 50 == 0:
            exp = lb.Experiment.from_json(exp.to_json())
        if exp.done:
            break


class Ledger(lb.UniformSampling):
    """Four requests of fifteen samples each, and a record of all that the policy was shown."""

    name = "ledger"

    def observe(self, state, counts):
        super().observe(state, counts)
        state.stopped = state.samples >= 4 * self.samples


def play_with_slow_failures(exp: lb.Experiment, coins: CoinFlipper, held: int) -> None:
    """Tell successes at once, and hold back failures until more than ``held`` are waiting, oldest first."""
    waiting: list[lb.Play] = []
    while not exp.done:
        play = exp.ask()
        hit = coins.answer(play)
        if hit is None:
            waiting.append(play)
        else:
            exp.tell(play.id, hit)
        if len(waiting) > held and not exp.done:
            exp.tell(waiting.pop(0).id, None)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("held", [8, 60])
@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_slow_failures_do_not_bias_what_the_policy_sees(linkage, held):
    """Over several requests with many plays out, the counts of two arms of mean 0.5 stay binomial.

    50 runs with 120 samples: the share of successes has a standard error of 0.0065, and a limit of five of them has a
    false alarm below 1e-6. Counting answers as they come gives 0.55 and more.
    """
    shares = []
    for seed in range(50):
        exp = lb.Experiment(range(2), Ledger(samples=15), linkage=linkage)
        play_with_slow_failures(exp, CoinFlipper([0.5, 0.5], seed), held)
        shares.append(sum(exp.state_as_json()["successes"]["values"]) / 120)
    assert abs(np.mean(shares) - 0.5) < 5 * 0.0065


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_the_guarantee_survives_slow_failures(linkage):
    """A proved policy with hundreds of failures held back: at delta = 0.1, two wrong of five have probability 0.08."""
    wrong = 0
    for seed in range(5):
        exp = lb.Experiment(range(3), lb.UniformSampling(delta=0.1), linkage=linkage)
        play_with_slow_failures(exp, CoinFlipper([0.5, 0.2, 0.2], seed), held=300)
        wrong += exp.recommend().arm != 0
    assert wrong <= 1


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_estimates_count_every_arm_that_was_tried(linkage):
    """Also those that a play had to try though nothing more was needed of them."""
    exp = lb.Experiment("abcd", lb.LinkedElimination(1e-30), linkage=linkage)
    rng = np.random.default_rng(3)
    chances = dict(zip("abcd", (0.5, 0.2, 0.3, 0.1), strict=True))
    samples, successes = Counter(), Counter()
    for _ in range(150):
        play = exp.ask()
        for arm in play.arms:
            samples[arm] += 1
            if rng.random() < chances[arm]:
                successes[arm] += 1
                exp.tell(play.id, arm)
                break
        else:
            exp.tell(play.id, None)
    assert [estimate.samples for estimate in exp.estimates()] == [samples[arm] for arm in "abcd"]
    assert [estimate.successes for estimate in exp.estimates()] == [successes[arm] for arm in "abcd"]


def test_a_verdict_names_what_its_policy_assumes_also_after_it_was_saved():
    for linkage, assumes in (("ordered", ASSUMES), ("single", ())):
        exp = lb.Experiment(POINTS, lb.LinkedElimination(delta=0.05), linkage=linkage)
        read = lb.Experiment.from_json(exp.to_json())
        assert exp.recommend().assumes == read.recommend().assumes == assumes
        assert tuple(assumption.name for assumption in read.assumptions) == assumes
        assert "assumes" not in exp.to_json()  # it is the policy's to say


def told(times: int, hit: str = "east") -> lb.Experiment:
    exp = lb.Experiment(POINTS, lb.LinkedElimination(0.05))
    for _ in range(times):
        play = exp.ask()
        exp.tell(play.id, hit if hit in play.arms else None)
    return exp


def test_an_experiment_prints_where_it_stands_in_one_line():
    assert repr(told(0)) == "Experiment(3 arms, linked-elimination, ordered: nothing played yet)"
    assert repr(told(3)) == "Experiment(3 arms, linked-elimination, ordered: 'east' leads after 3 plays, 3 still in)"
    exp = lb.Experiment(["a", "b"], lb.UniformSampling(samples=1))
    exp.tell(exp.ask().id, None)
    assert repr(exp) == "Experiment(2 arms, uniform-sampling, ordered: 'a' after 1 play, exhausted, not proved)"


def test_one_with_a_guarantee_prints_its_error_bound_and_all_arms_it_names():
    exp = lb.Experiment("abc", lb.LinkedElimination(0.1, k=2), linkage="single")
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, play.arms[0] if play.arms[0] != "b" else None)
    assert repr(exp).endswith(f"'a', 'c' after {exp.plays} plays, confident, error at most 0.1)")


def test_one_that_only_read_its_log_says_so():
    log = lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), None)] * 2)
    exp = lb.Experiment("ab", lb.LinkedElimination(0.05), linkage="single", log=log)
    assert repr(exp) == "Experiment(2 arms, linked-elimination, single: 'a' leads, by its log alone)"


def test_a_debugger_can_print_it_where_its_lock_is_held(monkeypatch):
    monkeypatch.setattr(experiment, "LONGEST_WAIT_FOR_A_TEXT", 0.01)
    exp = told(0)
    with exp._lock, ThreadPoolExecutor(1) as other:
        assert other.submit(repr, exp).result(timeout=30) == "Experiment(3 arms, linked-elimination, ordered: busy)"
    assert "busy" not in repr(exp)


def test_in_a_notebook_it_is_a_table_of_its_arms():
    exp = lb.Experiment(["<script>", "b"], lb.LinkedElimination(0.05))
    exp.tell(exp.ask().id, "<script>")
    html = exp._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt; leads after 1 play, 2 still in." in html
    assert "Experiment: 2 arms, linked-elimination, ordered" in html


def test_its_picture_has_a_row_for_each_arm(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    exp = lb.Experiment([1, 2, 3], lb.LinkedElimination(0.05))
    exp.tell(exp.ask().id, 2)
    figure = exp.plot()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "3"]
    assert axes.get_title(loc="left") == "2 leads after 1 play, 3 still in"
    for ending in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"arms.{ending}")
        assert (tmp_path / f"arms.{ending}").stat().st_size > 1000
    assert exp.plot(ax=axes) is axes


def test_without_a_policy_one_that_assumes_nothing_decides():
    exp = lb.Experiment(POINTS)
    assert (exp.policy, exp.linkage, exp.assumptions) == (lb.LinkedDuels(0.05), "free", ())
    assert lb.Experiment.from_json(exp.to_json()).policy == exp.policy
