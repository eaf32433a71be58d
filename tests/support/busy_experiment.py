"""An experiment in a store with plays in every state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.hosted import HostedExperiment
from tests.support.coin_flips import CoinFlipper
from tests.support.service_parts import SETUP
from tools.waiting import SECONDS


def reopened(store, experiment: str) -> HostedExperiment:
    with store.reading() as tables:
        return HostedExperiment.open(tables, tables.record(experiment))


def busy_experiment(store, snapshot_every: int, linkage: str = "free", **changes: Any) -> str:
    """Two hundred plays, of which some are out, some given up, and some told late."""
    coins = CoinFlipper([0.2, 0.5, 0.4, 0.3], 3)
    with Desk(store, snapshot_every=snapshot_every) as desk:
        setup = replace(SETUP, arms=(0, 1, 2, 3), linkage=linkage, lease_seconds=1e6, **changes)
        experiment = desk.create(setup, "busy").result(SECONDS).id
        slow: list[lb.Play] = []
        for number in range(40):
            first, lost, *others = desk.ask(experiment, 5).result(SECONDS).plays
            desk.abandon(experiment, [lost.id])
            told = [*others, *slow, *([lost] if number % 2 else [])]
            desk.tell(experiment, [(play.id, coins.answer(play)) for play in told]).result(SECONDS)
            slow = [first]
    return experiment
