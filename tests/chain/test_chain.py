"""A chain as its users hold it."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.chain import ChainStatus
from tests.support.chains import coins, failing, works_on
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, run_async, until

MEANS = {"a": 0.5, "b": 0.8, "c": 0.6}


def serve(chain: lb.Chain, numbers) -> Counter:
    """Which option served each number; None if none did."""
    served = Counter()
    for number in numbers:
        try:
            served[chain(number).option] += 1
        except lb.ChainFailed:
            served[None] += 1
    return served


# ------------------------------------------------------------------------------------------------ what a call does


def test_options_are_tried_until_one_works_and_a_result_says_which():
    chain = lb.Chain({"a": works_on("a", {1}), "b": works_on("b", {1, 2}), "c": works_on("c", {1, 2, 3})})
    for number in (1, 2, 3):
        result = chain(number)
        assert result.value == f"{result.option} {number}"
        assert result.tried[-1] == result.option
        assert set(result.causes) == set(result.tried[:-1])
    assert chain(3).option == "c"
    assert all(isinstance(cause, ConnectionError) for cause in chain(3).causes.values())


def test_when_all_fail_all_were_tried_and_every_cause_is_there():
    chain = lb.Chain({label: works_on(label, set()) for label in "abcde"})
    for _ in range(50):
        with pytest.raises(lb.ChainFailed) as caught:
            chain(7)
        failed = caught.value
        assert sorted(failed.tried) == list("abcde")
        assert {label: str(cause) for label, cause in failed.causes.items()} == {
            label: f"{label} fails on 7" for label in "abcde"
        }
        assert failed.__cause__ is failed.causes[failed.tried[-1]]


def test_what_a_call_held_is_free_when_its_result_is():
    """Requests may be large, and there are many: they do not wait for the collector of reference cycles."""

    class Request:
        pass

    def fails(request):
        raise ConnectionError

    options = {"a": fails, "b": fails, "c": lambda request: "value"}
    chain, timed = lb.Chain(options), lb.Chain(options, timeouts=SECONDS)
    gc.collect()
    gc.disable()
    try:
        for call in (chain, timed, acall_in_a_loop(chain)):
            request = Request()
            gone = weakref.ref(request)
            result = call(request)
            while not result.causes:
                result = call(request)
            del request, result
            until(lambda gone=gone: gone() is None, "threads to end", seconds=20.0)
    finally:
        gc.enable()


def acall_in_a_loop(chain):
    """As servers do it, whose tasks end in a loop that goes on: what ``asyncio.run`` returns is held by its task."""

    async def call(request, results):
        results.append(await chain.acall(request))

    def run(request):
        results = []
        run_async(call(request, results))
        return results.pop()

    return run


def test_arguments_are_passed_on():
    def option(*args, **kwargs):
        return args, kwargs

    assert lb.Chain({"a": option, "b": option})(1, 2, key="value").value == ((1, 2), {"key": "value"})


def test_customers_are_served_as_by_the_full_chain():
    """A call fails only if every option fails on it, whatever the experiment asks for."""
    options = coins({"a": 0.3, "b": 0.4, "c": 0.2, "d": 0.35}, seed=1)
    chain = lb.Chain(options, delta=0.01)

    def any_works(number):
        for option in options.values():
            try:
                option(number)
            except ConnectionError:
                continue
            return True
        return False

    expected = sum(not any_works(number) for number in range(1500))
    assert serve(chain, range(1500))[None] == expected > 300


def test_the_best_is_found_and_served_first():
    verdicts = []
    chain = lb.Chain(coins(MEANS, seed=2), delta=0.05, watch=None, on_verdict=verdicts.append)
    numbers = iter(range(100_000))
    while chain.verdict() is None:
        serve(chain, [next(numbers)])
    assert chain.verdict().arm == "b" == chain.order[0]
    assert verdicts == [chain.verdict()]
    tried = [chain(number).tried for number in numbers if number % 50 == 0 and any_of(number)][:100]
    assert {each[0] for each in tried} == {"b"}
    assert verdicts == [chain.verdict()]


def any_of(number: int) -> bool:
    """Does any of the coins of seed 2 work?"""
    for option in coins(MEANS, seed=2).values():
        try:
            option(number)
        except ConnectionError:
            continue
        return True
    return False


# ------------------------------------------------------------------------------------------------ what is a failure


def test_only_what_is_named_is_a_failure_and_the_rest_goes_to_the_caller():
    chain = lb.Chain({"a": failing(ValueError("bad card")), "b": failing(ValueError("bad card"))}, failures=OSError)
    with pytest.raises(ValueError, match="bad card"):
        chain(1)
    status = chain.status()
    assert (status.lost, status.failed, status.in_flight, chain.experiment.in_flight) == (1, 0, 0, 0)
    assert sum(status.lost_of.values()) == 1

    chain = lb.Chain({label: failing(ConnectionError("down")) for label in "ab"}, failures=(KeyError, OSError))
    with pytest.raises(lb.ChainFailed):
        chain(1)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), asyncio.CancelledError()])
def test_what_is_no_exception_goes_to_the_caller_and_the_play_is_given_up(error):
    chain = lb.Chain({label: failing(error) for label in "ab"})
    with pytest.raises(type(error)):
        chain(1)
    assert (chain.status().lost, chain.status().in_flight, chain.experiment.in_flight) == (1, 0, 0)
    with pytest.raises(type(error)):
        run_async(chain.acall(1))
    assert (chain.status().lost, chain.status().in_flight, chain.experiment.in_flight) == (2, 0, 0)
    assert chain.experiment.plays == 0


def test_a_predicate_says_what_worked():
    chain = lb.Chain({"a": lambda number: -number, "b": lambda number: number}, worked=lambda value: value > 0)
    assert chain(5).option == "b"
    assert chain(-5).option == "a"
    with pytest.raises(lb.ChainFailed) as caught:
        chain(0)
    assert {type(cause) for cause in caught.value.causes.values()} == {lb.ValueRejected}
    assert [cause.value for cause in caught.value.causes.values()] == [0, 0]


def test_a_predicate_that_cannot_read_a_value_has_not_found_a_success():
    chain = lb.Chain({"a": lambda: {}, "b": lambda: {"ok": True}}, worked=lambda value: value["ok"])
    assert {chain().option for _ in range(10)} == {"b"}


def test_a_predicate_has_to_answer_at_once():
    async def later(value):
        return True

    with pytest.raises(lb.InvalidParameter, match="worked would have to be awaited"):
        lb.Chain({"a": int, "b": int}, worked=later)
    chain = lb.Chain({"a": int, "b": int}, worked=lambda value: later(value + 0))
    with pytest.raises(lb.InvalidParameter, match="worked= has to say at once"):
        chain(1)
    assert chain.experiment.in_flight == 0


def test_a_callable_that_returns_nothing_has_worked_and_is_warned_of_once(caplog):
    chain = lb.Chain({"a": lambda: None, "b": lambda: None})
    assert {chain().value for _ in range(20)} == {None}
    messages = sorted(record.getMessage() for record in caplog.records)
    assert [message[:28] for message in messages] == ["option 'a' returned None, wh", "option 'b' returned None, wh"]
    assert "worked=lambda value: value is not None" in messages[0]

    strict = lb.Chain({"a": lambda: None, "b": lambda: 2}, worked=lambda value: value is not None)
    assert {strict().value for _ in range(20)} == {2}


def test_a_timeout_is_a_failure_whatever_else_is():
    slow = threading.Event()
    try:
        chain = lb.Chain(
            {"a": lambda: slow.wait(SECONDS), "b": lambda: "quick"}, timeouts={"a": 0.01}, failures=ConnectionError
        )
        results = [chain() for _ in range(10)]
    finally:
        slow.set()
    assert {result.value for result in results} == {"quick"}
    causes = [result.causes["a"] for result in results if "a" in result.causes]
    assert causes
    assert {type(cause) for cause in causes} == {lb.AttemptTimedOut}
    assert isinstance(causes[0], TimeoutError)
    assert chain.status().lost == 0


# ----------------------------------------------------------------------------------------------------- async calls


def awaited(means: dict[str, float], seed: int, pause: float = 0.0):
    """Coins that have to be awaited."""

    def option(flip):
        async def attempt(number):
            await asyncio.sleep(pause)
            return flip(number)

        return attempt

    return {label: option(flip) for label, flip in coins(means, seed).items()}


def test_a_thousand_calls_at_once():
    """Every call has its own answer, none is lost, and the experiment has an answer to every play."""
    chain = lb.Chain(awaited(MEANS, seed=3, pause=0.01), delta=1e-6)

    async def calls():
        return await asyncio.gather(*(chain.acall(number) for number in range(1000)), return_exceptions=True)

    results = run_async(calls())
    worked = [(number, result) for number, result in enumerate(results) if not isinstance(result, lb.ChainFailed)]
    assert all(result.value == number for number, result in worked)
    status = chain.status()
    assert (status.calls, status.failed, status.lost) == (1000, 1000 - len(worked), 0)
    assert (status.in_flight, status.waiting, status.errors) == (0, 0, 0)
    assert chain.experiment.plays == status.plays
    assert chain.experiment.in_flight == 0
    assert status.plays + status.plain + status.served + status.watched == 1000


def test_awaited_and_plain_options_mix():
    async def later(number):
        return ("later", number)

    chain = lb.Chain({"a": later, "b": lambda number: ("now", number)})
    found = {run_async(chain.acall(5)).value for _ in range(20)}
    assert found == {("later", 5), ("now", 5)}


def test_without_await_an_option_that_needs_it_is_refused_before_anything_is_tried():
    tried = []

    async def later(number):
        tried.append(number)

    chain = lb.Chain({"a": tried.append, "b": later})
    with pytest.raises(lb.InvalidParameter, match=r"option 'b' has to be awaited; call the chain as: await chain\.ac"):
        chain(5)
    assert (tried, chain.status().calls) == ([], 0)

    hidden = lb.Chain(dict.fromkeys("ab", lambda number: later(number + 0)))
    with pytest.raises(lb.InvalidParameter, match="has to be awaited"):
        hidden(5)
    assert (tried, hidden.status().lost, hidden.experiment.in_flight) == ([], 1, 0)


def test_a_call_that_is_cancelled_is_lost_and_its_play_given_up():
    async def for_ever(number):
        await asyncio.sleep(SECONDS)

    chain = lb.Chain({"a": for_ever, "b": for_ever})

    async def cancelled():
        task = asyncio.ensure_future(chain.acall(1))
        await asyncio.sleep(0)
        assert chain.status().in_flight == chain.experiment.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_async(cancelled())
    status = chain.status()
    assert (status.lost, status.in_flight, chain.experiment.in_flight) == (1, 0, 0)
    assert sum(status.lost_of.values()) == 1


def test_cancelled_in_the_last_option_when_its_time_is_up_all_have_failed():
    """The option holds on to its cancellation, and the caller's comes before it is done."""
    attempts = []

    async def stubborn(number):
        try:
            await asyncio.sleep(SECONDS)
        finally:
            await asyncio.sleep(SECONDS)

    chain = lb.Chain({"a": stubborn, "b": failing(OSError())}, timeouts={"a": 0.01}, on_attempt=attempts.append)

    async def cancelled():
        task = asyncio.ensure_future(chain.acall(1))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    endings = Counter()
    for _ in range(6):
        run_async(cancelled())
        endings[tuple((attempt.option, attempt.outcome) for attempt in attempts)] += 1
        attempts.clear()
    last, others_left = (("b", "failed"), ("a", "failed")), (("a", "failed"),)
    assert endings.keys() == {last, others_left}
    status = chain.status()
    assert (status.failed, status.lost) == (endings[last], endings[others_left])
    assert (chain.experiment.plays, chain.experiment.in_flight) == (endings[last], 0)


def test_a_loop_that_is_closed_under_a_call_loses_it_and_nothing_else():
    async def for_ever(number):
        await asyncio.get_running_loop().create_future()

    chain = lb.Chain({"a": for_ever, "b": for_ever})
    loop = asyncio.new_event_loop()
    call = chain.acall(1)
    task = loop.create_task(call)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert chain.experiment.in_flight == 1
    call.close()
    task._log_destroy_pending = False
    del call, task
    gc.collect()
    assert (chain.status().lost, chain.status().in_flight, chain.experiment.in_flight) == (1, 0, 0)
    chain2 = lb.Chain({"a": lambda number: number, "b": lambda number: number})
    assert run_async(chain2.acall(3)).value == 3


def test_a_call_that_is_never_awaited_is_none():
    chain = lb.Chain({"a": int, "b": int})
    chain.acall(1).close()
    assert chain.status() == replace(lb.Chain({"a": int, "b": int}).status(), since=chain.status().since)


# -------------------------------------------------------------------------------------------------------- threads


@pytest.mark.slow
def test_sixty_four_threads_lose_nothing():
    chain = lb.Chain(coins(MEANS, seed=4), delta=1e-9)
    begin = threading.Barrier(64)

    def work(thread: int) -> Counter:
        begin.wait(SECONDS)
        return serve(chain, range(thread * 40, thread * 40 + 40))

    with ThreadPoolExecutor(64) as pool:
        served = sum(pool.map(work, range(64), timeout=SECONDS), Counter())
    chain.close()
    status = chain.status()
    assert served.total() == status.calls == 64 * 40
    assert served[None] == status.failed
    assert (status.lost, status.in_flight, status.waiting, status.errors) == (0, 0, 0, 0)
    assert status.plays + status.plain == status.calls
    assert chain.experiment.plays == status.plays > 0
    assert (chain.experiment.in_flight, chain.experiment.late) == (0, 0)


def test_threads_and_tasks_share_one_chain():
    chain = lb.Chain(coins(MEANS, seed=5), delta=1e-9)

    async def calls():
        return await asyncio.gather(*(chain.acall(number) for number in range(60)), return_exceptions=True)

    with ThreadPoolExecutor(2) as pool:
        threads = pool.submit(serve, chain, range(60, 300))
        found = run_async(calls())
        assert threads.result(SECONDS).total() == 240
    assert len(found) == 60
    assert (chain.status().calls, chain.status().in_flight) == (300, 0)


def test_a_call_inside_of_an_option_of_the_same_chain_is_served():
    def twice(depth: int) -> int:
        return chain(depth - 1).value + 1 if depth else 0

    chain = lb.Chain({"a": twice, "b": twice})
    assert chain(5).value == 5
    assert (chain.status().calls, chain.status().in_flight) == (6, 0)


# -------------------------------------------------------------------------------- an experiment that breaks, hooks


@pytest.mark.parametrize("broken", ["take", "tell", "lose"])
def test_an_experiment_that_breaks_never_breaks_a_call(broken, monkeypatch, caplog):
    chain = lb.Chain(coins(MEANS, seed=6), failures=ConnectionError)
    serve(chain, range(50))

    def break_down(*_):
        raise RuntimeError("the experiment is gone")

    monkeypatch.setattr(chain._home, broken, break_down)
    assert serve(chain, range(50, 150)).total() == 100
    with pytest.raises(TypeError):
        chain("lost", "as coins want one number")
    status = chain.status()
    assert status.in_flight == 0
    if broken != "lose":
        assert status.errors >= 100
        assert status.last_error == "the experiment: RuntimeError: the experiment is gone"
        assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


def test_a_play_of_the_experiment_that_breaks_inside_is_noted(monkeypatch, caplog):
    chain = lb.Chain(coins(MEANS, seed=6))

    def break_down(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(chain.experiment, "tell", break_down)
    assert serve(chain, range(20)).total() == 20
    assert chain.status().errors == 20


def test_hooks_hear_of_attempts_and_results():
    attempts, results = [], []
    chain = lb.Chain(
        {"a": works_on("a", {1}), "b": works_on("b", {1, 2})}, on_attempt=attempts.append, on_result=results.append
    )
    returned = [chain(1), chain(2)]
    with pytest.raises(lb.ChainFailed) as caught:
        chain(3)
    assert results == [*returned, caught.value]
    tried = [option for result in results for option in result.tried]
    assert [attempt.option for attempt in attempts] == tried
    assert [attempt.place for attempt in attempts] == [
        place for result in results for place in range(len(result.tried))
    ]
    assert [attempt.outcome for attempt in attempts if attempt.error is None] == ["worked", "worked"]
    assert all(attempt.outcome == "failed" for attempt in attempts if attempt.error is not None)
    assert all(attempt.seconds >= 0 and attempt.began > 1.6e9 and attempt.role == "play" for attempt in attempts)


def test_a_lost_attempt_is_heard_of():
    attempts = []
    chain = lb.Chain({label: failing(SystemExit()) for label in "ab"}, on_attempt=attempts.append)
    with pytest.raises(SystemExit):
        chain(1)
    assert [attempt.outcome for attempt in attempts] == ["lost"]


def test_a_hook_that_raises_is_logged_and_changes_nothing(caplog):
    def broken(_):
        raise KeyError("hook")

    hooks = dict.fromkeys(["on_attempt", "on_result", "on_verdict", "on_alarm"], broken)
    chain, plain = lb.Chain(coins(MEANS, seed=7), **hooks), lb.Chain(coins(MEANS, seed=7))
    assert serve(chain, range(400)) == serve(plain, range(400))
    assert chain.order == plain.order
    assert chain.status().errors >= 400
    assert {record.getMessage().split()[0] for record in caplog.records} >= {"on_attempt", "on_result"}


# ---------------------------------------------------------------------------------- after the verdict, and alarms


def decided(**changes) -> lb.Chain:
    chain = lb.Chain({"a": works_on("a", set()), "b": works_on("b", set(range(1000)))}, **changes)
    while chain.verdict() is None:
        chain(1)
    return chain


def test_after_the_verdict_the_stated_share_begins_with_another_option():
    chain = decided(watch=0.1, seed=1)
    before = chain.status()
    results = [chain(1) for _ in range(2000)]
    status = chain.status()
    others = [result for result in results if result.tried[0] == "a"]
    assert len(others) == status.watched == sum(result.role == "watched" for result in results)
    assert 140 <= len(others) <= 260  # 200 and 4.5 standard deviations
    assert status.served == 2000 - status.watched
    assert status.plays == before.plays
    assert status.attempts_above_best > 0


def test_without_a_share_all_begin_with_the_best():
    chain = decided(watch=None)
    assert {chain(1).tried for _ in range(200)} == {("b",)}
    assert chain.status().watched == 0


@pytest.mark.statistical
def test_drift_after_the_verdict_raises_an_alarm_and_the_hook_hears_of_it():
    """The best drops from 0.9 to 0.5: an alarm is missed with less than 10^-6."""
    luck, means, heard = random.Random(5), {"a": 0.6, "b": 0.9}, []

    def option(label):
        def attempt():
            if luck.random() >= means[label]:
                raise ConnectionError

        return attempt

    options = {label: option(label) for label in means}
    chain = lb.Chain(options, watch=0.5, reopen=None, on_alarm=heard.append, worked=lambda _: True)

    def call():
        with suppress(lb.ChainFailed):
            chain()

    while chain.verdict() is None:
        call()
    for _ in range(500):
        call()
    means["b"] = 0.5
    for _ in range(1500):
        call()
    assert ("drift", "b") in [(alarm.kind, alarm.option) for alarm in chain.alarms()]
    until(lambda: call() or [alarm for alarm in heard if (alarm.kind, alarm.option) == ("drift", "b")], "the alarm")
    assert len({(alarm.kind, alarm.option) for alarm in heard}) == len(heard)


def test_losses_of_one_option_raise_an_alarm():
    luck = random.Random(1)

    def hangs_up():
        if luck.random() < 0.5:
            raise KeyError("the caller is gone")
        raise ConnectionError

    chain = lb.Chain({"a": hangs_up, "b": failing(OSError()), "c": failing(OSError())}, failures=OSError, delta=1e-9)
    for _ in range(300):
        with pytest.raises((lb.ChainFailed, KeyError)):
            chain()
    found = {(alarm.kind, alarm.option) for alarm in chain.alarms()}
    assert ("losses", "a") in found


# ----------------------------------------------------------------------------------------------- how it stands


def test_status_of_a_new_chain():
    chain = lb.Chain({"a": int, "b": int})
    assert chain.status() == ChainStatus(
        *(0, 0, 0, 0, 0, 0, 0, 0, {"a": 0, "b": 0}, 0.0, None, None, 0, 0, 0, 0, None, ("a", "b"), 0, None),
        reopened=0,
        since=chain.history[0].began,
    )
    assert (chain.options, chain.verdict(), chain.alarms()) == (("a", "b"), None, ())


def test_a_call_that_hangs_does_not_hold_up_the_decision():
    clock = ManualClock()
    go_on, began = threading.Event(), threading.Event()

    def hangs(number):
        if number == "hang":
            began.set()
            go_on.wait(SECONDS)
        return number

    chain = lb.Chain({"a": hangs, "b": hangs}, policy=lb.UniformSampling(samples=3), lease=5.0, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(chain, "hang")
        try:
            assert began.wait(SECONDS)
            assert serve(chain, range(30)).total() == 30
            assert chain.verdict() is None
            clock.now += 6.0
            serve(chain, range(30))
            assert chain.verdict() is not None
            assert chain.status().expired == 1
        finally:
            go_on.set()
        assert hanging.result(SECONDS).value == "hang"
    assert chain.experiment.late >= 1


@pytest.mark.parametrize("thing", ["linked-duels", lb.LinkedDuels], ids=str)
def test_what_is_no_policy_is_refused_and_the_usual_one_suggested(thing):
    with pytest.raises(lb.InvalidParameter, match=r"is no policy; pass one such as LinkedDuels\(0.05\)"):
        lb.Chain({"a": int, "b": int}, policy=thing)


def test_a_policy_and_linkage_of_ones_own():
    chain = lb.Chain({"a": int, "b": int}, policy=lb.UniformSampling(samples=2), linkage="single")
    assert (chain.experiment.policy.name, chain.experiment.linkage) == ("uniform-sampling", "single")
    default = lb.Chain({"a": int, "b": int})
    assert (default.experiment.policy.name, default.experiment.linkage) == ("linked-duels", "free")
    assert default.experiment.policy.delta == 0.05
    assert lb.Chain({"a": int, "b": int}, delta=0.2).experiment.policy.delta == 0.2


def test_it_is_a_context_and_serves_after_it_was_closed():
    with lb.Chain({"a": int, "b": int}) as chain:
        chain("1")
    assert chain("2").value == 2


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        ({}, {}, "no options are given; a chain needs at least two"),
        ({"a": int}, {}, "'a' is the only option; a chain needs at least two: call that one yourself"),
        ([int, str], {}, "is no mapping; give options as a dict of labels and functions"),
        ({"a": int, "b": 3}, {}, "option 'b' is 3, which cannot be called"),
        ({("a",): int, "b": int}, {}, r"label \('a',\) is no text, number or boolean"),
        ({"a": int, "b": int}, {"delta": 2.0}, "delta=2.0 is not between 0 and 1"),
        (
            {"a": int, "b": int},
            {"delta": 0.05, "policy": lb.LinkedDuels(0.1)},
            "delta=0.05 and a policy are given; a policy has a delta of its own",
        ),
        ({"a": int, "b": int}, {"failures": KeyboardInterrupt}, "is no type of Exception; give types such as"),
        ({"a": int, "b": int}, {"failures": (OSError, "TimeoutError")}, "failures has 'TimeoutError', which is no"),
        ({"a": int, "b": int}, {"timeouts": {"d": 1.0}}, "timeouts has 'd', which is no option; the options are 'a'"),
        ({"a": int, "b": int}, {"timeouts": -1.0}, "the timeout of 'a'=-1.0 is not positive"),
        ({"a": int, "b": int}, {"timeouts": {"b": "soon"}}, "the timeout of 'b'='soon' is not positive"),
        ({"a": int, "b": int}, {"watch": 0.7}, "watch=0.7 is more than half of all calls"),
        ({"a": int, "b": int}, {"watch": -0.1}, "watch=-0.1 is not at least 0 and below 1"),
        ({"a": int, "b": int}, {"worked": True}, "worked=True cannot be called"),
        ({"a": int, "b": int}, {"on_result": "log"}, "on_result='log' cannot be called"),
        ({"a": int, "b": int}, {"lease": 0}, "lease=0 is not positive"),
        ({"a": int, "b": int}, {"seed": 1.5}, "seed=1.5 is not a whole number"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(options, changes, message):
    with pytest.raises(lb.LinkedBanditError, match=message) as caught:
        lb.Chain(options, **changes)
    assert isinstance(caught.value, ValueError)


# --------------------------------------------------------------------------------- costs, latency and the deadline


def test_with_known_costs_the_verdict_and_the_order_are_by_success_per_cost():
    costs = {"a": 1.0, "b": 3.0, "c": 1.5}  # 0.5, 0.27 and 0.4 successes for 1
    chain = lb.Chain(coins(MEANS, seed=3), delta=0.05, costs=costs, watch=None)
    number = 0
    while chain.verdict() is None:
        serve(chain, [number])
        number += 1
    verdict = chain.verdict()
    assert (verdict.arm, verdict.status, verdict.error_bound, verdict.assumes) == ("a", "confident", 0.05, ())
    assert chain.order == ("a", "c", "b")
    assert chain.experiment.policy == lb.LinkedElimination(0.05, costs=(1.0, 3.0, 1.5))
    serve(chain, range(number, number + 50))
    status = chain.status()
    learning = chain.experiment.learning
    assert status.cost_above_best == pytest.approx(learning.cost_above)
    assert status.spent > learning.cost
    assert {each.option: each.cost.mean for each in chain.estimates()} == costs


@pytest.mark.statistical
def test_by_success_per_cost_holds_where_options_fail_together():
    """20 runs at delta 0.05, on requests of which half are too hard for all: 5 wrong ones have probability 0.003."""
    wrong = 0
    for seed in range(20):
        rng = random.Random(seed)

        def option(mean, rng=rng):
            def attempt(hard):
                if hard or rng.random() >= mean:
                    raise ConnectionError
                return True

            return attempt

        chain = lb.Chain({"dear": option(0.9), "cheap": option(0.7)}, costs={"dear": 3.0, "cheap": 1.0}, seed=seed)
        while chain.verdict() is None:
            serve(chain, [rng.random() < 0.5])
        wrong += chain.verdict().arm != "cheap"
        assert chain.status().failed > 0
    assert wrong < 5


def test_measured_costs_give_the_order_and_the_verdict_stays_one_of_success():
    prices = {"a": 1.0, "b": 5.0, "c": 2.0}
    seen = []

    def price(attempt, value):
        seen.append((attempt.option, attempt.outcome, value))
        return prices[attempt.option]

    chain = lb.Chain(coins(MEANS, seed=3), delta=0.05, costs=price, watch=0.2)
    number = 0
    while chain.verdict() is None:
        serve(chain, [number])
        number += 1
    assert chain.verdict().arm == "b"
    assert chain.order[0] == "a"
    assert isinstance(chain.experiment.policy, lb.LinkedDuels)
    begun = chain.status().calls
    served = serve(chain, range(number, number + 400))
    assert served["a"] > 150
    status = chain.status()
    assert status.calls == begun + 400
    assert status.spent == pytest.approx(sum(prices[option] for option, _, _ in seen))
    assert status.cost_above_best > 0
    assert {value is None for _, outcome, value in seen if outcome == "failed"} == {True}
    assert all(value is not None for _, outcome, value in seen if outcome == "worked")


def test_seconds_are_measured_in_any_case_and_can_be_the_cost():
    chain = lb.Chain(coins(MEANS, seed=3), timeouts=5.0, costs="seconds")
    serve(chain, range(200))
    for each in chain.estimates():
        assert each.seconds == each.cost
        assert 0 < each.cost.mean < 5.0
        assert each.cost.proved
        assert each.cost.low <= each.cost.mean <= each.cost.high <= 5.0
    assert chain.status().spent > 0
    plain = lb.Chain(coins(MEANS, seed=3))
    serve(plain, range(20))
    assert all(each.seconds.mean > 0 and each.cost is None for each in plain.estimates() if each.tries)
    assert (plain.status().spent, plain.status().cost_above_best) == (None, None)


def test_a_cost_that_cannot_be_told_does_not_break_a_call():
    chain = lb.Chain(coins({"a": 1.0, "b": 1.0}, seed=1), costs=lambda attempt, value: value.price)
    assert chain(3).value == 3
    assert chain.status().errors == 1
    assert all(each.cost is None for each in chain.estimates())


def test_lost_attempts_are_in_no_estimate():
    chain = lb.Chain({"a": failing(KeyError("a")), "b": failing(KeyError("b"))}, failures=OSError, costs="seconds")
    with pytest.raises(KeyError):
        chain()
    assert [each.tries for each in chain.estimates()] == [0, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"costs": {"a": 1.0, "b": 2.0}, "policy": lb.LinkedDuels(0.05)},
            r"LinkedElimination\(0.05, costs=\[1.0, 2.0\]\)",
        ),
        ({"costs": 2.0}, "neither a mapping"),
        ({"policy": lb.LinkedElimination(0.05, costs=[1.0])}, "1 cost for 2 arms"),
        ({"deadline": 3.0, "timeouts": 2.0}, "longer than deadline=3.0"),
    ],
)
def test_costs_and_deadlines_that_make_no_sense_are_refused(given, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.Chain({"a": int, "b": int}, **given)


def test_costs_that_would_have_to_be_awaited_are_refused():
    async def price(attempt, value):
        return 1.0

    with pytest.raises(lb.InvalidParameter, match="plain function"):
        lb.Chain({"a": int, "b": int}, costs=price)


def test_costs_of_a_policy_are_known_to_its_chain():
    chain = lb.Chain(coins(MEANS, 3), policy=lb.LinkedElimination(0.05, costs=[1.0, 3.0, 1.5]), linkage="single")
    serve(chain, range(30))
    assert [each.cost.mean for each in chain.estimates()] == [1.0, 3.0, 1.5]
    assert chain.status().spent > 30


def test_a_file_with_costs_is_for_options_in_its_order(tmp_path):
    options = coins(MEANS, 3)
    costs = {"a": 1.0, "b": 3.0, "c": 3.0}
    with lb.Chain(options, costs=costs, state=tmp_path / "chain.json") as chain:
        serve(chain, range(20))
    with lb.Chain(options, costs=costs, state=tmp_path / "chain.json") as chain:
        assert chain.status().cost_above_best is not None
    turned = {label: options[label] for label in "acb"}
    with pytest.raises(lb.InvalidParameter, match="'a', 'b', 'c', by which costs go"):
        lb.Chain(turned, costs=costs, state=tmp_path / "chain.json")
    with pytest.raises(lb.InvalidParameter, match="begun with the policy"):
        lb.Chain(options, costs={**costs, "c": 2.0}, state=tmp_path / "chain.json")


def test_a_deadline_is_a_timeout_for_each_option_in_whatever_place():
    hangs, quick = threading.Event(), works_on("quick", {1})
    chain = lb.Chain({"slow": lambda _: hangs.wait(SECONDS), "quick": quick}, timeouts={"slow": 0.05}, deadline=SECONDS)
    for _ in range(4):
        result = chain(1)
        assert result.option == "quick"
        assert all(isinstance(cause, lb.AttemptTimedOut) for cause in result.causes.values())
    with pytest.raises(lb.ChainFailed) as caught:
        chain(2)
    hangs.set()
    assert isinstance(caught.value.causes["slow"], lb.AttemptTimedOut)
    slow = chain.estimates()[0]
    assert slow.successes == 0
    assert slow.tries == 0 or slow.seconds.mean == pytest.approx(0.05)  # no more than its timeout


def test_a_chain_prints_where_it_stands():
    with lb.Chain({"a": works_on("a", {1}), "b": works_on("b", {2})}, delta=0.2) as chain:
        assert repr(chain) == "Chain(0 calls, no verdict yet: tries ('a', 'b'))"
        while chain.verdict() is None:
            chain(1)
        chain.settle()
        plays = chain.verdict().plays
        assert repr(chain).endswith(f"calls, 'a' is best after {plays} plays, error at most 0.2: tries ('a', 'b'))")
