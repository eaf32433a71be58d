"""A study as a TOML file: what it may say, and how it becomes cells."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkedbandits.checks import check_delta, check_max_plays
from linkedbandits.errors import InvalidStudy, why_not
from linkedbandits.linkage import find_linkage, linkages_for
from linkedbandits.policies import make_policy, parameter_names, policy_class, policy_named
from linkedbandits.policy import linkage_of, may_be_played
from linkedbandits.study.cells import Cell, Instance, Study
from linkedbandits.study.instances import read_instances
from linkedbandits.study.reading import Keys


def load_study(path: str | Path) -> Study:
    """The study that a file describes."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidStudy(f"the study file {path} cannot be read: {why_not(error)}; name a TOML file") from error
    try:
        return read_study(text, name=path.stem, folder=path.parent)
    except InvalidStudy as error:
        raise InvalidStudy(f"{path}: {error}") from error


def read_study(text: str, name: str = "study", folder: str | Path = "") -> Study:
    """The study that a TOML text describes; the files of tables are named as they are found from ``folder``.

    >>> study = read_study('''
    ... trials = 100
    ... deltas = [0.1, 0.01]
    ... [[instances]]
    ... scenario = "one-sparse"
    ... arms = [2, 10]
    ... [[policies]]
    ... policy = "linked-elimination"
    ... ''')
    >>> [(cell.instance.means.size, cell.delta) for cell in study.cells]
    [(2, 0.1), (2, 0.01), (10, 0.1), (10, 0.01)]
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidStudy(f"not TOML: {error}; mend that line") from error
    keys = Keys(data)
    name = keys.text("name", name)
    seed = keys.whole("seed", 0, least=0)
    trials = keys.whole("trials", 1000)
    deltas = keys.numbers("deltas", [0.1], once=True)
    for delta in deltas:
        with keys.meaning("deltas"):
            check_delta(delta)
    linkages = keys.texts("linkages", []) if keys.has("linkages") else []
    max_plays = keys.whole("max_plays") if keys.has("max_plays") else None
    with keys.meaning("max_plays"):
        check_max_plays(max_plays)
    instances = [instance for row in keys.tables("instances") for instance in read_instances(row, Path(folder))]
    lines = [_read_line(row, deltas, linkages) for row in keys.tables("policies")]
    keys.finish()
    cells = tuple(cell for instance in instances for line in lines for cell in line.cells(instance, trials, max_plays))
    return Study(name, seed, cells)


@dataclass(frozen=True)
class _PolicyLine:
    """One ``[[policies]]`` table: a policy that still wants its delta, and perhaps the instance's gap."""

    keys: Keys
    name: str
    label: str
    parameters: dict[str, Any]
    deltas: list[float]
    linkages: list[str]

    def cells(self, instance: Instance, trials: int, max_plays: int | None) -> list[Cell]:
        """The policy on this instance, under each linkage, once for every delta if it has one."""
        given = dict(self.parameters)
        if given.get("gap") == "true":
            given["gap"] = instance.gap or None  # with a tie for the best there is no gap to tell
        settings = [{**given, "delta": delta} for delta in self.deltas] if self.deltas else [given]
        with self.keys.meaning("parameters"):
            return [
                Cell(instance, self.label, make_policy(self.name, parameters), linkage, trials, max_plays)
                for linkage in self.linkages
                for parameters in settings
            ]


def _read_line(keys: Keys, deltas: list[float], linkages: list[str]) -> _PolicyLine:
    text = keys.text("policy")
    with keys.meaning("policy"):
        name, written = policy_named(text)
        known = parameter_names(policy_class(name))
    if written:
        raise keys.refuse("policy", f"{written!r} are parameters; write them as parameters = {{ key = value }}")
    parameters = keys.table("parameters")
    if isinstance(parameters.get("delta"), list):
        raise keys.refuse("parameters", "delta is one number here; several go in deltas, at the top of the file")
    label = keys.text("label", _label(text, parameters))
    takes_delta = "delta" in known and not parameters.keys() & {"delta", "plays", "samples"}
    own = [linkage_of([policy_class(name)], None).name]
    line = _PolicyLine(
        keys, name, label, parameters, deltas if takes_delta else [], keys.texts("linkages", linkages or own)
    )
    keys.finish()
    _check_linkages(line)
    return line


def _check_linkages(line: _PolicyLine) -> None:
    for linkage in line.linkages:
        with line.keys.meaning("linkages"):
            kind = policy_class(line.name)
            allowed = may_be_played(kind, find_linkage(linkage))
        if not allowed:
            others = linkages_for(kind.asks)
            raise line.keys.refuse(
                "linkages", f"{line.name} cannot be played under {linkage!r}; give it linkages of its own: {others}"
            )


def _label(name: str, parameters: dict[str, Any]) -> str:
    told = ", ".join("told the gap" if value == "true" else f"{key}={value}" for key, value in parameters.items())
    return f"{name} ({told})" if told else name
