"""What is counted over the experiments in memory."""

from __future__ import annotations

import random

import pytest

from linkedbandits.service.succession import succeed
from linkedbandits.service.survey import take_survey
from tests.support.service_parts import create


def survey(desk, shown=10):
    return desk.read_all(lambda opened: take_survey(opened, shown)).result()


def test_plays_that_are_out_are_counted_and_the_oldest_is_known(desk, clock):
    assert survey(desk).out_since is None
    first, second = create(desk, lease_seconds=50.0), create(desk, lease_seconds=5.0)
    desk.ask(second, 2).result()
    clock.now += 3
    desk.ask(first, 3).result()
    seen = survey(desk)
    assert (seen.opened, seen.in_flight, seen.out_since) == (2, 5, 1_000.0)
    desk.set_status(second, "archived").result()
    assert survey(desk).out_since == 1_003.0


def test_only_some_experiments_under_way_are_shown_and_the_others_counted(desk, clock):
    made = []
    for _ in range(4):
        made.append(create(desk))
        desk.ask(made[-1]).result()
        clock.now += 1
    desk.set_status(made[3], "paused").result()
    seen = survey(desk, shown=2)
    assert [one.experiment for one in seen.progress] == [made[2], made[1]]
    assert seen.not_shown == 1
    assert [one.arms_left for one in seen.progress] == [3, 3]
    assert survey(desk, shown=0).progress == ()
    assert len(survey(desk, 0).played) == 4


@pytest.mark.parametrize(
    ("policy", "linkage"),
    [
        ({"name": "linked-elimination", "parameters": {"delta": 0.05}}, "ordered"),
        ({"name": "linked-elimination", "parameters": {"delta": 0.05, "k": 2}}, "ordered"),
        ({"name": "linked-duels", "parameters": {"delta": 0.05}}, "free"),
    ],
    ids=["the best", "the two best", "duels"],
)
def test_evidence_goes_from_nearly_none_to_all_that_the_verdict_needs(desk, policy, linkage):
    means = {"north": 0.7, "east": 0.6, "south": 0.45 if policy["parameters"].get("k") else 0.2}
    experiment = create(desk, policy=policy, linkage=linkage)
    coin, shares, left = random.Random(3), [], []
    done = False
    while not done:
        asked = desk.ask(experiment, 20).result().plays
        (progress,) = survey(desk).progress
        shares.append(progress.evidence)
        left.append(progress.arms_left)
        told = [(play.id, next((arm for arm in play.arms if coin.random() < means[arm]), None)) for play in asked]
        done = desk.tell(experiment, told).result().done
    assert all(0 <= share <= 1 for share in shares)
    assert shares[0] < 0.3
    assert max(shares) > 0.7
    assert left == sorted(left, reverse=True)
    assert survey(desk).progress == ()  # it has its verdict


def test_a_policy_that_keeps_no_evidence_has_none_to_show(desk):
    experiment = create(desk, policy={"name": "linked-halving", "parameters": {"plays": 100}})
    desk.ask(experiment).result()
    assert [one.evidence for one in survey(desk).progress] == [None]


def test_alarms_of_what_is_archived_succeeded_or_deleted_do_not_count(desk, store):
    running, other, archived, before, deleted = (create(desk) for _ in range(5))
    for experiment in (running, other, archived, before, deleted):
        desk.ask(experiment).result()
    desk.set_status(archived, "archived").result()
    after = succeed(store, desk, before, None, False, "why").id
    desk.ask(after).result()
    desk.delete(deleted, force=True).result()
    assert survey(desk).in_use == {running, other, after}


def test_what_alarms_are_looked_for_in_is_there(desk):
    experiment = create(desk)
    play = desk.ask(experiment).result().plays[0]
    desk.tell(experiment, [(play.id, "east")]).result()
    (played,) = survey(desk).played
    assert (played.experiment, played.name, played.arms) == (experiment, "test", ("north", "east", "south"))
    assert (played.plays, played.done, played.warm) == (1, False, None)
