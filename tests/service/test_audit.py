"""Who did what, beside what was done."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service.audit import MOST_REFUSALS, SERVICE, Actor, new_entry
from linkedbandits.service.desk import Desk
from linkedbandits.service.succession import succeed
from tests.support.service_parts import SETUP, ManualClock, create

WEB = Actor("token", "1a2b", "web")
ALICE = Actor("user", name="alice")


def seen(store, **wanted):
    with store.reading() as tables:
        return tables.audit(100, **wanted)


def test_changes_and_who_made_them_are_one_transaction(each_store):
    with Desk(each_store, clock=ManualClock()) as desk:
        experiment = desk.create(SETUP, "gateways", by=WEB).result().id
        desk.set_status(experiment, "paused", ALICE).result()
        desk.set_status(experiment, "paused", ALICE).result()  # it is already
        desk.set_status(experiment, "running", ALICE).result()
        desk.set_tags(experiment, ["eu"], ALICE).result()
        desk.set_tags(experiment, ["eu"], ALICE).result()  # it has them already
        desk.set_status(experiment, "archived", WEB).result()
        with pytest.raises(lb.WrongState):
            desk.set_status(experiment, "running", ALICE).result()
        desk.delete(experiment, by=ALICE).result()
    found = sorted((entry.action, entry.by, entry.subject) for entry in seen(each_store))
    assert found == sorted(
        [
            ("create", WEB, experiment),
            ("pause", ALICE, experiment),
            ("resume", ALICE, experiment),
            ("tag", ALICE, experiment),
            ("archive", WEB, experiment),
            ("delete", ALICE, experiment),
        ]
    )
    (deleted,) = seen(each_store, action="delete")
    assert (deleted.at, deleted.details) == (1_000.0, {"name": "gateways", "was": "archived"})


def test_a_successor_says_who_asked_for_it(store):
    with Desk(store) as desk:
        first = create(desk)
        second = succeed(store, desk, first, None, False, "a change", ALICE).id
        assert succeed(store, desk, first, None, False, "again", WEB).id == second
    (entry,) = seen(store, action="succeed")
    assert (entry.subject, entry.by, entry.details) == (first, ALICE, {"successor": second, "why": "a change"})
    assert [entry.by for entry in seen(store, subject=second)] == [ALICE]


def test_pages_go_back_in_time_and_can_be_narrowed(each_store):
    with each_store.writing() as tables:
        for number in range(7):
            action = "pause" if number % 2 else "resume"
            tables.add_audit(new_entry(action, ALICE, 1_700_000_000.0 + number, f"x{number % 3}", number=number))
    first = numbers(each_store, 3)
    with each_store.reading() as tables:
        last = tables.audit(3)[-1].id
    assert (first, numbers(each_store, 3, last), numbers(each_store, 10, last)) == ([6, 5, 4], [3, 2, 1], [3, 2, 1, 0])
    assert numbers(each_store, 10, action="pause") == [5, 3, 1]
    assert numbers(each_store, 10, subject="x0") == [6, 3, 0]
    assert numbers(each_store, 10, since=1_700_000_004.0) == [6, 5, 4]


def numbers(store, limit, before=None, **wanted):
    with store.reading() as tables:
        return [entry.details["number"] for entry in tables.audit(limit, before, **wanted)]


def test_refused_sign_ins_cannot_fill_the_store(each_store):
    with each_store.writing() as tables:
        tables.add_audit(new_entry("create", ALICE, 0.5, "kept"))
        for number in range(25):
            tables.add_audit(new_entry("sign-in-refused", SERVICE, float(number), number=number))
            tables.forget_refusals(10)
    refused = seen(each_store, action="sign-in-refused")
    assert 10 <= len(refused) <= 11
    assert refused[0].details == {"number": 24}
    assert len(seen(each_store, action="create")) == 1
    assert MOST_REFUSALS == 10_000


def test_what_is_old_can_be_forgotten(each_store):
    with each_store.writing() as tables:
        for at in (1.0, 2.0, 3.0):
            tables.add_audit(new_entry("create", ALICE, at))
    with each_store.writing() as tables:
        assert tables.forget_audit(2.5) == 2
    assert [entry.at for entry in seen(each_store)] == [3.0]


def test_what_is_not_known_of_somebody_is_not_said():
    assert SERVICE.to_json() == {"kind": "service"}
    assert WEB.to_json() == {"kind": "token", "id": "1a2b", "name": "web"}
