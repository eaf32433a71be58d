"""The spans of a fallback chain in front of three real servers that fail, printed as trees.

    python examples/traced_chain.py --requests 400

The servers are those of faulty_servers.py. A program of yours would send its spans to a collector; here they are kept
in memory. It needs: pip install 'linkedbandits[opentelemetry]' opentelemetry-sdk
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, suppress

from faulty_servers import SERVERS, attempt, running
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import linkedbandits as lb
from linkedbandits.adapters.opentelemetry import Spans


def server_at(port: int, provider: TracerProvider) -> Callable[[str], int]:
    """An option, with a span of its own as an HTTP client would make it."""
    tracer = provider.get_tracer("example")

    def request(path: str) -> int:
        with tracer.start_as_current_span("GET") as span:
            status = attempt(port, path)
            span.set_attribute("http.response.status_code", status)
            return status

    return request


def show(spans: tuple[ReadableSpan, ...], depth: int = 0, parent: int | None = None) -> None:
    """Print the spans below one, each with its children."""
    children = defaultdict(list)
    for span in spans:
        children[span.parent.span_id if span.parent else None].append(span)
    for span in sorted(children[parent], key=lambda span: span.start_time):
        about = span.attributes.get("linkedbandits.outcome", span.attributes.get("http.response.status_code", ""))
        print(f"{'  ' * depth}{span.name:{30 - 2 * depth}} {(span.end_time - span.start_time) / 1e6:7.2f} ms  {about}")
        show(spans, depth + 1, span.context.span_id)


def main() -> None:
    """Send requests, and print the spans of some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=400, help="how many requests are made")
    parser.add_argument("--seed", type=int, default=1, help="of the lengths of requests and the faults")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with ExitStack() as stack:
        ports = {name: stack.enter_context(running(name, chance.randrange(2**32))) for name in SERVERS}
        chain = lb.Chain(
            {name: server_at(port, provider) for name, port in ports.items()},
            worked=lambda status: status == 200,
            tracing=Spans("mirrors", provider),
        )
        for _ in range(given.requests):
            with suppress(lb.ChainFailed):
                chain("/" + "x" * int(chance.expovariate(1 / 500)))
    spans = exporter.get_finished_spans()
    traces = defaultdict(list)
    for span in spans:
        traces[span.context.trace_id].append(span)
    longest = max(traces.values(), key=len)
    show(tuple(longest))
    for span in spans:
        if span.name == "mirrors verdict":
            print(f"verdict: {span.attributes['linkedbandits.verdict.option']}")
    print(f"{len(spans)} spans in {len(traces)} traces")


if __name__ == "__main__":
    main()
