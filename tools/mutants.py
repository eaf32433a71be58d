"""Do the tests notice mistakes? Small mistakes are made on purpose, and the tests have to find them.

A *mutant* is the source with one small change: ``<`` becomes ``<=``, a constant is off by one, a statement is gone.
Each mutant of a sample is tested in a private copy of the tree. If a test fails, the mutant is *killed*. If all pass,
it is a *survivor*: either a test is missing, or the change makes no difference that a test should see. The latter are
listed in ``survivors.toml``, each with its reason. A survivor without a reason makes this program fail.

    python -m tools.mutants                          # a sample over all parts
    python -m tools.mutants --part policies --sample 40
    python -m tools.mutants --only 'linkage.py::Ordered.plays'

Outcomes are written down as they come. Interrupt it with Ctrl-C, call it again, and it goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/linkedbandits")
REASONS = ROOT / "tools" / "survivors.toml"

# ---- what is mutated, and which tests belong to it -------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Some modules, and the tests that could notice a mistake in any of them; names are separated by blanks.

    The wider tests are run if the mirroring ones pass. ``otherwise`` mirrors what no test has the name of.
    """

    modules: str
    wider: str
    otherwise: str = ""


ANY_POLICY = "tests/test_policy.py tests/test_contract.py tests/test_simulation.py tests/live/test_experiment.py"

PARTS: dict[str, Part] = {
    "policies": Part("policies", f"tests/policies tests/stopping src/linkedbandits/policies {ANY_POLICY}"),
    "stopping": Part("stopping", f"tests/stopping tests/policies tests/bounds/test_published.py {ANY_POLICY}"),
    "linkage": Part(
        "linkage.py",
        "tests/test_linkage.py tests/testing tests/bounds tests/policies " + ANY_POLICY,
    ),
    "bounds": Part(
        "bounds",
        "tests/bounds src/linkedbandits/bounds tests/cli/test_bounds.py tests/policies/test_linked_track_and_stop.py",
        otherwise="tests/bounds/test_allocation.py tests/bounds/test_characteristic.py",
    ),
    "live": Part(
        "live world.py",
        "tests/live tests/test_world.py tests/test_linkage.py tests/policies/test_prediction.py "
        "tests/service/test_outlook.py tests/service/test_view.py tests/service/test_hosted.py "
        f"tests/service/test_desk.py tests/lidar/test_gate_policy.py {ANY_POLICY}",
        otherwise="tests/live/test_experiment.py",
    ),
    "service": Part(
        "service/tables.py service/sqlite_store.py service/postgres_store.py service/store.py service/desk.py "
        "service/groups.py service/creation.py service/hosted.py service/journal_tail.py service/records.py "
        "service/migrations.py",
        "tests/service tests/cli/test_token.py",
    ),
    "lidar": Part(
        "lidar/certificate.py lidar/sensor.py lidar/estimators.py lidar/returns.py lidar/pulse_gating.py "
        "lidar/gates.py lidar/exposure.py lidar/pulse.py lidar/borrowing.py lidar/two_returns.py",
        "tests/lidar src/linkedbandits/lidar",
    ),
    "workers": Part(
        "workers.py", "tests/study tests/lidar/test_frame.py", otherwise="tests/study/engines/test_processes.py"
    ),
}

# Where a module is tested by files of other names than its own.
MIRRORS: dict[str, str] = {
    "policies/__init__.py": "tests/policies/test_policies_by_name.py",
    "policies/registry.py": "tests/policies/test_own.py",
    "bounds/programme.py": "tests/bounds/test_allocation.py",
    "bounds/search.py": "tests/bounds/test_allocation.py",
    "service/sqlite_store.py": "tests/service/test_store.py",
    "service/postgres_store.py": "tests/service/test_store.py",
    "service/tables.py": "tests/service/test_store.py",
    "service/groups.py": "tests/service/test_desk.py",
    "service/journal_tail.py": "tests/service/test_hosted.py",
}

# A browser has little to say about a store, and is what takes the time. The whole suite includes it.
LEFT_OUT = ("tests/service/page",)

Stage = Literal["quick", "wider", "whole"]
STAGES: tuple[Stage, ...] = ("quick", "wider", "whole")


def mirrored_by(part: Part, module: str, tree: Path) -> tuple[str, ...]:
    """The tests to run first: of the module's own name, and the examples in its docstrings."""
    own = f"tests/{Path(module).parent.as_posix()}/test_{Path(module).stem}.py".replace("/./", "/")
    named = [name for name in (own, *MIRRORS.get(module, "").split()) if (tree / name).exists()]
    return (*(named or part.otherwise.split()), str(PACKAGE / module))


@dataclass(frozen=True)
class Tests:
    """What is run at a stage."""

    stage: Stage
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.stage}: {' '.join(self.paths)}"

    def arguments(self, passed: Sequence[str] = ()) -> list[str]:
        """For pytest. What the mutant has passed already need not be run again."""
        match self.stage:
            case "quick":  # schemathesis takes longer to import than these tests take to run
                return [*self.paths, "-p", "no:schemathesis"]
            case "wider":
                return [*self.paths, "-m", "not slow", *(f"--ignore={path}" for path in (*passed, *LEFT_OUT))]
            case "whole":
                return [*self.paths]


WHOLE = Tests("whole", ("tests", "src"))


def stages(part: str, module: str, tree: Path) -> list[Tests]:
    """The quickest to notice come first."""
    wider = tuple(name for name in PARTS[part].wider.split() if (tree / name).exists())
    return [Tests("quick", mirrored_by(PARTS[part], module, tree)), Tests("wider", wider)]


# ---- making mutants --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """One change at one place; ``start`` and ``end`` count characters of the module's text."""

    key: str
    module: str
    line: int
    start: int
    end: int
    after: str

    def applied(self, source: str) -> str:
        """The mutated text."""
        return source[: self.start] + self.after + source[self.end :]


@dataclass(frozen=True)
class Change:
    """A mutant before it has a key."""

    start: int
    end: int
    after: str
    named: str
    seen_in: ast.AST
    scope: str


COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
# On arrays, & | and ~ are what "and", "or" and "not" are elsewhere.
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
PAIRS = (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("ceil", "floor"), ("any", "all"))
SWAPPED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
LOGS = {"logging", "logger", "log", "_log", "_logger", "warnings"}
SAFETY_NETS = {"strict"}  # zip(strict=True) only speaks up when the code is wrong already
SHOWN = 100  # characters of the source in a key


def changed_constant(value: object) -> str | None:
    """Off by one, the other truth value, or twice as large."""
    match value:
        case bool():
            return str(not value)
        case 2:
            return "1" if isinstance(value, int) else "4.0"
        case int():
            return str(value + 1)
        case float():
            return repr(2 * value or 1.0)
    return None


def is_text(node: ast.expr) -> bool:
    """Joining texts and paths is spelled with + and / too, and repeating a list with *."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def first_name(node: ast.expr) -> str | None:
    """``a`` of ``a.b.c()``."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else None


def called(node: ast.Call) -> str | None:
    """``c`` of ``a.b.c()``."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else None


class Source:
    """The text of a module, its tree, and where things are in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = io.StringIO(text).readlines()
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        self._tokens = [(self._starts[t.start[0] - 1] + t.start[1], t.string) for t in tokens]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First character and the one behind the last. Python counts columns in bytes, not in characters."""
        where = node.__dict__
        return self._at(where["lineno"], where["col_offset"]), self._at(where["end_lineno"], where["end_col_offset"])

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, position: int) -> int:
        """Counted from 1."""
        return self.text.count("\n", 0, position) + 1

    def operator(self, left: ast.expr, right: ast.expr, spelled: str) -> int | None:
        """Where an operator stands: the tree does not say."""
        after, before = self.span(left)[1], self.span(right)[0]
        return next((at for at, text in self._tokens if after <= at < before and text == spelled), None)


class Mistakes:
    """Walks through a module and proposes changes, but not to what no test should pin.

    Left alone are texts, types, decorators, class variables, exports, logging, and all that is said in an error.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def all(self) -> Iterator[Change]:
        """In the order of the tree."""
        yield from self._body(self._source.tree.body, "", returns_none=False)

    def _body(self, body: Sequence[ast.stmt], scope: str, returns_none: bool) -> Iterator[Change]:
        for statement in body:
            yield from self._statement(statement, scope, returns_none, is_last=statement is body[-1])

    def _statement(self, node: ast.stmt, scope: str, returns_none: bool, is_last: bool) -> Iterator[Change]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = f"{scope}.{node.name}".lstrip(".")
                yield from self._defaults(node.args, inner)
                nothing = isinstance(node.returns, ast.Constant) and node.returns.value is None
                yield from self._body(node.body, inner, nothing)
            case ast.ClassDef():
                yield from self._body(node.body, f"{scope}.{node.name}".lstrip("."), returns_none=False)
            case ast.Raise() | ast.Import() | ast.ImportFrom():
                return
            case ast.Expr(value=ast.Call() as call) if first_name(call) in LOGS:
                return
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.AnnAssign():
                if node.value is not None and "ClassVar" not in self._source.of(node.annotation):
                    yield from self._expression(node.value, node, scope)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from self._body(node.orelse, scope, returns_none)
            case _:
                yield from self._dropped(node, scope, returns_none and not is_last)
                if isinstance(node, ast.AugAssign):
                    yield from self._spelled(node, node.target, node.value, ARITHMETIC.get(type(node.op)), scope, "=")
                yield from self._parts(node, node, scope, returns_none)

    def _parts(self, node: ast.AST, seen_in: ast.AST, scope: str, returns_none: bool = False) -> Iterator[Change]:
        """Everything below a node, statements as statements and expressions as expressions."""
        for _, field in ast.iter_fields(node):
            inside = field if isinstance(field, list) else [field]
            if inside and isinstance(inside[0], ast.stmt):
                yield from self._body(inside, scope, returns_none)
                continue
            for child in inside:
                if isinstance(child, ast.expr):
                    yield from self._expression(child, seen_in, scope)
                elif isinstance(child, ast.AST):
                    yield from self._parts(child, seen_in, scope, returns_none)

    def _defaults(self, arguments: ast.arguments, scope: str) -> Iterator[Change]:
        named = arguments.posonlyargs + arguments.args
        pairs = [*zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        for argument, default in pairs:
            if isinstance(default, ast.Constant) and (after := changed_constant(default.value)):
                change = f"default {self._source.of(default)} to {after}"
                yield Change(*self._source.span(default), after, change, argument, scope)

    def _dropped(self, node: ast.stmt, scope: str, can_return: bool) -> Iterator[Change]:
        """A statement that changes something is forgotten, or everything from it on."""
        match node:
            case ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Await()):
                pass
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) if not scope.endswith("__init__"):
                pass  # in __init__ nothing works without it, and any test would see it
            case _:
                return
        yield Change(*self._source.span(node), "pass", "dropped", node, scope)
        if can_return:
            yield Change(*self._source.span(node), "return", "early return", node, scope)

    def _spelled(
        self,
        node: ast.AST,
        left: ast.expr,
        right: ast.expr,
        swap: tuple[str, str] | None,
        scope: str,
        ending: str = "",
    ) -> Iterator[Change]:
        if swap is None or is_text(left) or is_text(right):
            return
        before, after = (text + ending for text in swap)
        at = self._source.operator(left, right, before)
        if at is not None:
            yield Change(at, at + len(before), after, f"{before} to {after}", node, scope)

    def _expression(self, node: ast.expr, around: ast.AST, scope: str) -> Iterator[Change]:
        """``around`` is what a small node is recognised by: a bare ``1`` says little."""
        match node:
            case ast.JoinedStr():
                return
            case ast.Lambda():
                yield from self._defaults(node.args, scope)
                yield from self._expression(node.body, node, scope)
            case ast.Subscript(slice=ast.Slice() | ast.Tuple()):
                yield from self._slices(node, scope)
            case ast.Compare() | ast.BoolOp() | ast.BinOp():
                yield from self._operators(node, scope)
                yield from self._below(node, scope)
            case _:
                yield from self._replaced(node, around, scope)
                yield from self._below(node, scope)

    def _operators(self, node: ast.Compare | ast.BoolOp | ast.BinOp, scope: str) -> Iterator[Change]:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
                    yield from self._spelled(node, left, right, COMPARISONS.get(type(operator)), scope)
            case ast.BoolOp():
                swap = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._spelled(node, left, right, swap, scope)
            case ast.BinOp():
                yield from self._spelled(node, node.left, node.right, ARITHMETIC.get(type(node.op)), scope)

    def _replaced(self, node: ast.expr, around: ast.AST, scope: str) -> Iterator[Change]:
        start, end = self._source.span(node)
        match node:
            case ast.Constant():
                after = changed_constant(node.value)
                if after is not None:
                    yield Change(start, end, after, f"{self._source.of(node)} to {after}", around, scope)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in SWAPPED and isinstance(node.ctx, ast.Load):
                after = SWAPPED[name]
                yield Change(end - len(name), end, after, f"{name} to {after}", around, scope)
            case ast.UnaryOp(op=ast.Not()):
                yield Change(start, start + len("not "), "", "not dropped", node, scope)
            case ast.UnaryOp(op=ast.Invert()):
                yield Change(start, start + len("~"), "", "~ dropped", node, scope)
            case ast.IfExp():
                yield Change(start, end, self._source.of(node.orelse), "always else", node, scope)
            case ast.Call(func=ast.Name(id="sorted"), args=[first, *_]):
                yield Change(start, end, f"list({self._source.of(first)})", "not sorted", node, scope)

    def _below(self, node: ast.expr, scope: str) -> Iterator[Change]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.keyword(arg=named) if named in SAFETY_NETS:
                    pass
                case ast.keyword(arg="axis", value=ast.Constant(value=0 | 1 as axis) as value):
                    yield Change(*self._source.span(value), str(1 - axis), f"axis {axis} to {1 - axis}", node, scope)
                case ast.keyword(value=value):
                    yield from self._expression(value, node, scope)
                case ast.UnaryOp(op=ast.USub()) if isinstance(node, ast.Call) and called(node) == "reshape":
                    pass  # any negative number means the same
                case ast.expr():
                    yield from self._expression(child, node, scope)
                case _:
                    yield from self._parts(child, node, scope)

    def _slices(self, node: ast.Subscript, scope: str) -> Iterator[Change]:
        yield from self._expression(node.value, node, scope)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place in places:
            if not isinstance(place, ast.Slice):
                yield from self._expression(place, node, scope)
                continue
            for bound, shift in ((place.lower, "+ 1"), (place.upper, "- 1")):
                if bound is None:
                    continue
                text = self._source.of(bound)
                after = f"({text}) {shift}" if isinstance(bound, ast.BinOp | ast.IfExp) else f"{text} {shift}"
                yield Change(*self._source.span(bound), after, f"bound {text} to {after}", node, scope)
                if not isinstance(bound, ast.Constant):
                    yield from self._expression(bound, node, scope)


def mutants_of(module: str, text: str) -> list[Mutant]:
    """Every mutant of a module. Its key names no line, so that it outlives edits elsewhere in the file."""
    source = Source(text)
    seen: Counter[str] = Counter()
    found = []
    for change in Mistakes(source).all():
        shown = source.of(change.seen_in)
        if hasattr(change.seen_in, "body"):  # of a loop or a condition, the head says where we are
            shown = shown.partition("\n")[0]
        named, shown = (" ".join(text.split()) for text in (change.named, shown))
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
        key = f"{module}::{change.scope or 'module'}::{named}::{shown}"
        seen[key] += 1
        if seen[key] > 1:
            key += f" #{seen[key]}"
        found.append(Mutant(key, module, source.line_of(change.start), change.start, change.end, change.after))
    return found


def modules_of(part: Part, tree: Path) -> list[str]:
    """Paths below the package. A module that is not there is left out."""
    package = tree / PACKAGE
    paths: list[Path] = []
    for name in part.modules.split():
        paths += sorted((package / name).rglob("*.py")) if (package / name).is_dir() else [package / name]
    return [path.relative_to(package).as_posix() for path in paths if path.exists()]


def candidates(tree: Path, parts: Sequence[str]) -> dict[str, list[Mutant]]:
    """All mutants by part."""
    return {
        name: [
            mutant
            for module in modules_of(PARTS[name], tree)
            for mutant in mutants_of(module, (tree / PACKAGE / module).read_text(encoding="utf-8"))
        ]
        for name in parts
    }


LEAST = 6  # of every part, however small, unless the sample is small too


def drawn(by_part: dict[str, list[Mutant]], sample: int, seed: int) -> dict[str, list[Mutant]]:
    """A sample, in proportion to the candidates.

    What is drawn depends on the keys and not on their number, so that an edit changes the sample by a mutant or two.
    """

    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).hexdigest()

    total = sum(len(found) for found in by_part.values())
    least = min(LEAST, sample // len(by_part))
    rest = sample - least * len(by_part)
    return {
        name: sorted(found, key=rank)[: least + round(rest * len(found) / total)] if found else []
        for name, found in by_part.items()
    }


# ---- testing a mutant ------------------------------------------------------------------------------------------------

MEMORY_KB = 4 * 1024 * 1024
PATIENCE = 3  # times as long as without the mutant, on a machine that others use too
AT_LEAST_S = 30.0


class Interrupted(Exception):
    """Ctrl-C."""


@dataclass(frozen=True)
class Verdict:
    """How a run of tests ended. ``by`` is the test that failed first."""

    outcome: Literal["passed", "failed", "timeout"]
    seconds: float
    by: str
    output: str


Fate = Literal["killed", "timeout", "survived"]
FATE: dict[str, Fate] = {"failed": "killed", "timeout": "timeout", "passed": "survived"}


class Workplace:
    """A private copy of the tree in which tests run. One mutant at a time."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree = folder / "tree"
        self._scratch = folder / "tmp"
        self._output = folder / "output"
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._closed = False
        folder.mkdir()
        for name in files_of(tree):
            target = self.tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target)
        self._check_what_is_imported()

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "LINKEDBANDITS_NO_SKIPS"}
        return {**inherited, "PYTHONPATH": str(self.tree / "src"), "TMPDIR": str(self._scratch)}

    def _check_what_is_imported(self) -> None:
        """The environment has the library installed from somewhere else; the copy has to come first."""
        self._scratch.mkdir()
        asked = [sys.executable, "-c", "import linkedbandits; print(linkedbandits.__file__)"]
        told = subprocess.run(
            asked, cwd=self.tree, env=self._environment(), capture_output=True, text=True, check=True, timeout=60
        )
        if not Path(told.stdout.strip()).is_relative_to(self.tree):
            raise SystemExit(f"the tests would import {told.stdout.strip()} and not the copy in {self.tree}")

    @contextmanager
    def with_mutant(self, mutant: Mutant) -> Iterator[None]:
        """The mutant is in the copy while the block runs."""
        path = self.tree / PACKAGE / mutant.module
        original = path.read_text(encoding="utf-8")
        self._write(path, mutant.applied(original))
        try:
            yield
        finally:
            self._write(path, original)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        # Python trusts compiled code whose source has the same second and size, which a mutant often has.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        path.write_text(text, encoding="utf-8")

    def test(self, arguments: Sequence[str], limit: float | None = None) -> Verdict:
        """Run pytest until the first failure, or until its time is up."""
        shutil.rmtree(self._scratch, ignore_errors=True)  # a server that was left behind ends when its folder is gone
        self._scratch.mkdir(exist_ok=True)
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        # The limit on data, not on addresses: a browser reserves far more of these than it uses.
        command = ["sh", "-c", f'ulimit -d {MEMORY_KB} && exec "$@"', "sh", *pytest, *arguments]
        began = time.monotonic()
        with self._output.open("wb") as output:
            with self._lock:
                if self._closed:
                    raise Interrupted
                self._running = subprocess.Popen(
                    command,
                    cwd=self.tree,
                    env=self._environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # so that what the tests start can be ended with them
                )
            outcome: Literal["passed", "failed", "timeout"]
            try:
                # 5: no tests in there, such as a module without examples.
                outcome = "passed" if self._running.wait(limit) in {0, 5} else "failed"
            except subprocess.TimeoutExpired:
                outcome = "timeout"
            finally:
                self._end()
        if self._closed:
            raise Interrupted
        text = self._output.read_text(encoding="utf-8", errors="replace")
        failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Verdict(outcome, round(time.monotonic() - began, 1), failed[0][:200] if failed else "", text)

    def _end(self) -> None:
        with self._lock:
            if self._running is not None:
                with suppress(ProcessLookupError):
                    os.killpg(self._running.pid, signal.SIGKILL)
                self._running.wait(60)
                self._running = None

    def close(self) -> None:
        """End what runs, and begin nothing new."""
        self._closed = True
        self._end()


def files_of(tree: Path) -> list[str]:
    """What git knows or would know."""
    asked = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    told = subprocess.run(asked, cwd=tree, capture_output=True, text=True, check=True, timeout=60)
    return [name for name in told.stdout.split("\0") if name and (tree / name).is_file()]


# ---- what is written down --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, and of which texts that is true."""

    key: str
    outcome: Fate
    stage: Stage
    by: str
    seconds: float
    module_text: str
    tree_text: str


class Notes:
    """The results file: a line for each outcome, and for each set of tests that was run without a mutant."""

    def __init__(self, path: Path, tree: Path, fresh: bool) -> None:
        self._path = path
        self._tree = tree
        self._lock = Lock()
        self._outcomes: dict[str, Outcome] = {}
        self._passed: dict[Stage, set[str]] = {stage: set() for stage in STAGES}  # without a mutant, in this very tree
        self._seconds: dict[str, float] = {}
        # Tests use modules of tools, but the list of reasons may grow without any test being another one.
        folders = ("src/", "tests/", "tools/")
        texts = [name for name in files_of(tree) if name.startswith(folders) and Path(name).name != REASONS.name]
        known = b"".join(name.encode() + (tree / name).read_bytes() for name in sorted(texts))
        self.tree_text = hashlib.sha256(known).hexdigest()
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            note = json.loads(line)
            if "passed" in note:
                if note["tree_text"] == self.tree_text:
                    self._passed[note["stage"]].update(note["passed"])
                    self._seconds.update(note["seconds"])
            else:
                self._outcomes[note["key"]] = Outcome(**note)

    def module_text(self, module: str) -> str:
        """A fingerprint."""
        return hashlib.sha256((self._tree / PACKAGE / module).read_bytes()).hexdigest()

    def known(self, mutant: Mutant) -> Outcome | None:
        """Killed stays killed while its module is the same; a new test may kill what survived."""
        known = self._outcomes.get(mutant.key)
        if known is None or known.module_text != self.module_text(mutant.module):
            return None
        return known if known.outcome != "survived" or known.tree_text == self.tree_text else None

    def seconds(self, paths: Sequence[str]) -> float:
        """How long the tests in there take without a mutant."""
        return sum(spent for file, spent in self._seconds.items() if file.startswith(tuple(paths)))

    def add(self, outcome: Outcome) -> None:
        """Written at once."""
        self._outcomes[outcome.key] = outcome
        self._append(asdict(outcome))

    def passed(self, stage: Stage) -> set[str]:
        """The tests that are known to pass without a mutant, as a stage runs them."""
        return self._passed[stage]

    def add_passed(self, tests: Tests, seconds: dict[str, float]) -> None:
        """Written at once."""
        self._passed[tests.stage].update(tests.paths)
        self._seconds.update(seconds)
        note = {"stage": tests.stage, "passed": list(tests.paths), "seconds": seconds, "tree_text": self.tree_text}
        self._append(note)

    def _append(self, note: Mapping[str, object]) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")


def reasons(path: Path = REASONS) -> dict[str, str]:
    """Why known survivors may live."""
    if not path.exists():
        return {}
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    return {entry["key"]: entry["reason"] for entry in listed}


# ---- the run ---------------------------------------------------------------------------------------------------------


def seconds_by_file(output: str) -> dict[str, float]:
    """From the durations that pytest prints."""
    seconds: dict[str, float] = defaultdict(float)
    for spent, file in re.findall(r"^([0-9.]+)s (?:setup|call|teardown) +(.+?)::", output, flags=re.MULTILINE):
        seconds[file] += float(spent)
    return {file: round(spent, 2) for file, spent in seconds.items()}


class Run:
    """Mutants go in, outcomes come out."""

    def __init__(self, tree: Path, notes: Notes, jobs: int) -> None:
        self._notes = notes
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        folder.chmod(0o755)  # PostgreSQL runs as another user if we are root, and has its folder in here
        self._workplaces = [Workplace(tree, folder / str(number)) for number in range(jobs)]
        self._idle: queue.Queue[Workplace] = queue.Queue()
        for workplace in self._workplaces:
            self._idle.put(workplace)

    def close(self) -> None:
        """Nothing is left behind."""
        for workplace in self._workplaces:
            workplace.close()
        self._folder.cleanup()

    @contextmanager
    def _workplace(self) -> Iterator[Workplace]:
        workplace = self._idle.get()
        try:
            yield workplace
        finally:
            self._idle.put(workplace)

    def without_a_mutant(self, needed: Sequence[Tests]) -> None:
        """Tests that fail anyhow would kill everything. How long they take says how long to wait for them later."""
        for stage in STAGES:
            paths = dict.fromkeys(path for tests in needed if tests.stage == stage for path in tests.paths)
            tests = Tests(stage, tuple(path for path in paths if path not in self._notes.passed(stage)))
            if not tests.paths:
                continue
            print(f"without a mutant, {tests}", flush=True)
            with self._workplace() as workplace:
                timed = ["--durations=0", "--durations-min=0.001"]
                verdict = workplace.test([*tests.arguments(sorted(self._notes.passed("quick"))), *timed])
            if verdict.outcome != "passed":
                raise SystemExit(f"{verdict.output}\nThese tests fail without a mutant; repair them first.")
            self._notes.add_passed(tests, seconds_by_file(verdict.output))

    def judge(self, mutant: Mutant, steps: Sequence[Tests]) -> Outcome:
        """Stage after stage, until one notices."""
        spent = 0.0
        passed: tuple[str, ...] = ()
        with self._workplace() as workplace, workplace.with_mutant(mutant):
            for tests in steps:
                limit = AT_LEAST_S + PATIENCE * self._notes.seconds(tests.paths)
                verdict = workplace.test(tests.arguments(passed), limit)
                spent += verdict.seconds
                if verdict.outcome != "passed":
                    break
                passed += tests.paths
        texts = (self._notes.module_text(mutant.module), self._notes.tree_text)
        outcome = Outcome(mutant.key, FATE[verdict.outcome], tests.stage, verdict.by, round(spent, 1), *texts)
        self._notes.add(outcome)
        return outcome

    def judge_all(self, work: Sequence[tuple[Mutant, Sequence[Tests]]], jobs: int) -> None:
        """In parallel, with a line for each."""
        pool = ThreadPoolExecutor(jobs)
        try:
            tasks = [pool.submit(self.judge, mutant, steps) for mutant, steps in work]
            for done, task in enumerate(as_completed(tasks), start=1):
                outcome = task.result()
                print(f"{done}/{len(work)} {outcome.outcome} ({outcome.stage}, {outcome.seconds:.0f} s) {outcome.key}")
                sys.stdout.flush()
        except BaseException:
            for workplace in self._workplaces:
                workplace.close()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def before_and_after(mutant: Mutant, tree: Path) -> str:
    """The changed lines, as a reader of a patch expects them."""
    text = (tree / PACKAGE / mutant.module).read_text(encoding="utf-8")
    first = text.rfind("\n", 0, mutant.start) + 1
    last = text.find("\n", mutant.end)
    last = len(text) if last < 0 else last
    old = text[first:last].splitlines()
    new = (text[first : mutant.start] + mutant.after + text[mutant.end : last]).splitlines()
    return "\n".join([*(f"    - {line.strip()}" for line in old), *(f"    + {line.strip()}" for line in new)])


def report(chosen: dict[str, list[Mutant]], notes: Notes, tree: Path) -> bool:
    """The table and the survivors. Is there a reason for each of them?"""
    why = reasons()
    print(f"\n{'part':<10} {'mutants':>8} {'killed':>8} {'(by time)':>10} {'survivors':>10} {'no reason':>10}")
    survivors = []
    for part, mutants in chosen.items():
        outcomes = [(mutant, notes.known(mutant)) for mutant in mutants]
        count = Counter(outcome.outcome for _, outcome in outcomes if outcome)
        left = [mutant for mutant, outcome in outcomes if outcome and outcome.outcome == "survived"]
        survivors += left
        unexplained = sum(mutant.key not in why for mutant in left)
        killed = count["killed"] + count["timeout"]
        print(f"{part:<10} {count.total():>8} {killed:>8} {count['timeout']:>10} {len(left):>10} {unexplained:>10}")
    for mutant in survivors:
        print(f"\n{PACKAGE / mutant.module}:{mutant.line}")
        print(before_and_after(mutant, tree))
        print(f"    key = {json.dumps(mutant.key, ensure_ascii=False)}")
        print(f"    reason: {why.get(mutant.key, 'no reason given')}")
    return all(mutant.key in why for mutant in survivors)


def outdated(tree: Path) -> list[str]:
    """Reasons for mutants that the source no longer gives."""
    possible = {mutant.key for found in candidates(tree, list(PARTS)).values() for mutant in found}
    return sorted(set(reasons()) - possible)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Do the tests notice mistakes?")
    parser.add_argument("--sample", type=int, default=160, metavar="N", help="how many mutants, about (160)")
    parser.add_argument("--seed", type=int, default=1, help="which sample (1)")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this part; may be repeated")
    parser.add_argument("--only", metavar="KEY", help="only mutants whose key contains this, tested again")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument("--whole", action="store_true", help="run the whole suite on survivors without a reason")
    parser.add_argument("--list", action="store_true", help="show the sample, test nothing")
    parser.add_argument("--fresh", action="store_true", help="forget earlier outcomes")
    parser.add_argument("--results", type=Path, default=ROOT / "out" / "mutants.jsonl", help="out/mutants.jsonl")
    return parser.parse_args()


def main() -> int:
    """0 if every survivor has a reason."""
    chosen_options = options()
    by_part = candidates(ROOT, chosen_options.part or list(PARTS))
    if chosen_options.only:
        chosen = {part: [m for m in found if chosen_options.only in m.key] for part, found in by_part.items()}
    else:
        chosen = drawn(by_part, chosen_options.sample, chosen_options.seed)
    if chosen_options.list:
        for part, mutants in chosen.items():
            print(f"{part}: {len(mutants)} of {len(by_part[part])}")
            for mutant in mutants:
                print(f"  {mutant.key}")
        return 0
    return tested(chosen, chosen_options)


def tested(chosen: dict[str, list[Mutant]], chosen_options: argparse.Namespace) -> int:
    """Test what is not known yet, and report."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # in the background Ctrl-C is a kill, and must end the tests as well
        signal.signal(stop, signal.default_int_handler)
    notes = Notes(chosen_options.results, ROOT, chosen_options.fresh)
    run = Run(ROOT, notes, chosen_options.jobs)
    try:
        work = [
            (mutant, stages(part, mutant.module, ROOT))
            for part, mutants in chosen.items()
            for mutant in mutants
            if chosen_options.only or notes.known(mutant) is None
        ]
        run.without_a_mutant([tests for _, steps in work for tests in steps])
        run.judge_all(work, chosen_options.jobs)
        if chosen_options.whole:
            left = [m for mutants in chosen.values() for m in mutants if needs_the_whole(notes.known(m))]
            if left:
                run.without_a_mutant([WHOLE])
            run.judge_all([(mutant, [WHOLE]) for mutant in left], chosen_options.jobs)
    except KeyboardInterrupt:
        print("\nInterrupted; the same command goes on from here.")
        return 130
    finally:
        run.close()
    explained = report(chosen, notes, ROOT)
    for key in outdated(ROOT):
        print(f"\ntools/survivors.toml has a reason for a mutant that is no more: {key}")
    return 0 if explained else 1


def needs_the_whole(outcome: Outcome | None) -> bool:
    """A survivor without a reason that has not met all tests."""
    return (
        outcome is not None
        and outcome.outcome == "survived"
        and outcome.stage != "whole"
        and outcome.key not in reasons()
    )


if __name__ == "__main__":
    sys.exit(main())
