"""A LiteLLM router in front of three model servers that fail, each in its own way; which should be tried first?

    python examples/chain_of_models.py --requests 300

The servers are real ones on this machine that speak OpenAI's API: one has errors 500, one limits the rate and is too
slow at times, one tears its JSON. If all of them fail LiteLLM falls back to a fourth, small one.
It needs: pip install 'linkedbandits[litellm]'
"""

from __future__ import annotations

import argparse
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler

from faulty_servers import QuietServer

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else LiteLLM looks for prices in the network

import litellm

from linkedbandits.adapters.litellm import ChainRouter

PATIENCE = 0.5
WORKERS = 4
FAULTS = {
    "amber": {"broken": 0.3},
    "basalt": {"limited": 0.1, "slow": 0.02},
    "cedar": {"torn": 0.25, "broken": 0.1},
    "small": {},
}
"""Of each server the shares of its requests that each fault has."""


class Model(BaseHTTPRequestHandler):
    """Answers ``POST /v1/chat/completions``, or fails in its own way."""

    name: str
    luck: random.Random

    def do_POST(self) -> None:
        """Answer, unless luck is against it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        drawn = self.luck.random()
        for fault, share in FAULTS[self.name].items():
            if drawn < share:
                getattr(self, fault)()
                return
            drawn -= share
        self.answer(200, self.completion())

    def completion(self) -> bytes:
        """What a model says."""
        message = {"role": "assistant", "content": f"{self.name} says hello"}
        return json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": self.name,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
            }
        ).encode()

    def answer(self, status: int, body: bytes) -> None:
        """Send it."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def broken(self) -> None:
        """An error inside."""
        self.answer(500, b'{"error": {"message": "out of memory", "type": "server_error"}}')

    def limited(self) -> None:
        """Too many requests."""
        self.answer(429, b'{"error": {"message": "slow down", "type": "rate_limit_exceeded"}}')

    def slow(self) -> None:
        """Answer when nobody listens any more."""
        time.sleep(2 * PATIENCE)
        self.answer(200, self.completion())

    def torn(self) -> None:
        """Half of the JSON."""
        body = self.completion()
        self.answer(200, body[: len(body) // 2])

    def log_message(self, *_: object) -> None:
        """Nothing: the chain keeps count."""


@contextmanager
def running(name: str, seed: int) -> Iterator[str]:
    """One of the servers, and its address."""
    server = QuietServer(("127.0.0.1", 0), type(name, (Model,), {"name": name, "luck": random.Random(seed)}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def deployment(group: str, name: str, address: str) -> dict[str, object]:
    """An entry of LiteLLM's list of models."""
    return {
        "model_name": group,
        "litellm_params": {"model": f"openai/{name}", "api_base": address, "api_key": "none"},
        "model_info": {"id": name},
    }


def main() -> None:
    """Send requests, and say what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=300, help="how many requests are made")
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    litellm.suppress_debug_info = True
    with ExitStack() as stack:
        found = {name: stack.enter_context(running(name, chance.randrange(2**32))) for name in FAULTS}
        models = [deployment("backup" if name == "small" else "chat", name, found[name]) for name in FAULTS]
        router = ChainRouter(
            litellm.Router(model_list=models, fallbacks=[{"chat": ["backup"]}]),
            delta=0.05,
            on_verdict=lambda verdict: print(f"verdict: {verdict}"),
        )

        def request(number: int) -> str:
            messages = [{"role": "user", "content": f"hello, for the {number}th time"}]
            answer = router.completion(model="chat", messages=messages, timeout=PATIENCE)
            return str(answer.choices[0].message.content)

        with ThreadPoolExecutor(WORKERS) as pool:
            answers = Counter(pool.map(request, range(given.requests)))
        status = router.chains["chat"].status()
        print(f"answers: {dict(answers.most_common())}")
        print(f"order now: {', '.join(map(str, status.order))}")
        print(f"{status.calls} calls, {status.plays} of them plays; {status.failed} fell back to the small model")


if __name__ == "__main__":
    main()
