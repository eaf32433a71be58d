"""Who may import whom in the library. Imports inside functions and under TYPE_CHECKING count like all others.

An import that a test here refuses means one of two things: the code belongs in another module, or the table has to
change, and CONTRIBUTING.md with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

LAYERS = {
    "linkedbandits": (
        "errors version signals",
        "extras durable_files",
        "model workers assumptions",
        "display",
        "figures",
        "checks streams intervals",
        "scenarios world stopping option_estimates",
        "linkage joint_worlds",
        "policy runs",
        "loop",
        "plain",
        "simulation",
        "policies bounds",
        "attempts",
        "live",
        "chain lidar study service",
        "adapters testing __init__",
        "cli",
        "__main__",
    ),
    "linkedbandits.attempts": (
        "columns opening outcomes set_aside svg",
        "arrays sources",
        "cells shapes",
        "attempt_rows request_rows",
        "gathering",
        "log",
        "courses queues orders",
        "alarms deciding prices race second_test",
        "losses",
        "outlook",
        "report",
        "concerning wording",
        "pictures",
        "page attempts",
        "reading",
        "__init__",
    ),
    "linkedbandits.live": (
        "defaults saving estimates",
        "chain_record warm_start",
        "answers requests",
        "future",
        "run",
        "experiment",
        "__init__",
    ),
    "linkedbandits.chain": (
        "attempting backlog behind deadlines drift forks history results status troubles",
        "expenses in_order lookout watching",
        "home reporting",
        "ahead chapter rounds tally",
        "in_file in_memory in_service tracing",
        "chain",
        "__init__",
    ),
    "linkedbandits.service": (
        "addresses audit scopes",
        "__init__ clocks records replies migrations packing store_errors problem_types reply_size retries webhooks",
        "driver_errors",
        "store_address outbox_tables posting leaders",
        "lines tables calls outlook journal_tail tokens tags listing curves",
        "owner_tables",
        "sqlite_store postgres_store sending owners",
        "store async_client",
        "tuple_numbers client demo alarms expenses backups deletion deliverer webhook_keeping",
        "hosted",
        "jobs view creation survey",
        "background exporting waiting_room pulse",
        "groups",
        "desk export_process",
        "succession",
        "http",
    ),
    "linkedbandits.study": (
        "cells reading",
        "instances chunks folder",
        "spec forecast engines tables",
        "results",
        "running",
        "__init__",
        "figures",
        "reproduction",
    ),
}
"""The modules and packages inside of a package, lowest first: each may import only those of the lines above its own."""


def modules() -> dict[str, Path]:
    """Every module of the library by its full name."""
    found = {}
    for path in sorted((SOURCE / "linkedbandits").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str, known: set[str]) -> Iterator[str]:
    """The modules of the library that a source imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports in the library are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else str(node.module) for name in full]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "linkedbandits")


MODULES = modules()


@cache
def all_imports() -> dict[str, set[str]]:
    """Of every module, those that it imports. Not found before a test asks: every worker collects all tests."""
    return {name: set(imported(path.read_text(), set(MODULES))) - {name} for name, path in MODULES.items()}


def part_of(module: str, package: str) -> str | None:
    """The module or package directly inside of a package that a module belongs to; None if it is outside of it."""
    if module == package:
        return "__init__"
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def upward(imports: dict[str, set[str]], package: str) -> list[str]:
    """The imports between two parts of a package that do not go to a lower layer."""
    height = {part: number for number, line in enumerate(LAYERS[package]) for part in line.split()}
    return [
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in sorted(others)
        if (low := part_of(other, package)) is not None
        and (high := part_of(module, package)) is not None
        and low != high
        and height[low] >= height[high]
    ]


@pytest.mark.parametrize("package", LAYERS)
def test_every_part_has_a_layer(package):
    placed = [part for line in LAYERS[package] for part in line.split()]
    assert sorted(placed) == sorted({part for name in MODULES if (part := part_of(name, package)) is not None})


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_down(package):
    assert upward(all_imports(), package) == []


def test_no_import_cycle():
    try:
        TopologicalSorter(all_imports()).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    "source",
    [
        "from linkedbandits.live import Experiment",
        "from linkedbandits import live",
        "import linkedbandits.live.run",
        "def late():\n    from linkedbandits.live.run import Run",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from linkedbandits.live import Experiment",
    ],
)
def test_a_forbidden_import_is_found_wherever_it_stands(source):
    imports = all_imports() | {"linkedbandits.model": set(imported(source, set(MODULES)))}
    assert any(line.startswith("linkedbandits.model imports ") for line in upward(imports, "linkedbandits"))
    with pytest.raises(CycleError):
        TopologicalSorter(imports).prepare()
