"""What an experiment that was never interrupted would be: a plain Experiment, led through the journal by hand."""

from __future__ import annotations

import linkedbandits as lb
from linkedbandits.policies import make_policy
from linkedbandits.service.records import Setup
from linkedbandits.service.store import Store


def plain_experiment(setup: Setup) -> lb.Experiment:
    """What the service hosts, without the service."""
    policy = make_policy(setup.policy["name"], setup.policy["parameters"])
    exp = lb.Experiment(
        setup.arms,
        policy,
        linkage=setup.linkage,
        seed=setup.seed,
        max_plays=setup.max_plays,
        parallel=setup.parallel,
        whole_chains=setup.whole_chains,
    )
    exp.answers.forget_tuples()  # as in the service, where the journal has them
    return exp


def uninterrupted(store: Store, experiment: str) -> lb.Experiment:
    """The journal, read entry by entry; every play and every receipt has to be the one on record."""
    words = {"c": "counted", "s": "spare", "l": "late"}
    with store.reading() as tables:
        record = tables.record(experiment)
        entries = tables.entries(experiment, 0)
        numbers = {number for entry in entries for number, _ in entry.body.get("runs", [])}
        tuples = tables.tuples(experiment, numbers)
    assert [entry.seq for entry in entries] == list(range(1, record.head + 1))
    exp = plain_experiment(record.setup)
    for entry in entries:
        body = entry.body
        if entry.kind == "ask":
            arms = [tuples[number] for number, times in body["runs"] for _ in range(times)]
            for play, tried in enumerate(arms, start=body["first"]):
                assert exp.ask() == exp.labelled(play, tried)
        elif entry.kind == "tell":
            for play, hit, letter in zip(body["plays"], body["hits"], body["receipts"], strict=True):
                assert exp.tell(play, None if hit < 0 else exp.arms[hit]) == words[letter]
        elif entry.kind == "abandon":
            for play in body["plays"]:
                exp.abandon(play)
    return exp
