"""Policies of one's own, by module and class: what is found, and what is said where nothing is."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import pytest

import linkedbandits as lb
from linkedbandits.errors import UnknownName
from linkedbandits.policies import POLICIES, make_policy, policy_class, policy_named, registry
from linkedbandits.policies.registry import _CUSTOM, converted, names_code
from tests.support.every_policy import EVERY_POLICY

MODULE = '''
from dataclasses import dataclass
import linkedbandits as lb

@dataclass
class Mine(lb.PlainPolicy):
    """Takes the first."""
    delta: float = 0.1
    rounds: int = 3
    mood: str = "good"
    bold: bool = False
    limit: float | None = None

    def begin(self, arms, seed):
        self.made = 0
    def ask(self):
        return (0,)
    def tell(self, arms, hit):
        self.made += 1
    @property
    def done(self):
        return self.made >= self.rounds
    def best(self):
        return 0

@dataclass
class Other(Mine):
    name = "mine"

@dataclass
class Taken(Mine):
    name = "linked-ege"

@dataclass
class Fails(Mine):
    def __post_init__(self):
        if self.rounds < 1:
            raise ValueError("rounds have to be positive")

class Unwritten(lb.PlainPolicy):
    pass

class NoPolicy:
    pass

number = 3
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the current folder, which is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = dict(_CUSTOM)
    (tmp_path / "my_policies.py").write_text(MODULE)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "inner.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import nothing_of_that_name")
    (tmp_path / "failing.py").write_text("1 / 0")
    yield
    _CUSTOM.clear()
    _CUSTOM.update(before)
    for name in ("my_policies", "package", "package.inner", "broken", "failing"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("my_policies:Mine", True),
        ("package.inner:Mine:rounds=2", True),
        ("package.inner", True),
        ("linked-ege:median=fresh", False),
        ("linked-ege:median", False),
        ("nothing", False),
        ("uniform-sampling:samples=1.5", False),
    ],
)
def test_a_module_is_told_from_a_name(text, code):
    assert names_code(text) is code


def test_no_name_of_the_library_is_taken_for_a_module():
    assert not any(names_code(f"{name}:k=2") for name in POLICIES)
    assert {policy_named(name)[0] for name in POLICIES} == {policy.name for policy in EVERY_POLICY}


@pytest.mark.parametrize("module_name", ["my_policies", "package.inner"])
def test_a_class_is_found_from_the_current_folder_and_known_by_its_name(module, module_name):
    assert policy_named(f"{module_name}:Mine:rounds=2,mood=bad") == ("mine", "rounds=2,mood=bad")
    made = make_policy("mine", {"rounds": 2})
    assert (type(made).__module__, made.rounds) == (module_name, 2)
    assert lb.simulate([0.5, 0.2], made, trials=3).plays.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "nowhere_at_all.inner:Mine",
            "there is no module 'nowhere_at_all' for nowhere_at_all.inner:Mine; it was looked for in",
        ),
        ("package.other:Mine", "there is no module 'package.other'"),
        ("my_policies:Yours", "the module 'my_policies' has no 'Yours'; there is Mine, Other, Taken, Fails"),
        ("my_policies:number", "my_policies:number is a int, not a class; there is Mine"),
        ("my_policies:NoPolicy", "my_policies:NoPolicy is no policy; inherit from linkedbandits.PlainPolicy"),
        ("my_policies:Unwritten", "is not a whole policy: write ask, begin, best, done, tell"),
        (
            "my_policies:Taken",
            "my_policies:Taken and linkedbandits.policies.linked_ege:LinkedEGE are both called 'linked-ege'",
        ),
        ("my_policies.py:Mine", "'my_policies.py' is a file, and a module is wanted; write my_policies:Mine"),
        ("./package/inner.py:Mine", "is a file, and a module is wanted; write package.inner:Mine"),
        ("package.inner", "'package.inner' names no class of the module 'package.inner'; write package.inner:Class"),
        ("broken:Mine", "the module 'broken' cannot be imported (ModuleNotFoundError: No module named 'nothing_of"),
        ("failing:Mine", "the module 'failing' cannot be imported (ZeroDivisionError: division by zero); mend it"),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(module, text, said):
    with pytest.raises(lb.InvalidParameter) as refused:
        policy_named(text)
    assert said in str(refused.value)


def test_two_of_one_name_are_refused(module):
    policy_named("my_policies:Mine")
    policy_named("my_policies:Mine")
    with pytest.raises(lb.InvalidParameter, match="my_policies:Other and my_policies:Mine are both called 'mine'"):
        policy_named("my_policies:Other")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nothing": 1}, "mine has no parameter 'nothing'; it has delta, rounds, mood, bold, limit"),
        ({"rounds": "many"}, "rounds=many of mine is not what it takes; give a whole number"),
        ({"rounds": 1.5}, "rounds=1.5 of mine is not what it takes; give a whole number"),
        ({"rounds": True}, "rounds=True of mine is not what it takes; give a whole number"),
        ({"delta": "small"}, "delta=small of mine is not what it takes; give a number"),
        ({"bold": 2}, "bold=2 of mine is not what it takes; give true or false"),
        ({"limit": "x"}, "limit=x of mine is not what it takes; give a number or none"),
        ({"mood": [1]}, "is not what it takes; give text"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(module, given, said):
    policy_named("my_policies:Mine")
    with pytest.raises(lb.InvalidParameter) as refused:
        make_policy("mine", given)
    assert said in str(refused.value)


def test_parameters_come_in_the_types_of_the_fields(module):
    policy_named("my_policies:Mine")
    made = make_policy("mine", {"delta": 1, "mood": 3, "bold": "true", "limit": None})
    assert (made.delta, made.mood, made.bold, made.limit) == (1.0, "3", True, None)
    assert type(made.delta) is float


def test_what_a_class_refuses_itself_is_passed_on(module):
    policy_named("my_policies:Fails")
    with pytest.raises(lb.InvalidParameter, match=r"fails does not take.*ValueError: rounds have to be positive"):
        make_policy("fails", {"rounds": 0})


def test_types_that_are_not_known_are_left_to_the_class():
    @dataclass
    class Odd:
        weights: list[float] = field(default_factory=list)
        other: "NotImported" = None  # noqa: F821, UP037

    assert converted(Odd, "odd", {"weights": "1/2"}) == {"weights": "1/2"}


@pytest.mark.parametrize("name", ["my_policies:Mine", "package.inner:Mine", "package.inner", "os.path:join"])
def test_a_name_alone_never_imports_anything(module, monkeypatch, name):
    """What saved experiments and callers of a service say goes through here."""
    monkeypatch.setattr(registry.importlib, "import_module", lambda _: pytest.fail("it was imported"))
    for use in (policy_class, lambda text: make_policy(text, {})):
        with pytest.raises(UnknownName, match="none is loaded for a name"):
            use(name)
    assert "my_policies" not in sys.modules
