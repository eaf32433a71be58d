"""What a token is limited to."""

from __future__ import annotations

import pytest

from linkedbandits.service.scopes import EVERYTHING, Line, Scope

LINES = {
    "a": Line("shop/gateways", None),
    "b": Line("shop/gateways", "a"),
    "c": Line("shop/gateways", "b"),
    "other": Line("models", None),
    "orphan": Line("models", "deleted"),
    "ring": Line("ring", "ring"),
}


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        (EVERYTHING, set(LINES)),
        (Scope(frozenset({"a"})), {"a", "b", "c"}),
        (Scope(frozenset({"b"})), {"b", "c"}),
        (Scope(frozenset({"nowhere"})), set()),
        (Scope(frozenset({"deleted"})), {"orphan"}),
        (Scope(prefixes=("shop/",)), {"a", "b", "c"}),
        (Scope(frozenset({"other"}), ("shop/", "x")), {"a", "b", "c", "other"}),
    ],
    ids=["all", "one", "a later one", "none", "what goes on from a deleted one", "a prefix", "both"],
)
def test_it_covers_what_it_names_and_what_goes_on_from_that(scope, covered):
    assert {name for name in LINES if scope.covers(name, LINES.get)} == covered
    assert scope.covers("unheard of", LINES.get) == (scope is EVERYTHING)
    assert Scope.from_text(scope.to_text()) == scope


def test_a_name_is_covered_by_how_it_begins_alone():
    assert EVERYTHING.covers_name("x")
    assert Scope(prefixes=("shop/",)).covers_name("shop/new")
    assert not Scope(prefixes=("shop/",)).covers_name("Shop/new")
    assert not Scope(frozenset({"a"})).covers_name("shop/new")


def test_more_experiments_can_be_added():
    assert Scope(frozenset({"a"}), ("x",)).also(frozenset({"b"})) == Scope(frozenset({"a", "b"}), ("x",))


@pytest.mark.parametrize(
    ("scope", "hidden"),
    [
        (EVERYTHING, set()),
        (Scope(frozenset({"a"})), set()),
        (Scope(frozenset({"b"})), {"b"}),
        (Scope(frozenset({"a", "c"})), set()),
        (Scope(frozenset({"orphan"})), {"orphan"}),
        (Scope(frozenset({"orphan"}), ("models",)), set()),
        (Scope(prefixes=("shop/",)), set()),
    ],
    ids=["all", "the first", "a later one", "both ends", "of a deleted one", "a deleted one of the name", "a prefix"],
)
def test_what_one_goes_on_from_is_covered_if_it_is_covered_itself(scope, hidden):
    covered = {name for name in LINES if scope.covers(name, LINES.get)}
    assert {name for name in covered if not scope.covers_before(name, LINES.get)} == hidden
