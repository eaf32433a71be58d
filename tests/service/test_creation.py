"""An experiment is created once for each key, whoever creates it and however often."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.live import WarmStart
from linkedbandits.service.creation import Creation
from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.service_parts import SETUP
from tools.waiting import SECONDS, join

LOG = lb.Attempts.from_plays([(("north", "east"), "east"), (("south",), None)] * 20)
WARM = WarmStart.of(LOG, SETUP.arms, "first", "refuse")
ONCE = Creation(SETUP, "directions", key="k")


def test_the_same_key_gets_the_same_experiment_also_after_a_restart(store_url):
    for creation in (ONCE, replace(ONCE, warm=WARM, key="with a log")):
        found = []
        for _ in range(2):
            with closing(open_store(store_url)) as store, Desk(store) as desk:
                found += [desk.create_once(creation).result() for _ in range(2)]
                assert desk.record(found[0].record.id).result() == found[0].record
        assert {created.record.id for created in found} == {found[0].record.id}
        assert [created.repeated for created in found] == [False, True, True, True]


def test_without_a_key_or_with_another_it_is_a_new_one(desk):
    creations = [ONCE, replace(ONCE, key="other"), replace(ONCE, key=None), replace(ONCE, key=None)]
    assert len({desk.create_once(creation).result().record.id for creation in creations}) == 4
    assert len(desk.records().result()) == 4


def test_what_became_of_it_does_not_matter(desk):
    experiment = desk.create_once(ONCE).result().record.id
    desk.ask(experiment, 3).result()
    desk.set_status(experiment, "archived").result()
    again = desk.create_once(ONCE).result()
    assert (again.record.id, again.record.status, again.repeated) == (experiment, "archived", True)


def test_the_tags_count_that_it_was_created_with(desk):
    tagged = replace(ONCE, tags=("eu", "cards"))
    experiment = desk.create_once(tagged).result().record.id
    assert desk.tags(experiment).result() == ("eu", "cards")
    desk.set_tags(experiment, ["us"]).result()
    assert desk.create_once(tagged).result().record.id == experiment
    assert desk.tags(experiment).result() == ("us",)
    with pytest.raises(lb.InvalidParameter, match="other tags"):
        desk.create_once(replace(tagged, tags=("us",))).result()
    with pytest.raises(lb.InvalidParameter, match="twice"):
        desk.create_once(replace(tagged, tags=("eu", "eu"), key=None)).result()


OTHER_LOG = lb.Attempts.from_plays([(("east", "north"), "north"), (("south",), None)] * 20)


@pytest.mark.parametrize(
    "other",
    [
        replace(ONCE, name="gateways"),
        replace(ONCE, setup=replace(SETUP, seed=1)),
        replace(ONCE, setup=replace(SETUP, arms=("north", "south", "east"))),
        replace(ONCE, warm=WARM),
        replace(ONCE, tags=("eu",)),
    ],
    ids=["name", "seed", "arms", "log", "tags"],
)
def test_a_key_for_something_else_is_refused(desk, other):
    first = desk.create_once(ONCE).result().record
    with pytest.raises(lb.InvalidParameter, match=f"'k' was used to create experiment '{first.id}', .* use a new key"):
        desk.create_once(other).result()
    assert desk.records().result() == [first]


def test_another_log_of_the_same_size_is_something_else(desk):
    other = WarmStart.of(OTHER_LOG, SETUP.arms, "first", "refuse")
    assert (other.requests, other.samples) == (WARM.requests, WARM.samples)
    desk.create_once(replace(ONCE, warm=WARM)).result()
    with pytest.raises(lb.InvalidParameter):
        desk.create_once(replace(ONCE, warm=other)).result()


def test_labels_that_are_equal_in_python_alone_are_not_the_same(desk):
    desk.create_once(replace(ONCE, setup=replace(SETUP, arms=(1, 2)))).result()
    with pytest.raises(lb.InvalidParameter):
        desk.create_once(replace(ONCE, setup=replace(SETUP, arms=(True, 2)))).result()


def test_a_key_that_cannot_be_kept_is_refused(desk):
    with pytest.raises(lb.InvalidParameter, match="key="):
        desk.create_once(replace(ONCE, key="a\0b")).result()


def test_two_processes_at_once_create_one_experiment(store_url):
    """The second looks for the key before the first has committed, and finds nothing yet."""
    found = []
    with closing(open_store(store_url)) as one, closing(open_store(store_url)) as two, Desk(two) as desk:

        def create():
            found.append(desk.create_once(ONCE).result(SECONDS))

        thread = threading.Thread(target=create)
        with one.writing() as writing:
            first = ONCE.carry_out(writing, 1.0)
            thread.start()
            thread.join(0.2)  # so that it is waiting by now, most of the time
        join(thread)
        with two.reading() as reading:
            assert [record.id for record in reading.records()] == [first.record.id]
    assert [(created.record.id, created.repeated) for created in found] == [(first.record.id, True)]


def test_a_key_whose_experiment_is_removed_meanwhile_is_to_be_tried_again():
    class Removed:
        """A store in which somebody was faster, and is gone again."""

        def created_with(self, key):
            return None

        def create(self, record, log, key, tags):
            return False

    with pytest.raises(lb.StoreUnavailable, match="try again"):
        ONCE.carry_out(Removed(), 1.0)


def test_a_key_is_known_to_those_alone_who_share_its_space(desk):
    spaces = (None, "shop", "eu")
    made = [desk.create_once(replace(ONCE, name=f"in {space}", key_space=space)).result().record for space in spaces]
    assert len({record.id for record in made}) == 3
    for space, record in zip(spaces, made, strict=True):
        mine = replace(ONCE, name=f"in {space}", key_space=space)
        again = desk.create_once(mine).result()
        assert (again.record.id, again.repeated) == (record.id, True)
        with pytest.raises(lb.InvalidParameter, match=record.id):
            desk.create_once(replace(mine, name="another")).result()


def test_a_key_from_before_there_were_spaces_is_still_known_for_the_same(desk, store):
    first = desk.create_once(ONCE).result().record
    again = desk.create_once(replace(ONCE, key_space="shop")).result()
    assert (again.record.id, again.repeated) == (first.id, True)
    with store.writing() as writing:
        writing._run("UPDATE experiments SET setup = '{' WHERE id = ?", first.id)
    assert desk.create_once(replace(ONCE, key_space="shop")).result().record.id != first.id
