"""The experiments of a chain, for the record."""

from __future__ import annotations

import json

from linkedbandits.chain.history import LONGEST_WHY, Era, options_changed, short
from linkedbandits.live import Before
from linkedbandits.model import Verdict

VERDICT = Verdict("b", "confident", 300, 0.05, ("b", "a"), assumes=("independent options",))


def test_an_era_is_the_same_when_it_was_saved():
    for era in (Era(("a", "b"), began=1.0), Era(("a", "b"), VERDICT, 1.0, 2.0).over(3.0, "drift", "drift: so it is")):
        assert Era.from_json(json.loads(json.dumps(era.to_json()))) == era


def test_what_a_successor_says_of_the_experiment_before():
    era = Era.before(Before("drift: b", ("a", "b"), 300, "b", "confident", 0), ("b", "a"))
    assert (era.arms, era.verdict.arm, era.verdict.plays, era.reason, era.why) == (
        ("a", "b"),
        "b",
        300,
        "drift",
        "drift: b",
    )
    wider = Era.before(Before("more", ("a", "b"), 30, "b", "exhausted", 30), ("b", "a", "c"))
    assert (wider.verdict, wider.reason) == (None, "options")


def test_what_came_and_went_is_named():
    assert options_changed(["a"], ["a", "b", "c"]) == "options: added 'b', 'c'"
    assert options_changed(["a", "b"], ["a"]) == "options: removed 'b'"


def test_a_reason_fits_wherever_it_is_kept():
    from linkedbandits.service.records import check_text

    long = options_changed(["a"], ["a", 300 * "b", "c\n"])
    assert len(long) == LONGEST_WHY
    for why in (long, short("a\nb"), short("drift")):
        check_text("why", why)
    assert short("drift: so it is") == "drift: so it is"
