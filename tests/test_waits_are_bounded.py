"""Nothing waits for ever, in the library or in its tests: a lost answer has to end in an error, not in silence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = [path for folder in ("src", "tests", "benchmarks", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]

WAIT_WITHOUT_ARGUMENTS = {"join", "wait", "result", "exception", "get", "acquire", "communicate"}
"""Methods that wait for ever when they are called with nothing. Those of strings and mappings want an argument."""
WAIT_WITHOUT_A_TIMEOUT = {"run", "check_call", "check_output", "call", "create_connection", "urlopen", "communicate"}
"""Functions, of subprocess, socket and urllib, that take a timeout by name."""
MAY_WAIT = re.compile(
    rf"\.({'|'.join(WAIT_WITHOUT_ARGUMENTS)})\(\s*\)|\.({'|'.join(WAIT_WITHOUT_A_TIMEOUT)})\s*\(", re.ASCII
)
"""Where this is not found, there is none: to parse a file takes much longer."""
OWNERS = {"subprocess", "socket", "request"}

ALLOWED = {
    ("workers.py", "self._todo.get()"): "a daemon thread; the crew that it belongs to puts a None when it ends",
    ("workers.py", "inbox.get()"): "a worker process without work; it ends with its pipe",
    ("access.py", "read.exception()"): "called when it is done",
    ("access.py", "self._reading.exception()"): "called when it is done",
    ("engine.py", "job.exception()"): "called when it is done",
    ("engine.py", "job.result()"): "called when it is done",
    ("desk.py", "self._queue.get()"): "a daemon thread without work; stopping the desk gives it some",
    ("exports.py", "opening.exception()"): "called when it is done",
    ("exports.py", "opening.result()"): "called when it is done",
    ("exports.py", "waiting.result()"): "called when it is done",
    ("handover.py", "done.exception()"): "called when it is done",
    ("handover.py", "done.result()"): "called when it is done",
    ("readiness.py", "trying.exception()"): "called when it is done",
    ("request_ids.py", "_current.get()"): "a context variable",
    ("shared.py", "done.exception()"): "called when it is done",
    ("stream.py", "reading.exception()"): "called when it is done",
    ("stream.py", "making.exception()"): "called when it is done",
    ("stream.py", "closing.wait()"): "a coroutine: waited for with a timeout",
    ("slow_failures.py", "task.exception()"): "called when it is done",
    ("mutants.py", "self._idle.get()"): "for a workplace, which is given back when the time of its tests is up",
    ("mutants.py", "task.result()"): "called when it is done",
    ("stream.py", "changed.wait()"): "a coroutine: waited for with a timeout",
}
"""Waits that something else bounds, and what."""

BOUNDED_BY_A_FIXTURE = ROOT / "tests" / "service"
"""Where ``Future.result()`` has a timeout even if none is given."""


def unbounded_waits(source: str) -> list[tuple[int, str]]:
    """Line and text of every call that may wait for ever."""
    if MAY_WAIT.search(source) is None:
        return []
    tree = ast.parse(source)
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or id(node) in awaited:
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else None
        name, named = node.func.attr, {keyword.arg for keyword in node.keywords}
        without_arguments = name in WAIT_WITHOUT_ARGUMENTS and not node.args and not named and owner != "sys"
        without_timeout = (
            name in WAIT_WITHOUT_A_TIMEOUT
            and (owner in OWNERS or name == "communicate")
            and not {"timeout", None} & named
            and not (name == "create_connection" and len(node.args) > 1)
        )
        if without_arguments or without_timeout:
            found.append((node.lineno, ast.unparse(node)))
    return found


def test_no_call_waits_for_ever():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in PLACES
        for line, text in unbounded_waits(path.read_text(encoding="utf-8"))
        if (path.name, text) not in ALLOWED
        and not (path.is_relative_to(BOUNDED_BY_A_FIXTURE) and text.endswith((".result()", ".exception()")))
    ]
    assert not found, "give it a timeout, or say in ALLOWED what bounds it:\n" + "\n".join(found)


def test_it_knows_such_calls_when_it_sees_them():
    source = """
thread.join()
", ".join(words)
future.result()
future.result(timeout=3)
names.get("x")
subprocess.run(["ls"], check=True)
subprocess.run(["ls"], timeout=3)
process.communicate()
process.communicate(timeout=3)
socket.create_connection(("localhost", 1))
async def f():
    await event.wait()
"""
    assert [line for line, _ in unbounded_waits(source)] == [2, 4, 7, 9, 11]
