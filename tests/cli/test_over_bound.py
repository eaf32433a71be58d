"""The bound as the command line says it."""

from __future__ import annotations

from linkedbandits.assumptions import ToldDifference
from linkedbandits.bounds import BoundAsTold
from linkedbandits.cli.over_bound import bound_data, bound_note, bound_sentence, over_bound

NONE = BoundAsTold(None, None, "arms tie")
TOLD = BoundAsTold(50.0, ToldDifference(odds_ratio=2.5))


def test_policies_without_a_bound_for_the_same_reason_are_named_together():
    other = BoundAsTold(None, None, "it is late")
    note = bound_note([("a", NONE), ("b", TOLD), ("c", NONE), ("d", other)])
    assert note == (
        "Over bound is plays over what no policy that is told as much can beat (* is told an odds ratio of 2.5). "
        "There is no bound for a, c: arms tie. There is no bound for d: it is late."
    )


def test_what_was_told_is_said_of_one_policy():
    assert bound_sentence(TOLD, 200.0) == (
        "That is 4.0 times the 50 plays that no policy told an odds ratio of 2.5 can beat."
    )
    assert bound_sentence(NONE, 200.0) == "There is no bound to compare with: arms tie."


def test_figures_and_what_stands_in_their_place():
    assert (over_bound(TOLD, 200.0), over_bound(NONE, 200.0)) == ("4.0", "-")
    assert bound_data(TOLD, 200.0) == {
        "told": {"gap": None, "odds_ratio": 2.5},
        "lower_bound": 50.0,
        "over_bound": 4.0,
        "no_bound_because": None,
    }
