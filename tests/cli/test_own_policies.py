"""Policies of one's own in the real commands: on the command line, in a study, and in a service by its operator."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import contextmanager

import httpx
import pytest

from linkedbandits.cli.serve import load_policies
from linkedbandits.errors import InvalidParameter
from tests.support.command_line import COMMAND, environment
from tests.support.terminals import in_a_pipe
from tools.waiting import SECONDS, killed_in_the_end

pytestmark = pytest.mark.slow

MODULE = '''
from dataclasses import dataclass
import pathlib
import linkedbandits as lb

pathlib.Path("imported").touch()

@dataclass
class FirstToThree(lb.PlainPolicy):
    """Goes round the options until one has three successes"""
    wins: int = 3

    def begin(self, arms, seed):
        self.turn, self.worked = 0, [0] * arms
    def ask(self):
        return (self.turn,)
    def tell(self, arms, hit):
        self.turn = (self.turn + 1) % len(self.worked)
        if hit is not None:
            self.worked[hit] += 1
    @property
    def done(self):
        return max(self.worked) >= self.wins
    def best(self):
        return self.worked.index(max(self.worked))
'''
STUDY = """
trials = 300
[[instances]]
means = [0.2, 0.8]
name = "two"
[[policies]]
policy = "mine.own:FirstToThree"
parameters = { wins = 2 }
[[policies]]
policy = "linked-elimination"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def said_by(folder, *arguments):
    result = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=folder,
        env=environment(),
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    return result.stderr


def test_it_is_simulated_and_compared_with_others(folder):
    given = ("--means", "0.2,0.8", "--trials", "200", "--json")
    one = json.loads(in_a_pipe("simulate", *given, "--policy", "mine.own:FirstToThree:wins=1", folder=folder))
    assert (one["name"], one["parameters"]) == ("first-to-three", {"wins": 1})
    assert 1 <= one["plays_mean"] < 4
    chosen = ("--policy", "mine.own:FirstToThree", "--policy", "linked-elimination")
    both = json.loads(in_a_pipe("compare", *given, *chosen, folder=folder))["policies"]
    assert [each["policy"] for each in both] == ["mine.own:FirstToThree", "linked-elimination"]
    assert one["plays_mean"] < both[0]["plays_mean"] < 20
    shown = in_a_pipe("compare", *given[:-1], *chosen, folder=folder)
    assert "No error bound is proved for mine.own:FirstToThree." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine.other:FirstToThree", "there is no module 'mine.other'"),
        ("mine.own:LastToThree", "the module 'mine.own' has no 'LastToThree'; there is FirstToThree"),
        ("mine.own:FirstToThree:losses=2", "first-to-three has no parameter 'losses'; it has wins"),
        ("mine.own:FirstToThree:wins=many", "wins=many of first-to-three is not what it takes; give a whole number"),
        ("mine.own:FirstToThree:wins", "write --policy mine.own:FirstToThree:key=value"),
        ("mine.own:pathlib", "mine.own:pathlib is a module, not a class"),
        ("linked-nothing:k=1", "unknown policy 'linked-nothing'"),
        ("yours", "one of your own is written module:Class, as yours:Class for a class in yours.py"),
        ("every-other", "one of your own is written module:Class, as mine:EveryOther for a class in mine.py"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_remedy(folder, text, said):
    assert said in said_by(folder, "simulate", "--means", "0.2,0.8", "--trials", "5", "--policy", text)


def test_a_study_runs_it_in_processes_of_their_own(folder):
    ran = json.loads(in_a_pipe("study", "study.toml", "--no-figures", "--workers", "2", "--json", folder=folder))
    mine, other = ran["cells"]
    assert (mine["policy"], mine["trials"]) == ("mine.own:FirstToThree (wins=2)", 300)
    assert mine["plays_mean"] < other["plays_mean"]
    again = json.loads(in_a_pipe("study", "--show", "study-results", "--no-figures", "--json", folder=folder))
    assert again["cells"] == ran["cells"]


def test_a_study_says_where_parameters_go_and_what_is_wrong(folder):
    (folder / "study.toml").write_text(STUDY.replace("FirstToThree", "FirstToThree:wins=2"))
    assert "'wins=2' are parameters; write them as parameters = { key = value }" in said_by(
        folder, "study", "study.toml"
    )
    (folder / "study.toml").write_text(STUDY.replace("mine.own", "mine.nowhere"))
    assert "policies[1].policy: there is no module 'mine.nowhere'" in said_by(folder, "study", "study.toml")


@contextmanager
def serving(folder, *arguments, **extra):
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--store", str(folder / "store.sqlite3"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(PYTHONUNBUFFERED="1", **extra),
    )
    with process, killed_in_the_end(process, 2 * SECONDS):
        announced = process.stdout.readline()
        assert announced.startswith("Live page: http://"), process.stderr.read()
        yield announced.split()[2].rstrip("/"), process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def create(url, policy, **parameters):
    new = {"name": "two", "arms": ["a", "b"], "policy": {"name": policy, "parameters": parameters}}
    return httpx.post(f"{url}/v1/experiments", json=new, timeout=SECONDS)


CODE = (
    "mine.own:FirstToThree",
    "mine.own",
    "mine:own",
    "os.path:join",
    "mine.own:FirstToThree:wins=1",
    "subprocess:run",
)


def test_callers_of_a_service_cannot_have_code_loaded(folder):
    """Whatever they name: nothing is imported, and the refusal says who could."""
    with serving(folder) as (url, _):
        for name in CODE:
            refused = create(url, name)
            assert refused.status_code == 422
            assert refused.headers["content-type"].startswith("application/problem+json")
            assert f"{name!r} says where a policy's code is, and none is loaded for a name" in refused.json()["detail"]
        unknown = create(url, "first-to-three")
        assert unknown.status_code == 422
        assert "unknown policy 'first-to-three'; choose one of linked-elimination" in unknown.json()["detail"]
        assert httpx.get(f"{url}/v1/experiments", timeout=SECONDS).json()["experiments"] == []
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("in_environment", [False, True])
def test_what_the_operator_names_is_there_for_callers_by_its_name(folder, in_environment):
    named = "mine.own:FirstToThree"
    arguments, extra = ((), {"LINKEDBANDITS_POLICIES": named}) if in_environment else (("--policy", named), {})
    with serving(folder, *arguments, **extra) as (url, said):
        assert said == "Experiments may also have the policies first-to-three.\n"
        assert "none is loaded for a name" in create(url, named).json()["detail"]
        assert "has no parameter 'losses'" in create(url, "first-to-three", losses=1).json()["detail"]
        assert "give a whole number" in create(url, "first-to-three", wins="x").json()["detail"]
        experiment = create(url, "first-to-three", wins=2).json()["id"]
        at = f"{url}/v1/experiments/{experiment}"
        for _ in range(2):
            for _ in "ab":
                (play,) = httpx.post(f"{at}/ask", json={"count": 1}, timeout=SECONDS).json().get("plays") or [None]
                if play is not None:
                    hit = "b" if play["arms"] == ["b"] else None
                    told = {"answers": [{"play": play["id"], "hit": hit}]}
                    assert httpx.post(f"{at}/tell", json=told, timeout=SECONDS).status_code == 200
        verdict = httpx.get(f"{at}/verdict", timeout=SECONDS).json()["verdict"]
        assert (verdict["arm"], verdict["status"], verdict["plays"]) == ("b", "confident", 4)
    with serving(folder) as (url, _):  # without it: the rest of the store is there all the same
        listed = httpx.get(f"{url}/v1/experiments", timeout=SECONDS)
        assert listed.status_code == 200
        assert experiment in listed.text
        asked = httpx.post(f"{url}/v1/experiments/{experiment}/ask", json={"count": 1}, timeout=SECONDS)
        assert asked.json()["type"] == "urn:linkedbandits:damaged-record"
        assert "unknown policy 'first-to-three'" in asked.json()["detail"]
        assert "start the service with --policy package.module:Class" in asked.json()["detail"]
        assert create(url, "linked-elimination", delta=0.1).status_code == 201


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("linked-ege", "--policy 'linked-ege' names no code; write --policy package.module:Class"),
        ("tests.support.plain_policies:RandomTuples:rounds=2", "has parameters, which each experiment gives its own"),
    ],
)
def test_an_operator_names_a_class_and_no_more(text, said):
    with pytest.raises(InvalidParameter) as refused:
        load_policies([text])
    assert said in str(refused.value)


def test_a_service_that_is_to_have_a_policy_that_is_not_there_does_not_start(folder):
    said = said_by(folder, "serve", "--port", "0", "--store", "store.sqlite3", "--policy", "mine.own:Nothing")
    assert "the module 'mine.own' has no 'Nothing'; there is FirstToThree" in said


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('imported')\nclass One:\n    pass\nclass Two:\n    pass\n", "here: alone:One or alone:Two"),
        ("this is no Python", "here: alone:Class"),
    ],
)
def test_a_file_that_is_named_without_its_class_is_read_and_not_imported(folder, code, said):
    (folder / "alone.py").write_text(code, encoding="utf-8")
    given = ("simulate", "--means", "0.2,0.8", "--trials", "5", "--policy", "alone")
    assert f"one of your own is written module:Class, and alone.py is {said}" in said_by(folder, *given)
