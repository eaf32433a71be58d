"""An experiment in the service: buffered while it is away, and told once however often answers are sent."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack, suppress

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.chain.expenses import Spent, nothing_tried
from linkedbandits.chain.history import Move
from linkedbandits.chain.in_service import LOOK_AFTER
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
    assert home.alarms() == ()
    remote.away = True
    assert home.alarms() == ()
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


def spend(home, *options: str) -> None:
    for option in options:
        home.spend(Spent(option, True, 0.5, 2.0))


def test_expenses_are_told_as_sums_of_all_so_far_when_they_change_and_not_too_often():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock, nothing_tried=lambda label: nothing_tried("seconds", 3.0))
    home._round()
    assert list(remote.expenses.values()) == [{}]  # it says that it is there
    clock.now += LOOK_AFTER
    spend(home, "a", "a", "b")
    home._round()
    (told,) = remote.expenses.values()
    assert {label: (first.tries, first.seconds.most, first.cost.total) for label, first in told.items()} == {
        "a": (2, 3.0, 4.0),
        "b": (1, 3.0, 2.0),
    }
    spend(home, "b")
    for _ in range(3):
        home._round()
    assert remote.requests.count("expenses") == 2
    clock.now += LOOK_AFTER
    for _ in range(3):
        home._round()
        clock.now += LOOK_AFTER
    assert remote.requests.count("expenses") == 3
    (told,) = remote.expenses.values()
    assert told["b"].tries == 2
    spend(home, "c")
    home._last_round()
    assert next(iter(remote.expenses.values()))["c"].tries == 1


def test_expenses_are_told_after_the_verdict_and_of_a_successor_anew():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    spend(home, "a")
    home.go_on(Move(("b", "a", "c"), False, "drift", "drift: b"))
    home._round()
    spend(home.successor, "b")
    home.successor._round()
    home._last_round()
    assert [sorted(told) for told in remote.expenses.values()] == [["a"]]
    assert [sorted(told) for told in remote.following.expenses.values()] == [["b"]]
    assert not remote.expenses.keys() & remote.following.expenses.keys()


def test_a_service_that_refuses_expenses_hinders_nothing_and_is_not_asked_all_the_time(caplog):
    remote, clock = Remote(), ManualClock()
    remote.refuses_expenses = lb.AccessDenied("not with this token")
    home = home_of(remote, clock)
    home._round()
    for _ in range(200):
        spend(home, "a")
        home.tell(home.take(), None)
        home._round()
        clock.now += 1.0
    assert remote.experiment.plays == 200
    assert 3 < remote.requests.count("expenses") < 12
    assert home._troubles.last == "the service (expenses): AccessDenied: not with this token"
    assert len([record for record in caplog.records if "expenses" in record.getMessage()]) == 1
    remote.refuses_expenses = None
    clock.now += 30.0
    home._round()
    assert next(iter(remote.expenses.values()))["a"].tries == 200


def test_expenses_wait_while_the_service_is_away():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    clock.now += LOOK_AFTER
    spend(home, "a")
    remote.refuses_expenses = lb.ServiceUnavailable("no answer")
    with pytest.raises(lb.ServiceUnavailable):
        home._round()
    spend(home, "a")
    home._round()  # which is too early for another try
    remote.refuses_expenses = None
    clock.now += 2 * LOOK_AFTER
    home._round()
    assert next(iter(remote.expenses.values()))["a"].tries == 2


def test_a_service_that_has_no_route_for_expenses_is_left_alone(caplog):
    remote, clock = Remote(), ManualClock()
    remote.refuses_expenses = lb.UnexpectedAnswer("404 Not Found", 404)
    home = home_of(remote, clock)
    home._round()
    for _ in range(20):
        spend(home, "a")
        home._round()
        clock.now += 60.0
    home._last_round()
    assert remote.requests.count("expenses") == 1
    assert home._troubles.count == 0
    assert len([record for record in caplog.records if "may be an older version" in record.getMessage()]) == 1


def test_a_source_that_was_added_to_others_begins_anew():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    spend(home, "a")
    home._round()
    remote.gone.update(remote.expenses)
    spend(home, "a", "b")
    for _ in range(2):
        clock.now += LOOK_AFTER
        home._round()
        spend(home, "b")
    first, second = remote.expenses
    assert (first in remote.gone, second in remote.gone) == (True, False)
    assert {label: kept.tries for label, kept in remote.expenses[second].items()} == {"b": 1}


def test_a_successor_that_is_refused_is_asked_for_after_pauses_that_grow(caplog):
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    asked = []

    def refuse(*_, **__):
        asked.append(clock.now)
        raise lb.AccessDenied("not with this token")

    remote.successor, allowed = refuse, remote.successor
    move = Move(("b", "a", "c"), False, "drift", "drift: b")
    for _ in range(1000):  # as every call does while the alarm stands
        home.go_on(move)
        home._round()
        clock.now += 0.1
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses == sorted(pauses)
    assert (len(asked), pauses[0] < 1.0, max(pauses) < 40.0) == (9, True, True)
    assert home._troubles.last == "the service (successor): AccessDenied: not with this token"
    assert len([record for record in caplog.records if "successor" in record.getMessage()]) == 1
    remote.successor = allowed
    clock.now += 40.0
    home.go_on(move)
    home._round()
    assert home.successor is not None


def test_those_who_wait_for_a_successor_are_not_kept_waiting_by_an_earlier_refusal():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    home._round()
    remote.away = True
    move = Move(("a", "b"), True, "options", "options: removed 'c'")
    home.go_on(move)
    remote.successor, allowed = lambda *_, **__: (_ for _ in ()).throw(lb.AccessDenied("no")), remote.successor
    remote.away = False
    home._round()
    remote.successor = allowed
    home.settle = home._round
    home.go_on(move)
    assert home.successor is None
    home.go_on(move, seconds=1.0)
    assert home.successor is not None


def test_plays_are_given_back_in_one_request():
    remote, clock = Remote(), ManualClock()
    home = home_of(remote, clock)
    for _ in range(40):
        home.take()
    home._round()
    taken = [home.take() for _ in range(5)]
    for play in taken:
        home.lose(play)
    assert remote.experiment.in_flight > 40
    home._last_round()
    assert remote.experiment.in_flight == 0
    assert remote.requests.count("abandon") == 2  # those that were lost, and those that were never used


def test_a_chain_tells_what_calls_of_all_kinds_began_with_and_what_they_can_take_at_most():
    remote = Remote()
    options = {"a": lambda: None, "b": lambda: "b", "c": lambda: "c"}
    for _ in range(2):  # two processes, as it were
        with lb.Chain(
            options,
            state=remote,
            worked=lambda value: value is not None,
            timeouts={"a": 3.0, "b": 4.0},
            costs=lambda attempt, value: 2.0 if attempt.option == "a" else 1.0,
        ) as chain:
            until(lambda chain=chain: chain() and chain.status().plays >= 5, "plays")
            calls = chain.status().calls
            firsts = {found.option: found.tries for found in chain.estimates()}
        assert sum(firsts.values()) == calls
        *_, told = remote.expenses.values()
        assert {label: first.tries for label, first in told.items()} == {
            label: tries for label, tries in firsts.items() if tries
        }
        assert (told["a"].successes, told["a"].seconds.most, told["a"].cost.most) == (0, 3.0, None)
        assert told["a"].cost.mean == 2.0
    assert len(remote.expenses) == 2


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
        own, all_of_them = chain.estimates(), remote.option_estimates()
        assert [found.tries for found in all_of_them] == [found.tries for found in own]
        assert [found.successes for found in all_of_them] == [found.successes for found in own]
        assert [found.seconds.mean for found in all_of_them] == pytest.approx([found.seconds.mean for found in own])
