"""Spans of calls and attempts, with the real SDK."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import threading
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import linkedbandits as lb
from linkedbandits.adapters.opentelemetry import Spans
from linkedbandits.chain import LossAlarm
from tools.waiting import SECONDS, run_async, until

PAGE = Path(__file__).parents[2] / "docs" / "tracing-chains.md"


@pytest.fixture
def exported():
    """A provider, and the spans that it has exported."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter.get_finished_spans


def options(provider, stop=None):
    """One that fails and one that works, each with a span of its own inside; plain and awaited."""
    tracer = provider.get_tracer("theirs")

    def down(order):
        with tracer.start_as_current_span("GET down"):
            raise (stop or ConnectionError)("no route")

    def up(order):
        with tracer.start_as_current_span("GET up"):
            return order

    async def adown(order):
        await asyncio.sleep(0)
        return down(order)

    async def aup(order):
        await asyncio.sleep(0)
        return up(order)

    return {"sync": {"down": down, "up": up}, "async": {"down": adown, "up": aup}}


def tree(spans):
    """The names of spans, each with those of its children."""
    children: dict[int, list] = {}
    for span in spans:
        children.setdefault(span.parent.span_id if span.parent else 0, []).append(span)

    def below(identifier):
        return {span.name: below(span.context.span_id) for span in children.get(identifier, [])}

    return below(0)


@pytest.mark.parametrize("timeout", [None, SECONDS])
@pytest.mark.parametrize("way", ["sync", "async", "plain functions awaited"])
def test_a_call_has_a_span_with_one_for_each_attempt_in_which_the_option_s_own_are(exported, way, timeout):
    provider, spans = exported
    given = options(provider)["async" if way == "async" else "sync"]
    chain = lb.Chain(given, tracing=Spans("payments", provider), timeouts=timeout)
    with provider.get_tracer("web").start_as_current_span("POST /order"):
        if way == "sync":
            chain(17)
        else:
            run_async(chain.acall(17))
        assert trace.get_current_span().name == "POST /order"
    assert tree(spans()) == {
        "POST /order": {"payments": {"payments down": {"GET down": {}}, "payments up": {"GET up": {}}}}
    }
    found = {span.name: span for span in spans()}
    call, down, up = found["payments"], found["payments down"], found["payments up"]
    assert dict(call.attributes) == {
        "linkedbandits.chain": "payments",
        "linkedbandits.role": "play",
        "linkedbandits.outcome": "worked",
        "linkedbandits.tried": ("down", "up"),
        "linkedbandits.option": "up",
    }
    assert dict(down.attributes) == {
        "linkedbandits.chain": "payments",
        "linkedbandits.option": "down",
        "linkedbandits.place": 0,
        "linkedbandits.role": "play",
        "linkedbandits.outcome": "failed",
        "error.type": "ConnectionError",
    }
    assert up.attributes["linkedbandits.place"] == 1
    assert [event.name for event in down.events] == ["exception"]
    assert [each.status.status_code.name for each in (call, down, up)] == ["UNSET", "ERROR", "UNSET"]
    assert call.start_time <= down.start_time <= down.end_time <= up.start_time <= up.end_time <= call.end_time
    assert call.instrumentation_scope.name == "linkedbandits"


def test_calls_that_fail_and_calls_that_are_lost_are_errors(exported):
    provider, spans = exported
    down = options(provider)["sync"]["down"]
    chain = lb.Chain({"a": down, "b": down}, tracing=Spans(provider=provider))
    with pytest.raises(lb.ChainFailed):
        chain(1)
    call = spans()[-1]
    assert (call.name, call.attributes["linkedbandits.outcome"]) == ("chain", "failed")
    assert call.attributes["error.type"] == "linkedbandits.errors.ChainFailed"
    assert call.status.description == "none of a, b worked"
    stopped = options(provider, stop=KeyboardInterrupt)["sync"]["down"]
    with pytest.raises(KeyboardInterrupt):
        lb.Chain({"a": stopped, "b": stopped}, tracing=Spans(provider=provider))(1)
    attempt, call = spans()[-2:]
    assert attempt.attributes["linkedbandits.outcome"] == call.attributes["linkedbandits.outcome"] == "lost"
    assert attempt.attributes["error.type"] == call.attributes["error.type"] == "KeyboardInterrupt"
    assert not trace.get_current_span().get_span_context().is_valid


def test_what_a_call_held_is_free_when_it_is_over(exported):
    provider, _ = exported
    down = options(provider)["sync"]["down"]
    chain = lb.Chain({"a": down, "b": down}, tracing=Spans(provider=provider))
    held = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            try:
                chain(1)
            except lb.ChainFailed as error:
                held.append(weakref.ref(error))
        assert [error() for error in held] == [None, None]
    finally:
        gc.enable()


def test_an_attempt_that_takes_too_long_ends_its_span_when_its_time_is_up(exported):
    provider, spans = exported
    go_on = threading.Event()
    chain = lb.Chain(
        {"slow": lambda: go_on.wait(SECONDS), "up": lambda: 1}, timeouts={"slow": 0.02}, tracing=Spans("c", provider)
    )
    chain()
    slow = next(span for span in spans() if span.name == "c slow")
    assert slow.attributes["error.type"] == "linkedbandits.errors.AttemptTimedOut"
    go_on.set()


def test_a_call_that_is_cancelled_leaves_no_span_open(exported):
    provider, spans = exported

    async def for_ever():
        await asyncio.get_running_loop().create_future()

    chain = lb.Chain({"a": for_ever, "b": for_ever}, tracing=Spans("c", provider))

    async def cancelled():
        task = asyncio.create_task(chain.acall())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_async(cancelled())
    assert [(span.name, span.attributes["linkedbandits.outcome"]) for span in spans()] == [
        ("c a", "lost"),
        ("c", "lost"),
    ]


def test_threads_and_tasks_keep_their_spans_apart(exported):
    provider, spans = exported
    given = options(provider)
    threaded = lb.Chain(given["sync"], tracing=Spans("threads", provider), delta=1e-9, watch=None)
    tasks = lb.Chain(given["async"], tracing=Spans("tasks", provider), delta=1e-9, watch=None)

    async def many():
        await asyncio.gather(*(tasks.acall(number) for number in range(50)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(threaded, range(50)))
    run_async(many())
    by_id = {span.context.span_id: span for span in spans()}
    calls = Counter(span.name for span in spans() if span.parent is None)
    assert calls == {"threads": 50, "tasks": 50}
    for span in spans():
        if span.name.startswith("GET"):
            attempt = by_id[span.parent.span_id]
            assert attempt.attributes["linkedbandits.option"] == span.name.removeprefix("GET ")
            assert by_id[attempt.parent.span_id].name in calls


def test_a_verdict_and_an_alarm_are_spans_of_their_own(exported):
    provider, spans = exported
    chain = lb.Chain(options(provider)["sync"], tracing=Spans("payments", provider), delta=0.1)
    while chain.verdict() is None:
        chain(1)
    verdict = next(span for span in spans() if span.name == "payments verdict")
    assert verdict.parent is None
    assert verdict.attributes["linkedbandits.verdict.option"] == "up"
    assert verdict.attributes["linkedbandits.verdict.error_bound"] == 0.1
    [link] = verdict.links
    assert link.context.span_id in {span.context.span_id for span in spans() if span.name == "payments"}
    alarm = LossAlarm("up", 3.0, 200.0, None, None, "Attempts of 'up' are lost more often.")
    chain._hear(alarm)
    heard = until(lambda: [span for span in spans() if span.name == "payments alarm"], "the alarm")
    assert heard[0].attributes["linkedbandits.alarm.kind"] == "losses"


def test_without_a_provider_nothing_is_recorded_and_calls_are_served():
    chain = lb.Chain({"a": lambda: 1, "b": lambda: 2}, tracing=Spans())
    assert chain().value in (1, 2)
    assert chain.status().errors == 0


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_name_is_needed(name):
    with pytest.raises(lb.InvalidParameter, match="is no name of a chain"):
        Spans(name)


def test_without_opentelemetry_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "linkedbandits.adapters.opentelemetry")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(lb.MissingExtra, match=r"pip install 'linkedbandits\[opentelemetry\]'"):
        import_module("linkedbandits.adapters.opentelemetry")


def test_the_code_of_the_page_runs_and_its_attributes_are_true(exported):
    provider, spans = exported
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {"pay_stripe": options(provider)["sync"]["down"], "pay_adyen": options(provider)["sync"]["up"]}
    exec(block, names)
    chain = lb.Chain({"a": names["pay_stripe"], "b": names["pay_adyen"]}, tracing=Spans("payments", provider))
    while chain.verdict() is None:
        chain(1)
    used = {name for span in spans() for name in span.attributes if name.startswith("linkedbandits.")}
    assert used | {"linkedbandits.alarm.kind", "linkedbandits.alarm.sentence"} == set(
        re.findall(r"`(linkedbandits\.(?!adapters|chain.tracing)[a-z_.]+)`", text)
    )
