"""Chains over the deployments of a real LiteLLM router, in front of real servers that speak OpenAI's API and fail."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.adapters.litellm import ChainRouter
from tests.support.http_servers import serving
from tools.waiting import SECONDS, run_async, until

pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM gives many, which are its own
PAGE = Path(__file__).parents[2] / "docs" / "chains-with-litellm.md"
JSON = {"Content-Type": "application/json"}
MESSAGES = [{"role": "user", "content": "hello"}]
PATIENCE = 0.3


def says(text):
    """What a model answers."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return 200, JSON, json.dumps(whole).encode()


def error(status, code="server_error", message="no"):
    return status, JSON, json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()


def streamed(text):
    """The same in parts."""
    parts = [
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        for choice in (
            {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        )
    ]
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
    return 200, {"Content-Type": "text/event-stream"}, body.encode()


@pytest.fixture(scope="module")
def litellm():
    """LiteLLM takes seconds to import, and would look for prices in the network."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    pytest.importorskip("litellm")
    return import_module("litellm")


@pytest.fixture
def servers():
    """Makes servers by name, which are gone after the test."""
    with ExitStack() as stack:

        def make(**answers):
            return {
                name: stack.enter_context(serving(answer if callable(answer) else lambda *_, answer=answer: answer))
                for name, answer in answers.items()
            }

        yield make


def deployment(name, server, group="chat"):
    return {
        "model_name": group,
        "litellm_params": {"model": "openai/m", "api_base": f"{server.address}/v1", "api_key": "none"},
        "model_info": {"id": name},
    }


def router_of(litellm, servers, others=(), **settings):
    deployments = [deployment(name, server) for name, server in servers.items()]
    return litellm.Router(model_list=[*deployments, *others], **settings)


def complete(router, way, model="chat", **options):
    """The text that a call gives, sync or async."""
    given = {"model": model, "messages": MESSAGES, "timeout": SECONDS} | options
    answer = router.completion(**given) if way == "sync" else run_async(router.acompletion(**given))
    return answer.choices[0].message.content


FAULTS = {
    "500": error(500),
    "503": error(503),
    "429": error(429, "rate_limit_exceeded"),
    "401": error(401, "invalid_api_key"),
    "404": error(404, "model_not_found"),
    "no JSON": (200, JSON, b'{"id": "1", "choices": [{"ind'),
    "torn": "torn",
    "hangs up": "hangs up",
    "slow": "slow",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sync", "async"])
def test_whatever_a_deployment_does_wrong_the_next_is_tried_once(litellm, servers, way):
    """A model group for each fault, with a deployment that has it and one that works."""
    made = servers(**FAULTS)
    (good,) = servers(good=says("hi")).values()
    deployments = [
        deployment(f"{name}, {kind}", server, group=name)
        for name, bad in made.items()
        for kind, server in {"bad": bad, "good": good}.items()
    ]
    router = ChainRouter(litellm.Router(model_list=deployments, num_retries=2))
    assert list(router.chains) == list(FAULTS)
    for name, chain in router.chains.items():
        for _ in range(2):
            assert complete(router, way, model=name, timeout=PATIENCE if name == "slow" else SECONDS) == "hi", name
        status = chain.status()
        assert (status.calls, status.plays, status.failed, status.lost, status.errors) == (2, 2, 0, 0, 0), name
        assert 1 <= len(made[name].asked) <= 2, name  # not twice in a call
    assert len(good.asked) == 2 * len(FAULTS)
    assert {path for _, path, _ in good.asked} == {"/v1/chat/completions"}


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_best_is_found_and_comes_first(litellm, servers, way):
    made = servers(bad=error(500), good=says("hi"))
    router = ChainRouter(router_of(litellm, made), delta=0.2, watch=None)
    while router.chains["chat"].verdict() is None:
        assert complete(router, way) == "hi"
    asked = len(made["bad"].asked)
    assert complete(router, way) == "hi"
    assert router.chains["chat"].order == ("good", "bad")
    assert len(made["bad"].asked) == asked


@pytest.mark.parametrize("way", ["sync", "async"])
def test_if_all_fail_the_error_is_litellm_s_and_what_is_the_request_s_fault_is_not_tried_again(litellm, servers, way):
    made = servers(a=error(500), b=error(500))
    often = {"num_retries": 3, "retry_policy": {"InternalServerErrorRetries": 3}}
    with pytest.raises(litellm.InternalServerError) as caught:
        complete(ChainRouter(router_of(litellm, made, **often)), way)
    assert "this is what came of the last" in caught.value.__notes__[0]
    assert [len(server.asked) for server in made.values()] == [1, 1]
    made = servers(a=error(400, "invalid_request_error"), b=error(400, "invalid_request_error"))
    router = ChainRouter(router_of(litellm, made))
    with pytest.raises(litellm.BadRequestError):
        complete(router, way)
    assert sum(len(server.asked) for server in made.values()) == 1
    assert router.chains["chat"].status().lost == 1


@pytest.mark.parametrize("way", ["sync", "async"])
def test_litellm_s_fallbacks_follow_when_all_deployments_have_failed(litellm, servers, way):
    too_long = error(400, "context_length_exceeded", "This model's maximum context length is 10 tokens")
    made = servers(a=error(500), b=error(500))
    spare = servers(one=error(500), two=says("from two"), wide=says("from wide"), any=says("from any"))
    long = servers(c=too_long, d=too_long)
    others = [
        deployment("one", spare["one"], "backup"),
        deployment("two", spare["two"], "backup"),
        deployment("wide", spare["wide"], "wide"),
        deployment("any", spare["any"], "any"),
        deployment("c", long["c"], "short"),
        deployment("d", long["d"], "short"),
    ]
    settings = {
        "fallbacks": [{"chat": ["backup"]}],
        "context_window_fallbacks": [{"short": ["wide"]}],
        "model_group_alias": {"alias": "chat"},
    }
    router = ChainRouter(router_of(litellm, made, others, **settings))
    assert set(router.chains) == {"chat", "backup", "short"}
    assert complete(router, way) == complete(router, way, model="alias") == "from two"
    assert [len(server.asked) for server in made.values()] == [2, 2]
    assert complete(router, way, model="short") == "from wide"
    assert complete(router, way, model="wide") == "from wide"
    assert complete(router, way, fallbacks=["any"]) == "from any"
    assert complete(router, way, fallbacks=[{"*": [{"model": "any"}]}]) == "from any"
    with pytest.raises(litellm.InternalServerError):
        complete(router, way, disable_fallbacks=True)
    assert router.chains["backup"].status().failed == 0
    only = ChainRouter(router_of(litellm, made, others, **settings), "chat")
    assert set(only.chains) == {"chat"}


def test_fallbacks_come_behind_the_whole_chain_and_do_not_go_round_for_ever(litellm, servers):
    made = servers(a=error(500), b=error(500))
    spare = servers(any=says("from any"))
    others = [deployment("any", spare["any"], "any")]
    router = ChainRouter(router_of(litellm, made, others, default_fallbacks=["any"]))
    assert complete(router, "sync") == "from any"
    assert [len(server.asked) for server in (*made.values(), *spare.values())] == [1, 1, 1]
    assert router.chains["chat"].status().failed == 1
    others = [deployment("c", made["a"], "other"), deployment("d", made["b"], "other")]
    circle = [{"chat": ["other"]}, {"other": ["chat"]}]
    with pytest.raises(litellm.InternalServerError):
        complete(ChainRouter(router_of(litellm, made, others, fallbacks=circle)), "sync")
    assert [len(server.asked) for server in made.values()] == [1 + 6, 1 + 6]  # the first, and five fallbacks


def test_cooldowns_of_the_router_go_on_and_do_not_hold_up_a_chain(litellm, servers):
    made = servers(a=error(429, "rate_limit_exceeded"), b=error(429, "rate_limit_exceeded"))
    plain = router_of(litellm, made, cooldown_time=600, num_retries=0)
    router = ChainRouter(plain)
    for _ in range(2):
        with pytest.raises(litellm.RateLimitError):
            complete(router, "sync")
    assert [len(server.asked) for server in made.values()] == [2, 2]  # in spite of the cooldown

    def cooling():
        with pytest.raises(Exception, match=r"[Nn]o deployments available|rate_limit|no") as caught:
            plain.completion(model="chat", messages=MESSAGES)
        return "RouterRateLimitError" in type(caught.value).__name__

    until(cooling, "the cooldown of both deployments, of which callbacks tell the router")


def test_streams_begin_with_the_first_deployment_that_answers(litellm, servers):
    made = servers(bad=error(500), good=streamed("hi"))
    router = ChainRouter(router_of(litellm, made))
    stream = router.completion(model="chat", messages=MESSAGES, stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in stream) == "hi"

    async def read():
        parts = await router.acompletion(model="chat", messages=MESSAGES, stream=True)
        return "".join([part.choices[0].delta.content or "" async for part in parts])

    assert run_async(read()) == "hi"


def test_threads_and_tasks_share_a_chain(litellm, servers):
    made = servers(bad=error(500), good=says("hi"))
    router = ChainRouter(router_of(litellm, made), delta=1e-9)

    async def many():
        given = {"model": "chat", "messages": MESSAGES, "metadata": {"mine": 1}}
        return await asyncio.gather(*(router.acompletion(**given) for _ in range(8)))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: complete(router, "sync"), range(8))) == {"hi"}
    assert {answer.choices[0].message.content for answer in run_async(many())} == {"hi"}
    status = router.chains["chat"].status()
    assert (status.calls, status.failed, status.lost, status.in_flight) == (16, 0, 0, 0)
    assert len(made["good"].asked) == 16
    assert router.get_model_names()  # and all else is the router's
    router.close()


def test_bad_input_is_refused_with_a_remedy(litellm, servers):
    made = servers(a=says("a"), b=says("b"))
    others = [deployment("c", made["a"], "other"), deployment("d", made["b"], "other")]
    router = router_of(litellm, made, others)
    for given, message in {
        ("no router", None): "'no router' is no LiteLLM router",
        (router, ("chatt",)): "no model group 'chatt'; it has chat, other",
        (litellm.Router(model_list=others[:1]), None): "no model group of the router has more than one",
        (litellm.Router(model_list=others[:1]), ("other",)): "'c' is the only option",
    }.items():
        with pytest.raises(lb.LinkedBanditError, match=message):
            ChainRouter(*given)
    with pytest.raises(lb.InvalidParameter, match="a state is given for more than one chain"):
        ChainRouter(router, state="chain.json")


def test_without_litellm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(lb.MissingExtra, match=r"pip install 'linkedbandits\[litellm\]'"):
        ChainRouter(None)


def test_the_code_of_the_page_runs(litellm, servers):
    made = servers(east=error(500), west=says("hi"))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        with_servers = block
        for name, server in made.items():
            with_servers = with_servers.replace(f"https://{name}.example", server.address)
        exec(with_servers, names)
    assert names["answer"].choices[0].message.content == "hi"
    assert len(blocks) == 1
