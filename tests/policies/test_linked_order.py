"""LinkedOrder: valid at every place, on the very lines that run, and the greedy order is what it finds."""

from __future__ import annotations

import itertools
from collections import defaultdict
from math import factorial, prod

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.model import Counts
from linkedbandits.policies import make_policy
from linkedbandits.world import JointWorld

TABLE = lb.OutcomeTable(
    [[1, 1, 0, 0]] * 44 + [[1, 0, 0, 0]] * 6 + [[0, 0, 1, 0]] * 22 + [[0, 0, 1, 1]] * 3 + [[0, 0, 0, 1]] * 12,
)
"""By marginals 0, 1, 2, 3; but 1 rescues nothing: the greedy order is 0, 2, 3, 1."""
TIED = lb.OutcomeTable([[1, 1, 1, 0]] * 40 + [[1, 0, 0, 0]] * 20 + [[0, 1, 0, 0]] * 10 + [[0, 0, 1, 0]] * 10)
"""Behind option 0 the options 1 and 2 tie, and behind those 3 is good for nothing."""


def start(policy, arms, lanes=1):
    return policy.start(lanes, arms, np.arange(lanes, dtype=np.uint64))


def outcomes_of_plays(tried, times, law, arms):
    """All hits that so many plays of a tuple can have, at each place of it, with their chances under the law."""
    ends = np.zeros(len(tried) + 1)
    for request, weight in zip(itertools.product((0, 1), repeat=arms), law, strict=True):
        ends[next((place for place, arm in enumerate(tried) if request[arm]), len(tried))] += weight
    for hits in itertools.product(range(times + 1), repeat=len(ends)):
        if sum(hits) == times:
            ways = factorial(times) / prod(map(factorial, hits))
            yield hits[:-1], ways * float(np.prod(ends ** np.array(hits)))


def after_a_block(policy, state, law, arms):
    """All states of one lane after its next block, with their chances."""
    request = policy.request(state)
    asked = np.flatnonzero(request.times[0])
    each = []
    for choice in asked:
        tried = [arm for arm in request.order[0, choice].tolist() if arm >= 0]
        each.append(list(outcomes_of_plays(tried, int(request.times[0, choice]), law, arms)))
    hits, chances = [], []
    for outcome in itertools.product(*each):
        whole = np.zeros(request.order.shape[1:], dtype=np.int64)
        for choice, (ended, _) in zip(asked, outcome, strict=True):
            whole[choice, : len(ended)] = ended
        hits.append(whole)
        chances.append(prod(chance for _, chance in outcome))
    paths = type(state).from_json(state.to_json())
    paths.keep(np.zeros(len(chances), dtype=np.int64))
    nothing = np.zeros((len(chances), arms), dtype=np.int64)
    policy.observe(paths, Counts(nothing, nothing, hits=np.array(hits)))
    return paths, np.array(chances)


def wealth(policy, state):
    return 10.0 ** policy.log10_evidence(state)


def one_of(rng, policy, state, law, arms):
    """The state after a block that went by chance."""
    paths, chances = after_a_block(policy, state, law, arms)
    paths.keep(rng.choice(len(chances), 1, p=chances / chances.sum()))
    return paths


def give_first_place(policy, state, option, law, arms, rng):
    """Refute all others by hand: the option has the place after the next block."""
    state.still_in = np.arange(arms)[np.newaxis] == option
    return one_of(rng, policy, state, law, arms)


def laws_with_a_best(arms, first, best, lead, rng, count):
    """Joint laws under which an option is the best behind the first, by at least the lead: corners, and random ones."""
    requests = np.array(list(itertools.product((0, 1), repeat=arms)))
    corners = list(np.eye(len(requests)))
    corners += [(one + two) / 2 for one, two in itertools.combinations(corners, 2)]
    found = []
    for law in (*corners, *rng.dirichlet([0.15] * len(requests), 20 * count)):
        gains = (law * (1 - requests[:, first])) @ requests
        if gains[best] >= np.delete(gains, [first, best]).max() + lead - 1e-12:
            found.append(law)
    rng.shuffle(found)
    return found[:count]


@pytest.mark.parametrize("gap", [None, 0.05])
@pytest.mark.parametrize("arms", [3, 4])
def test_at_the_second_place_the_mean_evidence_against_its_best_option_does_not_grow(arms, gap):
    """All outcomes of a block after pasts of another law, with plays that miss their duel among them."""
    policy = lb.LinkedOrder(delta=1e-9, places=2, gap=gap)
    rng = np.random.default_rng(8)
    grew = steps = 0
    for past in range(5 if arms == 3 else 3):
        misleading = rng.dirichlet([0.3] * 2**arms)
        first = int(rng.integers(arms))
        state = start(policy, arms)
        for _ in range(int(rng.integers(1, 4))):
            state = one_of(rng, policy, state, misleading, arms)
        state = give_first_place(policy, state, first, misleading, arms, rng)
        assert state.place.tolist() == [1]
        assert wealth(policy, state)[0] == pytest.approx(1 / 2)  # all begins anew, with half of delta
        for _ in range(int(rng.integers(1, 25 if arms == 3 else 5))):
            state = one_of(rng, policy, state, misleading, arms)
            if state.step[0] > 1:  # more plays of a tuple have too many outcomes to go through
                break
        steps = max(steps, int(state.step[0]))
        now = wealth(policy, state)[0]
        for best in set(range(arms)) - {first}:
            for law in laws_with_a_best(arms, first, best, gap or 0.0, rng, 40 if arms == 3 else 12):
                paths, chances = after_a_block(policy, state, law, arms)
                assert chances.sum() == pytest.approx(1.0)
                mean = chances @ wealth(policy, paths)
                assert mean[best] <= now[best] * (1 + 1e-12), (past, first, best, law)
                grew += int((mean > now * 1.0001).any())
    assert grew > 20  # against others it does
    assert arms == 4 or steps > 1


def test_the_mean_would_grow_with_a_bet_turned_round():
    """The enumeration can fail; also if twice too much is given back for plays that miss their duel."""
    policy = lb.LinkedOrder(delta=1e-9, places=2)
    rng = np.random.default_rng(9)
    law = np.array([0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1])
    state = give_first_place(policy, start(policy, 3), 0, law, 3, rng)
    for _ in range(8):
        state = one_of(rng, policy, state, law, 3)
    rival = 3 - int(state.leader[0])
    for part, times in ((5, -1), (6, 2)):
        turned = type(state).from_json(state.to_json())
        turned.bets[0, rival, part] *= times
        worst = 0.0
        for other in laws_with_a_best(3, 0, rival, 0.0, rng, 200):
            paths, chances = after_a_block(policy, turned, other, 3)
            worst = max(worst, float(chances @ wealth(policy, paths)[:, rival]) / wealth(policy, turned)[0, rival])
        assert worst > 1.001


def found(kinds, policy, trials, **given):
    world = kinds.world(trials, seed=5)
    return lb.simulate(kinds.means, policy, linkage="free", world=world, trials=trials, seed=5, **given)


@pytest.mark.statistical
@pytest.mark.parametrize("gap", [None, 0.02])
def test_it_finds_the_greedy_order(gap):
    """At delta 0.2, 100 correct runs have over 40 errors with probability 2e-6; in fact nearly all are right."""
    assert TABLE.greedy_order() == (0, 2, 3, 1)
    runs = found(TABLE, lb.LinkedOrder(0.2, places=4, gap=gap), 100)
    assert runs.confident.all()
    assert runs.plays.mean() < 4000
    right = (runs.top == TABLE.greedy_order()).all(axis=1)
    assert right.sum() >= 60
    assert right.mean() > 0.95


@pytest.mark.statistical
@pytest.mark.slow
def test_all_places_together_are_wrong_at_most_as_often_as_told():
    """Near ties at both places, so that errors are made. 400 runs at delta 0.3 have over 170 with probability 1e-7."""
    kinds = lb.OutcomeTable(
        [[1, 1, 0]] * 30 + [[1, 0, 0]] * 20 + [[0, 1, 0]] * 13 + [[0, 1, 1]] * 3 + [[0, 0, 1]] * 8 + [[0, 0, 0]] * 26
    )
    runs = found(kinds, lb.LinkedOrder(0.3, places=2), 400)
    wrong = 0
    for order in runs.top.tolist():
        best = [kinds.gains(order[:place]).max() for place in range(2)]
        wrong += any(kinds.gains(order[:place])[order[place]] < best[place] - 1e-9 for place in range(2))
    assert runs.confident.all()
    assert wrong <= 170


def live(kinds, policy, plays, seed=3, between=lambda exp: exp, **given):
    """An experiment on requests of a table, and what was played."""
    rng = np.random.default_rng(seed)
    exp = lb.Experiment(range(kinds.means.size), policy, linkage="free", seed=seed, **given)
    played = []
    for _ in range(plays):
        if exp.done:
            break
        row = kinds.chances[rng.choice(len(kinds.weights), p=kinds.weights)]
        play = exp.ask()
        exp.tell(play.id, next((arm for arm in play.arms if row[arm]), None))
        played.append(play.arms)
        exp = between(exp)
    return exp, played


def test_a_tie_is_passed_over_if_a_gap_is_told():
    exp, _ = live(TIED, lb.LinkedOrder(0.1, places=4, gap=0.03), 100_000)
    verdict = exp.recommend()
    assert verdict.status == "confident"
    assert verdict.arm == 0
    assert set(verdict.top[1:3]) == {1, 2}
    assert verdict.top[3] == 3
    assert verdict.settled == (True, True, True, True)


def test_a_gap_makes_runs_shorter():
    plain, told = (found(TABLE, lb.LinkedOrder(0.1, places=3, gap=gap), 50).plays.mean() for gap in (None, 0.08))
    assert told < 0.6 * plain
    assert found(TIED, lb.LinkedOrder(0.1, places=4, gap=0.03), 50).plays.mean() < 4000


def test_without_a_gap_a_tie_ends_with_the_plays_and_says_what_was_settled():
    exp, _ = live(TIED, lb.LinkedOrder(0.1, places=3), 100_000, max_plays=3000)
    verdict = exp.recommend()
    assert (verdict.status, verdict.plays, verdict.error_bound) == ("budget", 3000, None)
    assert verdict.top[0] == 0
    assert verdict.top[2] != 3  # behind 0, and behind whoever leads, the other of the two
    assert verdict.settled == (True, False, False)


def test_plays_begin_with_the_options_that_have_their_places():
    exp, played = live(TABLE, lb.LinkedOrder(0.1, places=3), 100_000)
    order = exp.recommend().top
    assert order == (0, 2, 3)
    lengths = [len(arms) for arms in played]
    assert lengths == sorted(lengths)
    assert set(lengths) == {2, 3, 4}
    for arms in played:
        assert arms[:-2] == order[: len(arms) - 2]
    last = [arms[-2:] for arms in played if len(arms) == 4]
    assert last.count((1, 3)) == last.count((3, 1)) > 10


def test_it_goes_on_from_the_middle_of_a_place():
    policy = lb.LinkedOrder(0.05, places=3, gap=0.02)
    straight, played = live(TABLE, policy, 100_000)
    at = [place for place, arms in enumerate(played) if len(arms) == 3][37]
    reads = 0

    def save_and_read(exp):
        nonlocal reads
        if exp.plays != at:
            return exp
        reads += 1
        assert exp.recommend().settled == (True, False, False)
        again = lb.Experiment.from_json(exp.to_json())
        assert again.recommend() == exp.recommend()
        return again

    resumed, again = live(TABLE, policy, 100_000, between=save_and_read)
    assert (reads, played) == (1, again)
    assert resumed.recommend() == straight.recommend()
    assert resumed.snapshot() == straight.snapshot()


class Played(JointWorld):
    """What was played live, by tuple: each play ends as the next one of its tuple did then."""

    def __init__(self, played, exp):
        self.ends = defaultdict(list)
        for play, arms in enumerate(played):
            self.ends[arms].append(exp.answers[play])

    def keep(self, lanes):
        pass

    def hits(self, order, times):
        hits = np.zeros_like(order)
        for _ in range(int(times[0])):
            arms = [arm for arm in order[0].tolist() if arm >= 0]
            hit = self.ends[tuple(arms)].pop(0)
            if hit >= 0:
                hits[0, arms.index(hit)] += 1
        return hits


def test_a_simulation_on_what_was_played_live_goes_the_same_way():
    policy = lb.LinkedOrder(0.05, places=3, gap=0.02)
    exp, played = live(TABLE, policy, 100_000)
    world = Played(played, exp)
    runs = lb.simulate(TABLE.means, policy, linkage="free", world=world, trials=1, seed=3)
    verdict = exp.recommend()
    assert (verdict.plays, verdict.top) == (runs.plays[0], tuple(runs.top[0].tolist()))
    assert exp.run.totals()[0].tolist() == runs.samples[0].tolist()
    assert not any(world.ends.values())


def test_lanes_come_to_their_places_in_their_own_time():
    """Twelve lanes side by side go as each does alone, on the same outcomes."""
    policy = lb.LinkedOrder(0.2, places=3, gap=0.05)
    lanes, limit = 12, np.full(12, 2**40)
    together, world = start(policy, 4, lanes), TABLE.world(lanes, seed=2)
    alone = [start(policy, 4, lanes) for _ in range(lanes)]
    for lane, state in enumerate(alone):
        state.keep(np.array([lane]))
    stages = set()
    for _ in range(60):
        request = policy.request(together)
        counts = fulfil(request, limit, 4, LINKAGES["free"], world).counts
        policy.observe(together, counts)
        for lane, state in enumerate(alone):
            assert np.array_equal(policy.request(state).times[0], request.times[lane])
            policy.observe(state, counts.take(np.array([lane])))
        assert np.array_equal(policy.answer(together), [policy.answer(state)[0] for state in alone])
        assert np.array_equal(policy.log10_evidence(together), [policy.log10_evidence(state)[0] for state in alone])
        stages.add(tuple(np.unique(together.place)))
        if together.stopped.any():
            break
    assert max(map(len, stages)) > 1


def test_one_place_takes_what_duels_take():
    runs = found(TABLE, lb.LinkedOrder(0.1, places=1), 50)
    duels = found(TABLE, lb.LinkedDuels(0.1), 50)
    assert np.array_equal(runs.plays, duels.plays)
    assert np.array_equal(runs.top, duels.top)


def test_only_the_first_place_is_judged_by_means():
    runs = found(TABLE, lb.LinkedOrder(0.1, places=2), 30)
    assert (runs.top[:, 1] == 2).mean() > 0.8  # which is no second best mean
    assert runs.error_rate() == np.mean(runs.arm != 0)


def test_more_places_than_options_are_refused():
    with pytest.raises(lb.InvalidParameter, match="places=4 of 3 options; choose at most 3"):
        lb.Experiment("abc", lb.LinkedOrder(0.1, places=4), linkage="free")
    assert lb.Experiment("abc", lb.LinkedOrder(0.1, places=3), linkage="free").ask().arms


@pytest.mark.parametrize("linkage", ["ordered", "single", "suffix"])
def test_other_linkages_are_refused_with_the_remedy(linkage):
    with pytest.raises(lb.LinkageMismatch, match="use linkage 'free'"):
        lb.Experiment("abc", lb.LinkedOrder(0.1), linkage=linkage)


@pytest.mark.parametrize(
    "given",
    [{"delta": 0.0}, {"delta": 0.1, "places": 0}, {"delta": 0.1, "places": 2.0}, {"delta": 0.1, "gap": 0.0}],
)
def test_parameters_that_make_no_sense_are_refused(given):
    with pytest.raises(lb.InvalidParameter):
        make_policy("linked-order", given)
