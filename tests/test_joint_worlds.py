"""Worlds whose options fail together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, fulfil
from linkedbandits.model import Needs, Repeats, Tuples

ROWS = [[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]]


def ends_by_hand(rows, tried):
    places = [next((place for place, arm in enumerate(tried) if row[arm]), len(tried)) for row in rows]
    return np.bincount(places, minlength=len(tried) + 1) / len(rows)


def test_where_the_plays_of_a_tuple_end():
    table = lb.OutcomeTable(ROWS)
    for size in (1, 2, 3):
        for tried in itertools.permutations(range(3), size):
            assert table.ends(tried) == pytest.approx(ends_by_hand(ROWS, tried))
    assert table.means == pytest.approx(np.mean(ROWS, axis=0))


def attempts_by_hand(rows, order):
    return np.mean([next((place for place, arm in enumerate(order, 1) if row[arm]), len(order)) for row in rows])


def test_what_an_order_takes_and_serves():
    table = lb.OutcomeTable(ROWS)
    for order in itertools.permutations(range(3)):
        assert table.attempts(order) == pytest.approx(attempts_by_hand(ROWS, order))
        assert table.served(order) == pytest.approx(7 / 8)
        assert table.served(order[:1]) == pytest.approx(table.means[order[0]])
        left = [row for row in ROWS if not row[order[0]]]
        assert table.gains(order[:1]) == pytest.approx(np.sum(left, axis=0) / 8)


def test_the_greedy_order_puts_next_what_serves_most_of_the_rest():
    table = lb.OutcomeTable([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert table.greedy_order() == (0, 2, 1)
    assert table.attempts((0, 2, 1)) < table.attempts((0, 1, 2))
    assert lb.OutcomeTable([[0, 1, 1], [1, 0, 0]]).greedy_order() == (0, 1, 2)  # the first of equals
    assert lb.SharedDifficulty([0.5, 0.6, 0.55], 0.99, against=[0]).greedy_order() == (1, 0, 2)


def test_gains_of_kinds_with_chances():
    kinds = lb.SharedDifficulty([0.5, 0.6, 0.4], 0.7)
    assert kinds.gains([1])[0] == pytest.approx(kinds.ends([1, 0])[1])
    assert kinds.gains([1, 0])[2] == pytest.approx(kinds.ends([0, 1, 2])[2])
    assert kinds.gains([]) == pytest.approx(kinds.means)


@pytest.mark.statistical
@pytest.mark.parametrize("tried", [(1,), (0, 2), (2, 0), (1, 2, 0), (1, 0, -1)])
def test_many_plays_are_one_draw_of_their_counts(tried):
    """Chi-square over 3000 lanes of 40 plays, at most 4 cells: above 45 with probability below 1e-8."""
    table = lb.OutcomeTable(ROWS)
    lanes = 3000
    order = np.tile(tried, (lanes, 1))
    hits = table.world(lanes, seed=2).hits(order, np.full(lanes, 40))
    arms = [arm for arm in tried if arm >= 0]
    expected = ends_by_hand(ROWS, arms) * 40 * lanes
    found = np.append(hits.sum(axis=0)[: len(arms)], 40 * lanes - hits.sum())
    assert ((found - expected) ** 2 / expected).sum() < 45
    spread = hits[:, 0].var() / (40 * ends_by_hand(ROWS, arms)[0] * (1 - ends_by_hand(ROWS, arms)[0]))
    assert 0.85 < spread < 1.15


@pytest.mark.parametrize("trials", [50, 2000])
def test_a_world_for_other_trials_is_refused(trials):
    """Lanes that it does not have would be told of failures alone."""
    table = lb.OutcomeTable(ROWS)
    for policy in (lb.LinkedDuels(0.1), lb.LinkedElimination(0.1), lb.MaximalSampling(plays=5)):
        with pytest.raises(lb.InvalidParameter, match=rf"has {trials} lanes, and 100 .* a new one with trials=100"):
            lb.simulate(table.means, policy, linkage="free", world=table.world(trials), trials=100)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.99])
def test_a_shared_difficulty_keeps_the_means(correlation):
    means = [0.0, 1e-7, 0.2, 0.5, 0.999, 1.0]
    kinds = lb.SharedDifficulty(means, correlation, against=[3])
    assert kinds.means == pytest.approx(means, abs=1e-12)
    assert ((kinds.chances >= 0) & (kinds.chances <= 1)).all()


def test_the_harder_requests_share_failures():
    means = [0.5, 0.5]
    rescued = [float(lb.SharedDifficulty(means, share).ends([0, 1])[1]) for share in (0.0, 0.4, 0.9)]
    assert rescued[0] == pytest.approx(0.25)
    assert rescued[0] > rescued[1] > rescued[2]
    assert lb.SharedDifficulty(means, 0.9, against=[1]).ends([0, 1])[1] > 0.35


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0.5, 0.5], 1.0), "correlation=1.0"),
        (([0.5, 1.5], 0.5), "outside"),
        (([0.5, 0.5], 0.5, [2]), "against"),
    ],
)
def test_a_difficulty_that_makes_no_sense_is_refused(given, said):
    with pytest.raises((lb.InvalidParameter, lb.InvalidParameter), match=said):
        lb.SharedDifficulty(*given)


def test_a_table_from_a_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("request,a,b,seconds:a\n7,1,0,3.5\n8,0,0,1\n\n9,1,1,0.2\n")
    table = lb.OutcomeTable.read(path)
    assert table.options == ("a", "b")
    assert table.means == pytest.approx([2 / 3, 1 / 3])
    path.write_text("a,b,price\n1,0,3.5\n0,0,4\n")
    assert lb.OutcomeTable.read(path, options=["b", "a"]).means == pytest.approx([0.0, 0.5])


def test_a_row_may_stand_for_several_requests(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("count,a,b\n3,1,0\n1,0,1\n0,1,1\n")
    table = lb.OutcomeTable.read(path)
    assert table.options == ("a", "b")
    assert table.means == pytest.approx([0.75, 0.25])
    assert lb.OutcomeTable([[1, 0], [1, 0], [0, 1]], counts=[1, 2, 1]).ends([1, 0]) == pytest.approx([0.25, 0.75, 0])


def test_some_options_of_a_table_in_another_order():
    table = lb.OutcomeTable([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], ["a", "b", "c"])
    some = table.only(["c", "a"])
    assert (some.options, some.means.tolist()) == (("c", "a"), [0.25, 0.5])
    assert some.ends([1, 0]) == pytest.approx(table.ends([0, 2]))
    with pytest.raises(lb.InvalidParameter, match="no option 'd'; there are a, b, c"):
        table.only(["a", "d"])


@pytest.mark.parametrize("counts", [[1], [1, -1], [0, 0], [1, float("nan")]])
def test_counts_that_count_nothing_are_refused(counts):
    with pytest.raises(lb.InvalidParameter, match="a number of requests for each of 2 rows"):
        lb.OutcomeTable([[1, 0], [0, 1]], counts=counts)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a,b\n", None, "has no rows"),
        ("a,b\n1,0,1\n", None, "line 2 of .* has 3 cells, its header 2"),
        ("a,b\n1,\n", None, "'' in line 2, column 'b'"),
        ("request,a,b\nx,1,0\n\ny,2,1\n", None, "'2' in line 4, column 'a'"),
        ("id,a,b\nx,1,0\n", None, "'x' in line 2, column 'id' .* a column named request is not read"),
        ("a,b\n1,0\n", ["a", "c"], "has 0 columns 'c', not one; it has a, b"),
        ("a,a\n1,0\n", None, "has 2 columns 'a', not one"),
        ("request,a\nx,0\n", None, "two options or more"),
        ("count,a,b\nmany,1,0\n", None, "count 'many' in line 2 of .* is no number of requests"),
        ("count,a,b\n-1,1,0\n", None, "count '-1' in line 2"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, options, said):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.OutcomeTable.read(path, options)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(lb.CannotRead, match="give a CSV file"):
        lb.OutcomeTable.read(tmp_path / "none.csv")


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("limit", [7, 10**6])
def test_needs_are_met_in_whole_plays(linkage, limit):
    needs = np.array([[5, 3, 0], [1, 1, 1], [0, 0, 4], [20, 40, 10]])
    world = lb.OutcomeTable(ROWS).world(4, seed=1)
    step = fulfil(Needs(needs), np.full(4, limit), 3, LINKAGES[linkage], world)
    assert (step.counts.samples <= needs).all()
    assert (step.counts.samples[step.met] == needs[step.met]).all()
    assert (step.plays <= limit).all()
    assert step.met.all() == (limit > 7)
    assert (step.counts.successes <= step.counts.samples).all()


def test_a_policy_for_independent_arms_is_misled_by_a_world_that_is_not():
    """The second arm rescues just what the first fails on: tried in order it looks better than it is."""
    table = lb.OutcomeTable([[1, 0]] * 52 + [[0, 1]] * 48)
    runs = lb.simulate(table.means, lb.LinkedElimination(0.05), world=table.world(50, seed=1), trials=50)
    assert runs.confident.all()
    assert (runs.arm == 1).mean() > 0.9


def test_independent_arms_take_as_many_plays_as_coins():
    """Means of 300 runs each; they differ by more than 8 % with probability below 1e-4."""
    means = [0.4, 0.3, 0.2]
    kinds = lb.SharedDifficulty(means, 0.0)
    for linkage in LINKAGES:
        policy = lb.UniformSampling(samples=30)
        coins = lb.simulate(means, policy, linkage=linkage, trials=300, seed=1).plays.mean()
        joint = lb.simulate(means, policy, linkage=linkage, world=kinds.world(300, seed=2), trials=300).plays.mean()
        assert joint == pytest.approx(coins, rel=0.08)


def test_several_tuples_at_once():
    order = np.tile([[[0, 1], [1, 0], [2, -1]]], (5, 1, 1))
    times = np.array([[3, 0, 2]] * 5)
    request = Tuples(order, times, np.zeros(5, dtype=np.uint64))
    step = fulfil(request, np.full(5, 4), 3, LINKAGES["free"], lb.OutcomeTable(ROWS).world(5, seed=1))
    assert step.plays.tolist() == [4] * 5
    assert not step.met.any()
    whole = fulfil(request, np.full(5, 5), 3, LINKAGES["free"], lb.OutcomeTable(ROWS).world(5, seed=1))
    assert whole.met.all()
    assert whole.counts.hits.shape == (5, 3, 2)
    assert (whole.counts.samples[:, 0] == 3).all()
    assert (whole.counts.samples[:, 1] == 3 - whole.counts.hits[:, 0, 0]).all()
    assert (whole.counts.samples[:, 2] == 2).all()
    assert (whole.counts.successes.sum(axis=1) == whole.counts.hits.sum(axis=(1, 2))).all()
    one = fulfil(
        Repeats(order[:, 0], times[:, 0]), np.full(5, 9), 3, LINKAGES["free"], lb.OutcomeTable(ROWS).world(5, seed=1)
    )
    assert one.met.all()


@pytest.mark.parametrize("tried", [[2, 1], [2, 1, 0], [0, 1, 2]])
def test_options_that_always_succeed_do_so_whatever_rounding_says(tried):
    """Weights that add up to a little more than 1: so does the mean of an option that never fails."""
    for scale in (1.0, 3.0, 7.0, 0.7):
        counts = scale * np.full(3, 0.1).cumsum()[::-1]
        table = lb.OutcomeTable([[0, 0, 1], [0, 1, 1], [1, 1, 1]], counts=counts)
        times = np.array([1000, 7])
        hits = table.world(2, seed=1).hits(np.array([tried, tried]), times)
        assert (hits.sum(axis=1) == times).all()
        assert table.means.max() <= 1.0


def test_options_that_succeed_equally_often_tie_exactly():
    """Shares of requests that are added up in another order need not be equal."""
    table = lb.OutcomeTable([[1, 0], [1, 0], [1, 0], [0, 1]], counts=[1, 2, 3, 6])
    assert table.means[0] == table.means[1]
    spread = lb.OutcomeTable([[1, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1]], counts=[1, 4, 1, 2, 3])
    assert spread.means[0] == spread.means[1]


def test_the_digest_of_a_table_is_that_of_its_law():
    table = lb.OutcomeTable([[1, 0], [0, 1], [1, 0]])
    assert table.digest == lb.OutcomeTable([[0, 1], [1, 0], [1, 1]], counts=[1, 2, 0]).digest
    assert table.digest != lb.OutcomeTable([[1, 0], [0, 1], [0, 1]]).digest
    assert table.digest != lb.OutcomeTable([[1, 0], [0, 0], [1, 0]]).digest


def test_where_plays_of_two_end():
    table = lb.OutcomeTable(ROWS)
    for one, two in itertools.permutations(range(3), 2):
        assert table.ends_by_pair[4 * one + two + 1] == pytest.approx(ends_by_hand(ROWS, (one, two)))
        assert table.ends_by_pair[4 * one] == pytest.approx([table.means[one], 0, 1 - table.means[one]])


def test_tables_and_difficulties_print_their_means_and_not_their_rows():
    table = lb.OutcomeTable([[1, 1], [0, 1], [0, 1]], ["a", "b"], counts=[1000, 500, 500])
    assert repr(table) == "OutcomeTable(2,000 requests of 2 kinds, 2 options: {'a': 0.5, 'b': 1.0})"
    assert repr(lb.SharedDifficulty([0.6, 1 / 3], 0.5)) == (
        "SharedDifficulty(200 kinds of requests, 2 options: means [0.6, 0.3333])"
    )
