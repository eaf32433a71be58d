"""A log of real outcomes, to try ``linkedbandits verdict`` on: the requests of an outcome table, one after the other.

A table says what every option did on every request (``benchmarks/data`` has some, with their sources and licences). A
log says less: options are tried in some order until one works, and those behind it are not seen. This script takes the
requests of a table in a random order, one every two seconds, tries their options, and writes down what a service would.

    python examples/replay_log.py benchmarks/data/face-apis.csv attempts.csv
    linkedbandits verdict attempts.csv

Options go in a new random order on every request; with ``--fixed`` always in that of the table, as many services have
it. There is a row for each attempt; with ``--by-request`` one for each request, with all options as they were offered,
which is what ``--attempts duels`` needs. ``--every 0.01`` writes slowly, a request each hundredth of a second, so that
there is something to ``--watch``.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

BEGIN = datetime(2024, 5, 1, tzinfo=UTC)
BETWEEN_REQUESTS = timedelta(seconds=2)


def requests_of(table: Path) -> tuple[list[str], list[list[bool]]]:
    """The options of a table, and what they did on each of its requests."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    options = [name for name in rows[0] if name not in ("count", "request") and not name.startswith("seconds:")]
    outcomes = [[row[option] == "1" for option in options] for row in rows for _ in range(int(row.get("count") or 1))]
    return options, outcomes


def rows_of(number: int, order: list[str], works: dict[str, bool], by_request: bool) -> Iterator[list[object]]:
    """What is written down of one request."""
    came = (BEGIN + number * BETWEEN_REQUESTS).strftime("%Y-%m-%dT%H:%M:%SZ")
    hit = next((option for option in order if works[option]), None)
    if by_request:
        yield [came, ">".join(order), hit or ""]
        return
    tried = order if hit is None else order[: order.index(hit) + 1]
    for attempt, option in enumerate(tried, start=1):
        yield [came, f"r{number}", attempt, option, "ok" if works[option] else "failed"]


def write(file: TextIO, arguments: argparse.Namespace) -> int:
    """The whole log; how many requests does it have?"""
    rng = random.Random(arguments.seed)
    options, outcomes = requests_of(arguments.table)
    rng.shuffle(outcomes)
    log = csv.writer(file, lineterminator="\n")
    heading = "time,order,hit" if arguments.by_request else "time,request,attempt,provider,status"
    log.writerow(heading.split(","))
    for number, outcome in enumerate(outcomes[: arguments.requests]):
        order = options if arguments.fixed else rng.sample(options, len(options))
        log.writerows(rows_of(number, order, dict(zip(options, outcome, strict=True)), arguments.by_request))
        if arguments.every:
            file.flush()
            time.sleep(arguments.every)
    return len(outcomes[: arguments.requests])


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a log of the requests of an outcome table.")
    parser.add_argument("table", type=Path, help="such as benchmarks/data/face-apis.csv")
    parser.add_argument("log", type=Path, help="the file to write")
    parser.add_argument("--requests", type=int, help="how many; all of the table unless given")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same log")
    parser.add_argument("--fixed", action="store_true", help="always try options in the order of the table")
    parser.add_argument("--by-request", action="store_true", help="write a row for each request, not each attempt")
    parser.add_argument("--every", type=float, default=0.0, help="seconds to wait after each request")
    arguments = parser.parse_args()
    with arguments.log.open("w", encoding="utf-8", newline="") as file:
        requests = write(file, arguments)
    print(f"{requests:,} requests in {arguments.log}", file=sys.stderr)


if __name__ == "__main__":
    main()
