"""What a service does beside its requests."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from itertools import pairwise

import pytest

import linkedbandits as lb
from linkedbandits.service.http import housekeeping
from linkedbandits.service.http.handover import Handover
from linkedbandits.service.http.housekeeping import Housekeeping
from linkedbandits.service.http.sign_ins import RefusedSignIns
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.tables import Tables
from tests.support.service_parts import ManualClock, create
from tools.waiting import run_async


class AwayDesk:
    """Its store is away."""

    def note_refusals(self, details):
        failed: Future[None] = Future()
        failed.set_exception(lb.StoreUnavailable("gone"))
        return failed

    def erase(self, erasing):
        return self.note_refusals({})


def test_what_was_deleted_is_erased_soon(store, desk, monkeypatch):
    monkeypatch.setattr(housekeeping, "SECONDS_BETWEEN_LOOKS", 0.01)
    experiment = create(desk)

    async def work():
        keeping = Housekeeping(desk, Handover().bring, RefusedSignIns(ManualClock()))
        task = asyncio.create_task(keeping.run())
        await asyncio.sleep(0.05)
        desk.delete(experiment, force=True).result()
        assert store_has_rows(store)
        keeping.erase_soon()
        while store_has_rows(store):
            await asyncio.sleep(0.01)
        task.cancel()

    run_async(work())


def test_what_another_process_left_behind_is_erased_at_the_start(store, desk):
    experiment = create(desk)
    desk.delete(experiment, force=True).result()

    async def work():
        task = asyncio.create_task(Housekeeping(desk, Handover().bring, RefusedSignIns(ManualClock())).run())
        while store_has_rows(store):
            await asyncio.sleep(0.01)
        task.cancel()

    run_async(work())


def store_has_rows(store):
    with store.reading() as reading:
        return reading._rows("SELECT COUNT(*) FROM experiments")[0][0] > 0


def test_refusals_that_could_not_be_kept_are_not_forgotten():
    sign_ins = RefusedSignIns(ManualClock())
    sign_ins.refused("unknown token", "a")

    async def work():
        with pytest.raises(lb.StoreUnavailable):
            await Housekeeping(AwayDesk(), Handover().bring, sign_ins).keep_refusals()

    run_async(work())
    assert sign_ins.take(at_once=True)["times"] == 1


def test_it_goes_on_when_the_store_was_away(monkeypatch, caplog):
    monkeypatch.setattr(housekeeping, "SECONDS_BETWEEN_LOOKS", 0.01)

    async def work():
        keeping = Housekeeping(AwayDesk(), Handover().bring, RefusedSignIns(ManualClock()))
        monkeypatch.setattr(housekeeping, "SECONDS_UNTIL_ERASING", 0.0)
        task = asyncio.create_task(keeping.run())
        while [record.message for record in caplog.records].count("housekeeping-failed") < 2:
            await asyncio.sleep(0.01)
        assert not task.done()
        task.cancel()

    run_async(work())


def test_what_cannot_be_erased_is_tried_again_after_longer_and_longer_pauses(monkeypatch):
    tries = []

    class Counting(AwayDesk):
        def erase(self, erasing):
            tries.append(looks)
            return super().erase(erasing)

    async def work():
        nonlocal looks
        keeping = Housekeeping(Counting(), Handover().bring, RefusedSignIns(ManualClock()))
        for looks in range(2_000):  # noqa: B007 - it is noted above
            with suppress(lb.StoreUnavailable):
                await keeping._erase()

    looks = 0
    run_async(work())
    pauses = [after - before for before, after in pairwise(tries)]
    assert pauses[:7] == [5, 10, 20, 40, 80, 160, 320]
    assert set(pauses[7:]) == {600}


def test_one_that_cannot_be_erased_keeps_no_other_from_it(store, desk, monkeypatch, caplog):
    first, *others = sorted(create(desk) for _ in range(3))
    for experiment in (first, *others):
        desk.delete(experiment, force=True).result()
    whole = Tables._erase

    def erase(self, hidden, most):
        if hidden == first:
            raise DamagedRecord("a bad page")
        return whole(self, hidden, most)

    monkeypatch.setattr(Tables, "_erase", erase)

    async def work():
        await Housekeeping(desk, Handover().bring, RefusedSignIns(ManualClock()))._erase()

    run_async(work())
    with store.reading() as reading:
        assert reading._rows("SELECT id FROM experiments") == [(first,)]
    assert [record.message for record in caplog.records].count("erasing-failed") == 1
