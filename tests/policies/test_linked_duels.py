"""LinkedDuels: valid on the very lines that run, whatever depends on what."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.model import Counts
from linkedbandits.policies import make_policy
from linkedbandits.policies.linked_duels import _bets, reserve


def start(policy, arms, lanes=1):
    return policy.start(lanes, arms, np.arange(lanes, dtype=np.uint64))


def outcomes_of_block(tuples, law, arms):
    """All outcomes of one play of each tuple, as hits (outcomes, tuples, 2), with their chances under the law."""
    requests = list(itertools.product((0, 1), repeat=arms))
    each = []
    for tried in tuples:
        ends = np.zeros(3)
        for request, weight in zip(requests, law, strict=True):
            place = next((place for place, arm in enumerate(tried) if request[arm]), 2)
            ends[place] += weight
        each.append(ends)
    hits, chances = [], []
    for places in itertools.product(range(3), repeat=len(tuples)):
        hits.append([[place == 0, place == 1] for place in places])
        chances.append(np.prod([ends[place] for ends, place in zip(each, places, strict=True)]))
    return np.array(hits, dtype=np.int64), np.array(chances)


def wealth(policy, state):
    return 10.0 ** policy.log10_evidence(state)


def mean_wealth_after_a_block(policy, state, law, arms):
    """The mean evidence against each arm after the next block of a state of one lane, and the states themselves."""
    request = policy.request(state)
    asked = np.flatnonzero(request.times[0])
    assert (request.times[0, asked] == 1).all()
    hits, chances = outcomes_of_block(request.order[0, asked].tolist(), law, arms)
    paths = type(state).from_json(state.to_json())
    paths.keep(np.zeros(len(chances), dtype=np.int64))
    whole = np.zeros((len(chances), 2 * arms, 2), dtype=np.int64)
    whole[:, asked] = hits
    nothing = np.zeros((len(chances), arms), dtype=np.int64)
    policy.observe(paths, Counts(nothing, nothing, hits=whole))
    return chances @ wealth(policy, paths), paths


def test_capital_that_was_carried_over_counts_in_full_and_grows_no_more_in_the_mean():
    """Exact over all outcomes of a block; an option is out at 1/delta, with what was carried over in it."""
    policy = lb.LinkedDuels(delta=0.01)
    capital = np.array([[3.0, 0.2, 40.0]])
    rng = np.random.default_rng(7)
    for best in range(3):
        for law in laws_with_a_best(3, best, 0.0, rng, 10):
            state = start(policy, 3)
            policy.carry_over(state, capital)
            assert wealth(policy, state) == pytest.approx(capital)
            for _ in range(2):
                before = wealth(policy, state)[0, best]
                mean, paths = mean_wealth_after_a_block(policy, state, law, 3)
                assert mean[best] <= before + 1e-12
                state = paths.take(np.array([rng.integers(paths.leader.size)]))
    refuted = start(policy, 3)
    policy.carry_over(refuted, np.array([[99.0, 100.0, 1.0]]))
    assert refuted.still_in.tolist() == [[True, False, True]]


def test_an_option_is_dropped_when_what_was_carried_over_times_what_was_made_reaches_one_over_delta():
    """On every path of three blocks, of which some cross the threshold and would not without what was carried over."""
    policy, law = lb.LinkedDuels(delta=0.01), [0.1, 0.15, 0.6, 0.15]
    state = start(policy, 2)
    policy.carry_over(state, np.array([[1.0, 95.0]]))
    for _ in range(3):
        _, paths = mean_wealth_after_a_block(policy, state, law, 2)
        enough = wealth(policy, paths) >= 100.0
        assert (paths.still_in == ~enough).all()
        if enough.any():
            assert (wealth(policy, paths) / paths.carried < 100.0).all()
            break
        state = paths.take(np.array([wealth(policy, paths)[:, 1].argmax()]))
    assert enough.any()


def laws_with_a_best(arms, best, lead, rng, count):
    """Joint laws with an arm that is ahead of all others by at least the lead: corners, and sparse ones at random."""
    requests = np.array(list(itertools.product((0, 1), repeat=arms)))
    found = []
    for one, two in itertools.product(range(len(requests)), repeat=2):  # half of the requests of either kind
        law = np.zeros(len(requests))
        law[one] += 0.5
        law[two] += 0.5
        found.append(law)
    found += list(rng.dirichlet([0.15] * len(requests), 50 * count))

    def is_best(law):
        means = law @ requests
        return means[best] >= np.delete(means, best).max() + lead - 1e-12

    found = [law for law in found if is_best(law)]
    rng.shuffle(found)
    return found[:count]


@pytest.mark.parametrize("gap", [None, 0.1])
def test_all_paths_of_two_arms(gap):
    """Four blocks of two plays, 6561 paths: the evidence against the best arm never grows in the mean."""
    policy = lb.LinkedDuels(delta=1e-6, gap=gap)
    rng = np.random.default_rng(5)
    for best in (0, 1):
        for law in laws_with_a_best(2, best, gap or 0.0, rng, 25):
            state, chances = start(policy, 2), np.ones(1)
            before = 1.0
            for _ in range(4):
                times = policy.request(state).times
                assert (times.max(axis=1) == 1).all()
                leaders = state.leader
                paths, weights = [], []
                for leader in (0, 1):
                    rows = np.flatnonzero(leaders == leader)
                    rival = 1 - leader
                    tuples = [(rival, leader), (leader, rival)]
                    hits, ends = outcomes_of_block(tuples, law, 2)
                    paths.append((np.repeat(rows, len(ends)), np.tile(hits, (rows.size, 1, 1)), rival))
                    weights.append(np.repeat(chances[rows], len(ends)) * np.tile(ends, rows.size))
                state.keep(np.concatenate([rows for rows, _, _ in paths]))
                whole = np.zeros((state.leader.size, 4, 2), dtype=np.int64)
                at = 0
                for rows, hits, rival in paths:
                    whole[at : at + rows.size, [rival, 2 + rival]] = hits
                    at += rows.size
                nothing = np.zeros((state.leader.size, 2), dtype=np.int64)
                policy.observe(state, Counts(nothing, nothing, hits=whole))
                chances = np.concatenate(weights)
                assert chances.sum() == pytest.approx(1.0)
                after = float(chances @ wealth(policy, state)[:, best])
                assert after <= before + 1e-12
                before = after


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("gap", [None, 0.05])
def test_after_any_past_the_mean_evidence_against_the_best_arm_does_not_grow(arms, gap):
    """The past is played under quite another law, so the leader is anyone and the bets may be far off."""
    policy = lb.LinkedDuels(delta=1e-9, gap=gap)
    rng = np.random.default_rng(6)
    grew = 0
    for past in range(15):
        state = start(policy, arms)
        misleading = rng.dirichlet([0.3] * 2**arms)
        for _ in range(int(rng.integers(1, 20))):
            _, paths = mean_wealth_after_a_block(policy, state, misleading, arms)
            paths.keep(rng.integers(0, paths.leader.size, 1))
            state = paths
        for best in range(arms):
            now = wealth(policy, state)[0]
            for law in laws_with_a_best(arms, best, gap or 0.0, rng, 6):
                mean, _ = mean_wealth_after_a_block(policy, state, law, arms)
                assert mean[best] <= now[best] * (1 + 1e-12), (past, best, law)
                grew += int((np.delete(mean, best) > np.delete(now, best)).any())
    assert grew > 20  # against others it does


def test_the_mean_would_grow_with_a_bet_turned_round():
    """The enumeration can fail: with one bet turned round, some law makes the evidence against its best arm grow."""
    policy = lb.LinkedDuels(delta=1e-9)
    rng = np.random.default_rng(7)
    state = start(policy, 2)
    law = np.array([0.1, 0.1, 0.6, 0.2])
    for _ in range(10):
        _, paths = mean_wealth_after_a_block(policy, state, law, 2)
        paths.keep(rng.integers(0, paths.leader.size, 1))
        state = paths
    rival = 1 - int(state.leader[0])
    state.bets[0, rival, 5] = -state.bets[0, rival, 5]
    worst = max(
        mean_wealth_after_a_block(policy, state, law, 2)[0][rival] / wealth(policy, state)[0, rival]
        for law in laws_with_a_best(2, rival, 0.0, rng, 200)
    )
    assert worst > 1.001


ANTITHETIC = [[1, 0, 0]] * 34 + [[0, 1, 0]] * 33 + [[0, 0, 1]] * 33
TOGETHER = [[1, 1, 1]] * 40 + [[1, 0, 0]] * 6 + [[0, 1, 0]] * 5 + [[0, 0, 0]] * 49
RESCUER = [[1, 0, 0]] * 50 + [[1, 1, 0]] * 10 + [[0, 1, 0]] * 38 + [[0, 0, 1]] * 2


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [
        lb.OutcomeTable(TOGETHER),
        lb.OutcomeTable(RESCUER),
        lb.SharedDifficulty([0.5, 0.4, 0.35], 0.9),
        lb.SharedDifficulty([0.5, 0.4, 0.4], 0.9, against=[0]),
    ],
    ids=["together", "rescuer", "difficulty", "against"],
)
def test_it_is_wrong_at_most_as_often_as_told(kinds):
    """On correct code it fails with probability below 1e-6: so rarely 400 runs at delta 0.2 have over 122 errors."""
    runs = lb.simulate(
        kinds.means, lb.LinkedDuels(0.2), linkage="free", world=kinds.world(400, seed=3), trials=400, seed=3
    )
    assert runs.confident.all()
    assert (runs.arm != 0).sum() <= 122
    again = lb.simulate(
        kinds.means, lb.LinkedDuels(0.2), linkage="free", world=kinds.world(400, seed=3), trials=400, seed=3
    )
    assert np.array_equal(runs.plays, again.plays)


@pytest.mark.statistical
def test_a_near_tie_of_options_that_take_turns():
    """The worst there is: each request has one option that works. Errors as above, 200 runs, at most 70: below 1e-6."""
    kinds = lb.OutcomeTable(ANTITHETIC)
    runs = lb.simulate(
        kinds.means,
        lb.LinkedDuels(0.2),
        linkage="free",
        world=kinds.world(200, seed=4),
        trials=200,
        seed=4,
        max_plays=20_000,
    )
    assert (runs.confident & (runs.arm != 0)).sum() <= 70


def test_a_gap_that_is_told_makes_runs_shorter():
    policy, told = lb.LinkedDuels(0.1), lb.LinkedDuels(0.1, gap=0.1)
    plain, short = (lb.simulate([0.5, 0.4, 0.4], one, linkage="free", trials=200, seed=1) for one in (policy, told))
    assert short.plays.mean() < 0.6 * plain.plays.mean()
    assert short.error_rate() <= 0.2


@pytest.mark.parametrize("linkage", ["ordered", "single", "suffix"])
def test_other_linkages_are_refused_with_the_remedy(linkage):
    with pytest.raises(lb.InvalidParameter, match="use linkage 'free'"):
        lb.simulate([0.5, 0.2], lb.LinkedDuels(0.1), linkage=linkage, trials=2)
    with pytest.raises(lb.InvalidParameter, match="use linkage 'free'"):
        lb.Experiment("ab", lb.LinkedDuels(0.1), linkage=linkage)
    assert LINKAGES["free"].allows(lb.LinkedDuels.asks)


def test_the_k_best_are_refused():
    with pytest.raises(lb.InvalidParameter, match="linked-duels has no parameter 'k'"):
        make_policy("linked-duels", {"delta": 0.1, "k": 2})
    with pytest.raises(lb.InvalidParameter, match=r"k=2: LinkedDuels finds the one best option; .* linked-elimination"):
        lb.LinkedDuels(0.1, k=2)
    assert lb.LinkedDuels(0.1, k=1) == lb.LinkedDuels(0.1)


@pytest.mark.parametrize("given", [{"delta": 0.0}, {"delta": 0.1, "gap": 0.0}, {"delta": 0.1, "gap": 1.5}])
def test_parameters_that_make_no_sense_are_refused(given):
    with pytest.raises(lb.InvalidParameter):
        lb.LinkedDuels(**given)


def test_rare_successes_and_rare_failures_come_to_an_end():
    for means in ([1e-5, 1e-6], [1 - 1e-5, 1 - 1e-4]):
        runs = lb.simulate(means, lb.LinkedDuels(0.1), linkage="free", trials=20, seed=2)
        assert runs.confident.all()
        assert (runs.arm == 0).mean() > 0.7


def test_an_arm_that_was_dropped_by_bad_luck_returns_and_the_run_ends():
    """The best arm is dropped by hand; of those left two tie, and only it can tell that neither is best."""
    policy = lb.LinkedDuels(0.1)
    kinds = lb.OutcomeTable([[1, 0, 0]] * 30 + [[0, 1, 1]] * 20 + [[1, 1, 1]] * 20 + [[0, 0, 0]] * 30)
    world = kinds.world(20, seed=1)
    state = start(policy, 3, lanes=20)
    state.still_in[:, 0] = False
    for _ in range(400):
        step = fulfil(policy.request(state), np.full(state.leader.size, 2**40), 3, LINKAGES["free"], world)
        policy.observe(state, step.counts)
        world.keep(~state.stopped)
        state.keep(~state.stopped)
        if not state.leader.size:
            break
    assert not state.leader.size


def test_live_duels_come_in_both_orders_at_random():
    exp = lb.Experiment("ab", lb.LinkedDuels(1e-9), linkage="free", seed=3)
    firsts = []
    for _ in range(400):
        play = exp.ask()
        assert len(play.arms) == 2
        firsts.append(play.arms[0])
        exp.tell(play.id, None)
    runs = 1 + sum(one != two for one, two in itertools.pairwise(firsts))
    assert abs(firsts.count("a") - 200) < 20  # the last block may not be over
    assert 150 < runs < 330


def test_the_reserve_starts_whole():
    assert reserve(np.array([0])).tolist() == [1.0]


def growth_told_a_gap(mean, rescue, gap, rivals, share):
    """What each stake gains in a block on average, where all rates are known: a number for each of the two.

    The leader succeeds with chance ``mean`` as first and is ahead by ``share`` of the gap; ``rescue`` is how often the
    rival succeeds after the leader has failed. None where no law has such rates.
    """
    lead = share * gap
    own, lost = mean - lead, (1 - mean) * rescue + lead
    if own <= 0 or lost > 1 - own:
        return None
    step, led = np.array([10.0]), np.array([10.0 * rivals])
    middle = (led * mean + step * own) / (led + step)
    rescued = (lost + (1 - mean) * rescue) / (2 - mean - own)
    known = np.array([lead]), np.array([1e-9])
    bets = _bets(middle, np.array([rescued]), (led, step), known, gap)
    return bets.log_factor(led * mean, step * mean, step * own, step * lost, step * (1 - mean) * rescue)[:, 0]


def test_told_a_gap_evidence_grows_whatever_the_lead_is():
    """Ties and true gaps included: then every run ends. Exactly, on a grid of means, rates of rescue and gaps."""
    cases = itertools.product(
        (0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999),
        (0.002, 0.02, 0.2, 0.5, 0.8, 0.98),
        (0.0005, 0.01, 0.1, 0.3, 0.9),
        (1, 4, 49, 499),
        (0.0, 0.1, 0.5, 1.0),
    )
    grown = [growth for growth in itertools.starmap(growth_told_a_gap, cases) if growth is not None]
    assert len(grown) > 3000
    assert min(growth[0] for growth in grown) > 0
    assert min(growth[1] for growth in grown) < 0  # larger bets alone would not do


@pytest.mark.parametrize(
    ("means", "gap"), [([0.3] * 50, 0.1), ([0.1] * 12, 0.1), ([0.02] + [0.01] * 30, 0.01), ([0.9] * 3, 0.02)], ids=str
)
def test_told_a_gap_every_run_ends(means, gap):
    runs = lb.simulate(means, lb.LinkedDuels(0.1, gap=gap), linkage="free", trials=40, seed=1, max_plays=10**7)
    assert runs.confident.all()
