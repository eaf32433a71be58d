"""Where tests are, and what they may import.

Tests import no benchmarks and benchmarks no tests: what both need is in tools, which imports
neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[1]
KEPT_APART = {"tests": {"benchmarks"}, "benchmarks": {"tests"}, "tools": {"tests", "benchmarks"}}
"""The packages that the modules of a folder may not import."""
PLACES = [(path, apart) for folder, apart in KEPT_APART.items() for path in sorted((ROOT / folder).rglob("*.py"))]


def packages_imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the outermost package of every import, wherever it stands; a name in quotes is one if imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(module=str() as module, level=0):
                names = [module]
            case ast.Call(
                func=ast.Attribute(attr=called) | ast.Name(id=called), args=[ast.Constant(str() as name), *_]
            ):
                names = [name] if called in {"import_module", "__import__", "importorskip"} else []
            case _:
                names = []
        yield from ((node.lineno, name.partition(".")[0]) for name in names)


def is_a_path_trick(node: ast.AST) -> bool:
    """Is this ``sys.path.insert(...)``, or the like?"""
    match node:
        case ast.Call(func=ast.Attribute(attr="insert" | "append" | "extend", value=ast.Attribute(attr="path"))):
            return True
    return False


MAY_BE_A_PATH_TRICK = re.compile(r"path\s*\.\s*(insert|append|extend)\b")


def test_each_folder_imports_only_what_it_may_and_finds_it_without_a_path_trick():
    wrong = []
    for path, apart in PLACES:
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in apart) and MAY_BE_A_PATH_TRICK.search(text) is None:
            continue  # to parse it takes much longer
        tree = ast.parse(text)
        place = str(path.relative_to(ROOT))
        wrong += [
            f"{place}:{line} imports from {name}; put what both need into tools"
            for line, name in packages_imported(tree)
            if name in apart
        ]
        wrong += [
            f"{place}:{node.lineno} changes sys.path; import by name, from tests.support or tools"
            for node in ast.walk(tree)
            if is_a_path_trick(node)
        ]
    assert wrong == []


def test_it_knows_an_import_when_it_sees_one():
    source = """
import benchmarks.economy
from tests.support import waiting
from . import benchmarks
def f():
    import_module("benchmarks.economy")
    importlib.import_module("tests.support")
    print("benchmarks")
"""
    found = sorted(packages_imported(ast.parse(source)))
    assert found == [
        (2, "benchmarks"),
        (3, "tests"),
        (6, "benchmarks"),
        (7, "tests"),
    ]
    assert is_a_path_trick(ast.parse("sys.path.insert(0, 'tests')").body[0].value)
    assert not is_a_path_trick(ast.parse("paths.append('tests')").body[0].value)


def test_the_files_whose_tests_begin_first_are_there():
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []
