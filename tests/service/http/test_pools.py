"""Work of one kind waits for none of another."""

from __future__ import annotations

import asyncio
import threading

import pytest

from linkedbandits.service.http.pools import Pool, Pools
from tools.waiting import SECONDS, run_async


def test_each_kind_has_threads_of_its_own_with_its_name():
    async def names(pools):
        return [await pool.run(lambda: threading.current_thread().name) for pool in pools.all()]

    pools = Pools()
    found = run_async(names(pools))
    assert [name.rpartition("_")[0] for name in found] == [pool.name for pool in pools.all()]
    assert len(set(found)) == len(found)
    pools.close()


def test_what_one_kind_does_is_not_waited_for_by_another():
    async def run(pools):
        held = threading.Event()
        busy = [asyncio.ensure_future(pools.looks.run(held.wait, SECONDS)) for _ in range(3 * pools.looks.threads)]
        assert await pools.tokens.run(lambda: 7) == 7
        held.set()
        assert all(await asyncio.gather(*busy))

    pools = Pools()
    run_async(run(pools))
    pools.close()


def test_a_service_whose_default_pool_is_full_still_answers(own_service):
    """All that a request may wait for has threads of its own."""
    loop_found, held = [], threading.Event()
    guard = own_service.server.service.guard
    experiment = own_service.create()

    async def fill():
        loop = asyncio.get_running_loop()
        loop_found.append(loop)
        for _ in range(100):
            loop.run_in_executor(None, held.wait, SECONDS)

    original = guard._run

    async def fill_first(*of):
        if not loop_found:
            await fill()
        return await original(*of)

    def read_tokens_again():
        guard._loaded_at, guard._reading = float("-inf"), None

    guard._run = fill_first
    try:
        read_tokens_again()
        assert own_service.http.get("/v1/me").status_code == 200
        assert loop_found
        assert own_service.http.get("/readyz").status_code == 200
        read_tokens_again()
        assert own_service.post(experiment, "ask", {}).status_code == 200
        for path in ("view", "expenses", "estimates", "journal"):
            read_tokens_again()
            assert own_service.http.get(f"/v1/experiments/{experiment}/{path}").status_code == 200
    finally:
        held.set()


def test_a_closed_pool_begins_nothing():
    pool = Pool("x", 1)
    pool.close()
    with pytest.raises(RuntimeError):
        run_async(pool.run(lambda: 1))
