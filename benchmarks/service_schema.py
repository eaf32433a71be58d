"""The OpenAPI document against the service: ``make bench SECTION=service-schema``, a few minutes.

schemathesis, with all its phases: the examples, the limits of every field, random requests, and walks along the links
of the document, from an experiment to its plays, answers and end. Nothing may be answered with a 5xx, everything as the
document says; what it forbids must be refused, and what it allows understood. ``EXAMPLES`` makes the search longer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from linkedbandits.service.store import open_store
from tools.claims import Claims
from tools.waiting import killed_in_the_end

EXAMPLES = int(os.environ.get("EXAMPLES", "40"))
SECONDS_OF_WALKS = 2 * EXAMPLES
SECONDS = 900.0
STORE = "searched.sqlite3"
ENDLESS = "events$"
"""Paths of streams that have no end."""
REPLACED = "positive_data_acceptance,ensure_resource_availability,use_after_free"
"""Checks of its own that benchmarks/schema_checks.py has instead, with what they cannot know."""
SETTINGS = f"""
[generation]
max-examples = {EXAMPLES}

[phases.stateful]
max-steps = 12

[phases.stateful.generation]
mode = "positive"
"""


def main() -> None:
    claims = Claims()
    with tempfile.TemporaryDirectory() as name, running_service(Path(name)) as url:
        (Path(name) / "settings.toml").write_text(SETTINGS, encoding="utf-8")
        for phases, more in (
            ("examples,coverage,fuzzing,stateful", []),
            ("stateful", ["--max-time", str(SECONDS_OF_WALKS)]),  # it ends a search soon where ids differ each time
        ):
            done = searched(Path(name), url, phases, more)
            print(done.stdout, done.stderr, flush=True)
            claims.check(done.returncode == 0, f"{phases}: schemathesis has found something")
        kinds = journal_entries(Path(name))
        print("entries of journals:", ", ".join(f"{entries} {kind}" for kind, entries in kinds.items()))
        claims.check(kinds["tell"] + kinds["abandon"] > 0, "no walk along the links led to the end of a play")
    claims.report()


def journal_entries(folder: Path) -> dict[str, int]:
    """How many there are of those that take steps one after the other."""
    with closing(open_store(str(folder / STORE), as_it_is=True)) as store, store.reading() as reading:
        found = [entry.kind for record in reading.records() for entry in reading.entries(record.id, 0)]
    return {kind: found.count(kind) for kind in ("ask", "tell", "abandon")}


def searched(folder: Path, url: str, phases: str, more: list[str]) -> subprocess.CompletedProcess[str]:
    """What schemathesis finds."""
    options = {
        "--phases": phases,
        "--checks": "all",
        "--exclude-checks": REPLACED,
        "--exclude-path-regex": ENDLESS,
        "--seed": "1",
        "--request-timeout": "30",
        "--generation-database": "none",
        "--suppress-health-check": "all",
        "--warnings": "off",
    }
    words = [word for option in options.items() for word in option]
    program = str(Path(sys.executable).with_name("st"))
    command = [program, "--config-file", "settings.toml", "run", f"{url}/openapi.json", *words, *more]
    root = str(Path(__file__).parents[1])
    places = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH", "")])])
    surroundings = {**os.environ, "SCHEMATHESIS_HOOKS": "benchmarks.schema_checks", "PYTHONPATH": places}
    return subprocess.run(
        [*command, "--no-color", "--continue-on-failure"],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def running_service(folder: Path) -> Iterator[str]:
    """A service on a new file, which sends no message, wherever webhooks lead that occur to the search."""
    command = [sys.executable, "-m", "benchmarks.service_schema", "serve", "--port", "0"]
    with (
        subprocess.Popen(
            [*command, "--store", str(folder / STORE), "--requests-per-second", "1000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
        killed_in_the_end(process, SECONDS),
    ):
        assert process.stdout is not None
        yield process.stdout.readline().split()[2].rstrip("/")


def serve() -> None:
    """What that process does."""
    from linkedbandits.__main__ import main as run_command
    from linkedbandits.service.posting import Post, Posted

    def send(*_: object) -> Posted:
        return Posted(False, "not sent")

    Post.send = send  # type: ignore[method-assign]
    run_command()


if __name__ == "__main__":
    serve()
