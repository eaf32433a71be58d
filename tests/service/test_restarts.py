"""Clients get through the restarts of a real service: stopped in order, and killed."""

from __future__ import annotations

import threading
import time

import pytest

import linkedbandits as lb
from linkedbandits.service.client import Client
from tests.support.live_service import running_service
from tests.support.weather import ARMS
from tools.waiting import SECONDS, join, until

MANY = 10
"""Attempts in vain, of which there were at most seven once; a graceful restart takes longer than these did."""


@pytest.mark.slow
def test_a_worker_with_the_retries_there_are_by_default_gets_through_restarts(tmp_path):
    """Nothing it was told is lost or there twice, and what it creates meanwhile is there once."""
    waited, told, failed, created = [], [], [], []

    def sleep(seconds):
        waited.append(seconds)
        time.sleep(seconds / 20)  # so that there are many attempts before the time is over

    def clock():
        return time.monotonic() / 20  # nor does it end because this machine is slow

    with running_service(tmp_path) as service, Client(service.url, sleep=sleep, clock=clock) as client:
        exp = client.create("directions", ARMS, lb.UniformSampling(samples=100_000))
        goes_on = threading.Event()
        goes_on.set()

        def work():
            try:
                while goes_on.is_set():
                    plays = exp.ask_many(5)
                    receipts = exp.tell_many([(play.id, None) for play in plays]).receipts
                    told.extend(zip((play.id for play in plays), receipts, strict=True))
            except lb.LinkedBanditError as error:
                failed.append(error)

        def create():
            try:
                created.append(client.create("made meanwhile", ARMS, lb.UniformSampling(samples=5)).id)
            except lb.LinkedBanditError as error:
                failed.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        for end in (service.stop, service.kill):
            before = len(told)
            until(lambda before=before: failed or len(told) > before + 50, "plays")
            end()
            creator = threading.Thread(target=create)
            creator.start()
            before = len(waited)
            until(lambda before=before: failed or len(waited) >= before + 2 * MANY, "attempts in vain")
            service.start()
            join(creator)
        before = len(told)
        until(lambda: failed or len(told) > before + 50, "plays")
        goes_on.clear()
        join(worker, seconds=SECONDS)
        assert failed == []
        assert [play for play, _ in told] == list(range(len(told)))
        assert {receipt for _, receipt in told} <= {"counted", "repeated"}
        assert exp.plays == len(told)
        assert [found.id for found in client.experiments() if found.name == "made meanwhile"] == created
        assert len(created) == 2
