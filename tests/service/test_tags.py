"""Tags: few, short, and there for all who look."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.succession import succeed
from linkedbandits.service.tags import LONGEST_TAG, MOST_TAGS, check_tags
from tests.support.service_parts import SETUP


@pytest.mark.parametrize(
    "tags",
    [["a"] * 2, [""], ["a,b"], [" a"], ["x" * (LONGEST_TAG + 1)], ["a\n"], [f"{n}" for n in range(MOST_TAGS + 1)]],
    ids=str,
)
def test_what_are_no_tags_is_refused(desk, tags):
    with pytest.raises(lb.InvalidParameter, match="tags"):
        check_tags(tags)
    with pytest.raises(lb.InvalidParameter):
        desk.create(SETUP, "x", tags=tags).result()


def test_tags_are_there_after_a_restart_for_other_processes_and_in_a_successor(store, clock):
    check_tags(["eu", "x" * LONGEST_TAG])

    def tags_by(desk):
        return desk.read(experiment, lambda hosted: hosted.tags).result()

    with Desk(store, clock=clock) as desk, Desk(store, clock=clock) as other:
        experiment = desk.create(SETUP, "x", tags=["eu"]).result().id
        assert tags_by(other) == ("eu",)
        record = desk.set_tags(experiment, ["eu", "cards"]).result()
        assert tags_by(other) == ("eu", "cards")
        assert desk.set_tags(experiment, ["eu", "cards"]).result().head == record.head  # nothing has changed
        desk.set_status(experiment, "paused").result()
        successor = succeed(store, desk, experiment, None, keep=False, why="changed").id
        desk.set_status(experiment, "archived").result()
        desk.set_tags(experiment, []).result()
    with Desk(store, clock=clock) as desk:
        assert tags_by(desk) == ()
        assert desk.tags(successor).result() == ("eu", "cards")
        assert desk.record(experiment).result().status == "archived"
