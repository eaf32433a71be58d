"""The program that makes mistakes on purpose makes the mistakes it says, where it says."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tools.mutants import (
    LEAST,
    PARTS,
    ROOT,
    Notes,
    Outcome,
    Workplace,
    before_and_after,
    candidates,
    drawn,
    mutants_of,
    reasons,
    seconds_by_file,
    stages,
)
from tools.waiting import SECONDS


def mutated(text: str) -> list[str]:
    """The texts that one function of this source may become."""
    text = textwrap.dedent(text)
    return [mutant.applied(text) for mutant in mutants_of("a.py", text)]


def changes(expression: str) -> list[str]:
    return [text.removeprefix("x = ") for text in mutated(f"x = {expression}")]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a >= b", ["a > b"]),
        ("a == b != c", ["a != b != c", "a == b == c"]),
        ("(a) + (b)", ["(a) - (b)"]),
        ("a / b", ["a * b"]),
        ("a & ~b", ["a | ~b", "a & b"]),
        ("min(a)", ["max(a)"]),
        ("np.maximum(a, b)", ["np.minimum(a, b)"]),
        ("math.ceil(a)", ["math.floor(a)"]),
        ("a.any()", ["a.all()"]),
        ("a.sum(axis=1)", ["a.sum(axis=0)"]),
        ("7", ["8"]),
        ("2", ["1"]),
        ("0.5", ["1.0"]),
        ("0.0", ["1.0"]),
        ("True", ["False"]),
        ("not a", ["a"]),
        ("a and b", ["a or b"]),
        ("sorted(a, key=b)", ["list(a)"]),
        ("a if b else c", ["c"]),
        ("a[b:c]", ["a[b + 1:c]", "a[b:c - 1]"]),
        ("a[:, 1:]", ["a[:, 1 + 1:]"]),
        ("f(lambda a: a < b)", ["f(lambda a: a <= b)"]),
        ("[a for a in b if a > c]", ["[a for a in b if a >= c]"]),
    ],
)
def test_an_expression_gets_these_mistakes(expression, expected):
    assert changes(expression) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""1 < 2 and 3."""',
        "x: Literal[1, 2]",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "class A:\n    size: ClassVar[int] = 3",
        "@dataclass(frozen=True)\nclass A: ...",
        "__all__ = ['a' + 'b']",
        "if TYPE_CHECKING:\n    x = 1",
        "raise ValueError(f'{a + 1}' + text(1))",
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "x = folder / 'name'",
        "_log.warning('%s', a + 1)",
        "x = zip(a, b, strict=True)",
        "x = a.reshape(b, -1)",
        "class A:\n    def __init__(self):\n        self.a = a",
    ],
)
def test_what_no_test_should_pin_is_left_alone(text):
    assert mutated(text) == []


def test_a_statement_is_forgotten_or_the_rest_with_it():
    text = """
    def f() -> None:
        total += a
        g()
    """
    expected = ["pass\n    g()", "return\n    g()", "total -= a\n    g()", "total += a\n    pass"]
    assert [found.strip().removeprefix("def f() -> None:\n    ") for found in mutated(text)] == expected


def test_a_value_is_not_returned_as_none():
    assert not any("return\n" in found for found in mutated("def f() -> int:\n    g()\n    return a\n"))


def test_a_default_is_changed():
    assert mutated("def f(a, b=1, *, c=False): ...") == [
        "def f(a, b=2, *, c=False): ...",
        "def f(a, b=1, *, c=True): ...",
    ]


def test_the_place_is_right_behind_letters_of_several_bytes():
    assert changes("'δδ' if δ < ε else a") == ["a", "'δδ' if δ <= ε else a"]


def test_a_comment_between_operands_is_not_taken_for_the_operator():
    assert mutated("x = (a  # + or -\n     + b)\n") == ["x = (a  # + or -\n     - b)\n"]


def test_keys_outlive_edits_elsewhere():
    before = "def f():\n    return a < b\n"
    after = "import os\n\ndef g():\n    return a < b\n\n\n" + before.replace("a < b", "(a <\n        b)")
    [mutant] = mutants_of("a.py", before)
    assert mutant.key == "a.py::f::< to <=::a < b"
    assert [found.key for found in mutants_of("a.py", after)] == ["a.py::g::< to <=::a < b", mutant.key]


def test_equal_texts_are_told_apart_by_their_order():
    keys = [mutant.key for mutant in mutants_of("a.py", "x = a + b\nx = a + b\n")]
    assert keys == ["a.py::module::+ to -::a + b", "a.py::module::+ to -::a + b #2"]


@pytest.fixture(scope="module")
def library():
    return candidates(ROOT, list(PARTS))


def test_every_mutant_of_the_library_is_python_with_one_change_and_a_key_of_its_own(library):
    found = [mutant for mutants in library.values() for mutant in mutants]
    assert len({mutant.key for mutant in found}) == len(found) > 2000
    texts = {mutant.module: (ROOT / "src/linkedbandits" / mutant.module).read_text("utf-8") for mutant in found}
    for mutant in found[::20]:
        text = mutant.applied(texts[mutant.module])
        compile(text, mutant.module, "exec")
        assert text != texts[mutant.module]


def test_every_module_has_tests_to_run(library):
    for name, mutants in library.items():
        for module in {mutant.module for mutant in mutants}:
            quick, wider = stages(name, module, ROOT)
            assert len(quick.paths) >= 2, module
            assert all((ROOT / path).exists() for path in (*quick.paths, *wider.paths))


def test_the_sample_is_spread_and_hardly_changes_with_the_source(library):
    sample = drawn(library, 160, seed=1)
    assert abs(sum(map(len, sample.values())) - 160) <= len(PARTS)
    assert all(len(mutants) >= min(LEAST, len(library[name])) for name, mutants in sample.items())
    edited = {name: found[1:] for name, found in library.items()}
    for name, mutants in drawn(edited, 160, seed=1).items():
        assert len({mutant.key for mutant in mutants} ^ {mutant.key for mutant in sample[name]}) <= 3
    assert drawn(library, 160, seed=2) != sample


def test_a_known_survivor_has_a_reason():
    assert all(reason.endswith(".") for reason in reasons().values())


TESTS = ["test_sums.py", "-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:anyio"]


def small_tree(folder):
    """A library of one module, and a test that sees only some mistakes."""
    package = folder / "src" / "linkedbandits"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text("def total(a, b):\n    return a + b + 0 * a\n")
    (folder / "test_sums.py").write_text(
        "import linkedbandits.sums\n\ndef test_it():\n    assert linkedbandits.sums.total(2, 1) == 3\n"
    )
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True, timeout=SECONDS)
    return folder


def test_what_is_tested_is_the_mutant_and_then_the_original_again(tmp_path):
    tree = small_tree(tmp_path / "tree")
    workplace = Workplace(tree, tmp_path / "place")
    text = (tree / "src/linkedbandits/sums.py").read_text()
    seen = {}
    for mutant in mutants_of("sums.py", text)[:2]:
        with workplace.with_mutant(mutant):
            seen[mutant.applied(text).split("return ")[1].strip()] = workplace.test(TESTS, 60.0)
    assert {after: verdict.outcome for after, verdict in seen.items()} == {
        "a + b - 0 * a": "passed",
        "a - b + 0 * a": "failed",
    }
    assert seen["a - b + 0 * a"].by.startswith("FAILED test_sums.py::test_it")
    assert workplace.test(TESTS, 60.0).outcome == "passed"
    assert (tree / "src/linkedbandits/sums.py").read_text() == text


def test_an_endless_loop_is_ended(tmp_path):
    tree = small_tree(tmp_path / "tree")
    (tree / "test_sums.py").write_text("def test_it():\n    while True:\n        pass\n")
    assert Workplace(tree, tmp_path / "place").test(TESTS, 1.0).outcome == "timeout"


def test_too_much_memory_is_a_failure(tmp_path):
    tree = small_tree(tmp_path / "tree")
    (tree / "test_sums.py").write_text("def test_it():\n    assert bytearray(5_000_000_000)\n")
    verdict = Workplace(tree, tmp_path / "place").test(TESTS, 60.0)
    assert verdict.outcome == "failed"
    assert "MemoryError" in verdict.output


def test_the_time_of_a_file_is_that_of_its_tests():
    lines = [
        "1.50s call     tests/a.py::test_it[x::y]",
        "0.25s setup    tests/a.py::test_it",
        "2.00s call     b.py::test",
    ]
    assert seconds_by_file("\n".join(lines)) == {"tests/a.py": 1.75, "b.py": 2.0}


def test_outcomes_are_remembered_while_they_are_true(tmp_path):
    tree = small_tree(tmp_path / "tree")
    module = tree / "src/linkedbandits/sums.py"
    killed, survived, *_ = mutants_of("sums.py", module.read_text())
    notes = Notes(tmp_path / "notes", tree, fresh=False)
    for mutant, outcome in ((killed, "killed"), (survived, "survived")):
        texts = notes.module_text("sums.py"), notes.tree_text
        notes.add(Outcome(mutant.key, outcome, "quick", "", 1.0, *texts))

    def remembered():
        again = Notes(tmp_path / "notes", tree, fresh=False)
        return [again.known(mutant) is not None for mutant in (killed, survived)]

    assert remembered() == [True, True]
    (tree / "src" / "another.py").write_text("")
    assert remembered() == [True, False]
    module.write_text(module.read_text() + "\n")
    assert remembered() == [False, False]


def test_a_reader_sees_the_line_before_and_after(tmp_path):
    tree = small_tree(tmp_path / "tree")
    first, *_ = mutants_of("sums.py", (tree / "src/linkedbandits/sums.py").read_text())
    assert before_and_after(first, tree) == "    - return a + b + 0 * a\n    + return a + b - 0 * a"


def test_the_command_lists_the_sample():
    command = [sys.executable, "-m", "tools.mutants", "--list", "--part", "stopping", "--sample", "10"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert told.stdout.startswith("stopping: 10 of ")
    assert told.stdout.count("\n  stopping/") == 10
