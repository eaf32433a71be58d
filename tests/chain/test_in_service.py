"""An experiment in the service: buffered while it is away, and told once however often answers are sent."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack, suppress

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.client import AsyncClient, Client
from linkedbandits.service.retries import Retries
from tests.support.chains import coins
from tests.support.remotes import LABELS, Remote, home_of
from tests.support.service_parts import ManualClock
from tools.waiting import until


def test_nothing_is_sent_before_the_first_round_and_calls_are_served_without_plays():
    remote = Remote()
    home = home_of(remote)
    assert (home.take(), home.order, remote.requests) == (None, LABELS, [])
    home._round()
    assert home.take() is not None


def test_answers_are_sent_and_the_verdict_comes_back():
    remote = Remote()
    home = home_of(remote)
    while home.verdict is None:
        home._round()
        while (play := home.take()) is not None:
            home.tell(play, "b" if play.id % 9 else None)
    assert home.verdict == remote.experiment.recommend()
    assert home.order[0] == "b"
    assert home.learning() == remote.experiment.learning
    assert home.take() is None
    assert home.condition().waiting == 0 or home._round() is None


def test_while_the_service_is_away_answers_wait_and_the_last_order_stands():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    plays = [home.take() for _ in range(3)]
    remote.away = True
    home.tell(plays[0], plays[0].arms[0])
    home.lose(plays[1])
    for _ in range(3):
        with pytest.raises(lb.ServiceUnavailable):
            home._round()
    assert home.condition().waiting == 2
    assert home.order == LABELS
    home.tell(plays[2], None)
    remote.away = False
    home._round()
    assert home.condition().waiting == 0
    assert [remote.experiment.answers.of(play.id) for play in plays][2] == -1
    assert remote.experiment.answers.of(plays[1].id) <= -3


def test_answers_that_are_sent_twice_count_once():
    remote = Remote()
    home = home_of(remote)
    home._round()
    play = home.take()
    home.tell(play, None)
    remote.loses_answers = True
    with pytest.raises(lb.ServiceUnavailable):
        home._round()
    assert (remote.experiment.plays, home.condition().waiting) == (1, 1)
    remote.loses_answers = False
    home._round()
    assert (remote.experiment.plays, home.condition().waiting, home._troubles.count) == (1, 0, 0)


def test_beyond_what_there_is_room_for_the_oldest_are_dropped_and_counted():
    remote = Remote()
    home = home_of(remote, most_waiting=3)
    for _ in range(3):
        home.take()
    home._round()
    plays = [home.take() for _ in range(5)]
    for play in plays:
        home.tell(play, None)
    assert (home.condition().waiting, home.condition().dropped) == (3, 2)
    home._round()
    assert [remote.experiment.answers.of(play.id) for play in plays] == [-2, -2, -1, -1, -1]


def test_an_answer_that_is_refused_is_noted(caplog):
    remote = Remote()
    home = home_of(remote)
    home._round()
    play = home.take()
    home.tell(play, None)
    home._round()
    home.tell(play, play.arms[0])
    home._round()
    assert home._troubles.last.startswith("the service: ConflictingTell")
    assert home.condition().waiting == 0


def test_other_options_than_those_of_the_experiment_are_refused_in_the_log(caplog):
    home = home_of(Remote(), labels=("a", "b", "d"))
    home._round()
    assert "'a', 'b', 'c', and not 'a', 'b', 'd'" in home._troubles.last
    assert home.take() is None
    home._round()
    assert home._troubles.count == 1


def test_without_whole_chains_the_rest_is_tried_and_not_told():
    remote = Remote(whole_chains=False)
    home = home_of(remote)
    home._round()
    play = home.take()
    assert sorted(play.arms + play.rest) == list(LABELS)
    home.tell(play, play.rest[0])
    home._round()
    assert (home._troubles.count, remote.experiment.answers.of(play.id)) == (0, -1)


def test_plays_that_are_not_used_are_given_back():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    assert remote.experiment.in_flight == 4
    clock.now += 6.0
    home._round()
    assert remote.experiment.in_flight == 1
    home._last_round()
    assert remote.experiment.in_flight == 0


def test_a_policy_without_plays_left_is_no_error():
    remote = Remote(policy=lb.UniformSampling(samples=2))
    home = home_of(remote)
    for _ in range(50):
        home._round()
        while (play := home.take()) is not None:
            home.tell(play, None)
    assert home.verdict is not None
    assert home.reads == "all"
    assert home._troubles.count == 0


def test_alarms_of_a_service_that_is_away_are_none():
    remote = Remote()
    home = home_of(remote)
    assert home.alarms(0.01) == ()
    remote.away = True
    assert home.alarms(0.01) == ()
    assert home.attempts() is None
    assert home._troubles.count == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("in_contact", [False, True])
def test_a_child_begins_anew_and_leaves_the_parents_connections_alone(in_contact, caplog):
    remote = Remote()
    home = home_of(remote)
    if in_contact:
        home._round()
        home.tell(home.take(), None)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = b"failed"
        try:
            home._round()
            said = b"%d %d %d" % (home.condition().waiting, home.take() is not None, home._troubles.count)
        finally:
            os.write(writing, said)
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == (b"0 0 1" if in_contact else b"0 1 0")
    os.close(reading)
    os.close(writing)


def test_what_does_not_go_with_a_service_is_refused():
    options = coins({"a": 0.5, "b": 0.6}, 1)
    with pytest.raises(
        lb.InvalidParameter, match=r"delta=0\.1 is given, but the experiment in the service has its own"
    ):
        lb.Chain(options, state=Remote(), delta=0.1)
    experiment = AsyncClient("http://127.0.0.1:1").experiment("x")
    with pytest.raises(lb.InvalidParameter, match="an experiment of an AsyncClient; give one of a Client"):
        lb.Chain(options, state=experiment)


def test_known_costs_are_those_of_the_experiment_and_measured_ones_those_of_the_chain():
    options = coins({"a": 0.5, "b": 0.8, "c": 0.6}, 1)
    with pytest.raises(lb.InvalidParameter, match="has its own; leave it out"):
        lb.Chain(options, state=Remote(), costs={"a": 1.0, "b": 2.0, "c": 3.0})
    priced = Remote(policy=lb.LinkedElimination(0.05, costs=(1.0, 9.0, 9.0)))
    for remote, costs in ((priced, None), (Remote(), "seconds")):
        with lb.Chain(options, state=remote, costs=costs) as chain:
            numbers = itertools.count()

            def some_calls(chain=chain, numbers=numbers):
                for _ in range(20):
                    with suppress(lb.ChainFailed):
                        chain(next(numbers))
                chain.settle()

            until(lambda: some_calls() or chain.status().cost_above_best is not None, "costs")
            assert (chain.status().spent is None) == (costs is None)


@pytest.mark.slow
def test_with_a_real_service_that_comes_and_goes(tmp_path):
    """The network fails in the middle: calls go on, and what they learned is sent when it is back."""
    from tests.support.running_service import running_service

    class Flaky(httpx.HTTPTransport):
        down = False

        def handle_request(self, request):
            if self.down:
                raise httpx.ConnectError("the network is down")
            return super().handle_request(request)

    transport = Flaky()
    numbers = iter(range(10**9))
    with ExitStack() as stack:
        service = stack.enter_context(running_service(str(tmp_path / "experiments.sqlite3")))
        client = stack.enter_context(Client(service.url, transport=transport, retries=Retries(times=0)))
        remote = client.create("payments", ["a", "b"], lb.LinkedDuels(0.05), linkage="free", whole_chains=True, seed=1)
        chain = lb.Chain(coins({"a": 0.2, "b": 0.9}, 1), state=remote)

        def calls(count: int = 20) -> None:
            for _ in range(count):
                with suppress(lb.ChainFailed):
                    chain(next(numbers))

        until(lambda: calls() or chain.status().plays >= 5, "plays")
        transport.down = True
        calls(300)
        until(lambda: calls(1) or chain.status().errors, "the network to fail")
        assert chain.status().last_error.startswith("the service: ServiceUnavailable")
        transport.down = False
        until(lambda: calls() or chain.verdict() is not None, "a verdict")
        chain.close()
        assert chain.verdict().arm == "b" == chain.order[0]
        assert remote.done
        assert chain.status().waiting == chain.status().dropped == 0
        assert remote.plays >= chain.status().plays - chain.status().lost
