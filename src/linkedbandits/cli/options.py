"""What the commands that run policies have in common: the instance, the policies, and their parameters."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from linkedbandits.checks import check_positive
from linkedbandits.cli import completing
from linkedbandits.errors import CannotWrite, InvalidParameter, why_not
from linkedbandits.joint_worlds import KindsOfRequests, OutcomeTable, SharedDifficulty
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import FloatArray, check_means
from linkedbandits.policies import make_policy, parameter_names, policy_class, policy_named
from linkedbandits.policy import AnyPolicy, linkage_of
from linkedbandits.scenarios import SCENARIOS, find_scenario, one_sparse

Scenario = Annotated[
    str | None,
    typer.Option(help=f"An instance of the paper: {', '.join(SCENARIOS)}.", autocompletion=completing.scenarios),
]
Arms = Annotated[int | None, typer.Option(help="How many arms the scenario has; 10 unless given.")]
Best = Annotated[int | None, typer.Option(help="Where one-sparse has its best arm, counted from 0.")]
Means = Annotated[str | None, typer.Option(help="Instead of a scenario, the arms' means: 0.1,0.05,0.02")]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--table",
        help="Instead of a scenario, what options did on requests, drawn at random: a CSV file with a column an option "
        "and a row a request, 1 where it succeeded and 0 where not. A column count says how many requests a row stands "
        "for; request and seconds:... are not read.",
    ),
]
Options = Annotated[
    str | None,
    typer.Option(help="Which columns of the table, in the order of the chain: north,east. All unless given."),
]
Correlation = Annotated[
    float | None,
    typer.Option(help="Let the arms of a scenario or of --means fail together: 0 is independent, 0.9 nearly always."),
]
Delta = Annotated[float, typer.Option(help="The probability with which the answer may be wrong.")]
Gap = Annotated[
    str | None,
    typer.Option(
        "--gap",
        help="The gap between the two best means, for linked-ege and median-elimination: a number, true or none. "
        "Unless given, true; none with --table. Others are told with --policy NAME:gap=0.05.",
    ),
]
LinkageOfRuns = Annotated[
    str | None,
    typer.Option(
        "--linkage",
        help=f"What a play may be: {', '.join(LINKAGES)}. Unless given, ordered; free with --table and where policies "
        "need it.",
        autocompletion=completing.linkages,
    ),
]
Trials = Annotated[int, typer.Option(help="How many independent runs.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same results.")]
MOST_PLAYS_ON_A_TABLE = 1_000_000
"""Options of a table may tie, and then runs end by a limit alone."""
MaxPlays = Annotated[
    int | None,
    typer.Option(
        help="Stop a run after this many plays, decided or not. Unless given, no limit; "
        f"{MOST_PLAYS_ON_A_TABLE:,} with --table."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]


TOLD_THE_GAP = {"linked-ege": "gap", "median-elimination": "epsilon"}
"""The paper's algorithms that its experiments tell the gap, as which parameter; others are told what is written."""


@dataclass(frozen=True)
class NamedMeans:
    """A vector of means and where it comes from; ``law`` has the requests, where options depend on each other."""

    name: str
    means: FloatArray
    law: KindsOfRequests | None = None
    correlation: float | None = None

    @property
    def options(self) -> tuple[str, ...] | None:
        """What a table calls its options; arms of other instances have numbers."""
        return self.law.options if isinstance(self.law, OutcomeTable) else None

    @property
    def dependence(self) -> str | None:
        """How its options depend on each other, as a sentence goes on that names what policies assume."""
        if self.options is not None:
            return "those of this table fail together as they did"
        return f"these share how hard a request is (correlation {self.correlation:g})" if self.correlation else None

    def called(self, arm: int) -> str:
        """An arm in a sentence."""
        return f"arm {arm}" if self.options is None else self.options[arm]

    def to_json(self) -> dict[str, Any]:
        """What the output says of it, ready for ``json.dumps``."""
        data: dict[str, Any] = {"name": self.name, "means": self.means.tolist(), "gap": self.gap}
        if self.options is not None:
            data["options"] = list(self.options)
        if self.correlation is not None:
            data["correlation"] = self.correlation
        return data

    @property
    def gap(self) -> float:
        """The difference between the two best means."""
        second, first = np.sort(self.means)[-2:]
        return float(first - second)


def read_instance(scenario: str | None, arms: int | None, best: int | None, means: str | None) -> NamedMeans:
    """The instance that the options describe: a scenario of the paper unless means are given."""
    if means is not None:
        for option, value in (("--scenario", scenario), ("--arms", arms), ("--best", best)):
            if value is not None:
                raise InvalidParameter(f"both {option} {value} and --means were given; leave one out")
        try:
            values = [float(mean) for mean in means.split(",")]
        except ValueError:
            raise InvalidParameter(
                f"--means {means!r} is no list of numbers; write --means 0.1,0.05", parameter="means"
            ) from None
        return NamedMeans(f"{len(values)} arms", check_means(values))
    name = scenario or "one-sparse"
    arms = 10 if arms is None else arms
    if name == "one-sparse":
        return NamedMeans(f"one-sparse, {arms} arms", one_sparse(arms, best or 0))
    if best is not None:
        raise InvalidParameter(f"--best {best} goes with --scenario one-sparse alone; leave it out for {name}")
    return NamedMeans(f"{name}, {arms} arms", find_scenario(name)(arms))


def read_requests(
    scenario: str | None,
    arms: int | None,
    best: int | None,
    means: str | None,
    table: Path | None,
    options: str | None,
    correlation: float | None,
) -> NamedMeans:
    """The instance that the options describe, with the law of its requests if arms depend on each other."""
    if table is None:
        if options is not None:
            raise InvalidParameter(
                f"--options {options} are columns of a table; give it with --table, or leave them out"
            )
        instance = read_instance(scenario, arms, best, means)
        if correlation is None:
            return instance
        law = SharedDifficulty(instance.means, correlation)
        return replace(instance, name=f"{instance.name}, correlation {correlation:g}", law=law, correlation=correlation)
    others = {"--scenario": scenario, "--arms": arms, "--best": best, "--means": means, "--correlation": correlation}
    for option, value in others.items():
        if value is not None:
            raise InvalidParameter(f"both {option} {value} and --table {table} were given; leave one out")
    wanted = None if options is None else [name.strip() for name in next(csv.reader([options]), [])]
    outcomes = OutcomeTable.read(table, wanted)
    return NamedMeans(f"{table.stem}, {len(outcomes.options)} options", outcomes.means, outcomes)


@dataclass(frozen=True)
class RunSettings:
    """What holds for every policy that a command runs on an instance."""

    linkage: str
    told_gap: float | None
    max_plays: int | None


def read_settings(
    instance: NamedMeans, policies: Iterable[str], linkage: str | None, gap: str | None, max_plays: int | None
) -> RunSettings:
    """The settings as given; what is not given is what suits a table, or other instances, and the policies named."""
    of_a_table = instance.options is not None
    if max_plays is None and of_a_table:
        max_plays = MOST_PLAYS_ON_A_TABLE
    told_gap = read_gap(gap or ("none" if of_a_table else "true"), instance)
    kinds = [policy_class(policy_named(text)[0]) for text in policies]
    found = linkage_of(kinds, linkage or ("free" if of_a_table else None))
    return RunSettings(found.name, told_gap, max_plays)


def read_gap(gap: str, instance: NamedMeans) -> float | None:
    """The gap that policies are told: the instance's own, another number, or none."""
    if gap == "none":
        return None
    if gap == "true":
        # With a tie for the best there is no gap to tell.
        return instance.gap or None
    try:
        value = float(gap)
    except ValueError:
        raise InvalidParameter(f"--gap {gap!r} is no number; write --gap 0.05, --gap true or --gap none") from None
    check_positive("gap", value, most=1.0)
    return value


def read_policy(text: str, delta: float, gap: float | None) -> AnyPolicy:
    """A policy as the command line writes it: a name, and parameters after a colon.

    ``delta`` goes to the policies that have it, ``gap`` to those of ``TOLD_THE_GAP``, unless they are written out.

    >>> read_policy("linked-ege:median=fresh", delta=0.1, gap=0.05)
    LinkedEGE(delta=0.1, gap=0.05, median='fresh')
    >>> read_policy("uniform-sampling:samples=100", delta=0.1, gap=0.05)
    UniformSampling(delta=None, samples=100, calibration='proved')
    >>> read_policy("linked-elimination:costs=1/2.5", delta=0.1, gap=0.05).costs
    (1.0, 2.5)
    """
    name, written = policy_named(text)
    called = text.removesuffix(f":{written}") if written else text
    parameters: dict[str, Any] = {}
    for part in filter(None, written.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InvalidParameter(f"{part!r} in --policy {text!r} is no key=value; write --policy {called}:key=value")
        parameters[key.strip()] = _read_value(value.strip())
    known = parameter_names(policy_class(name))
    effort_is_given = parameters.keys() & {"plays", "samples"}
    if "delta" in known and not effort_is_given:
        parameters.setdefault("delta", delta)
    told = TOLD_THE_GAP.get(name)
    if told is not None and gap is not None:
        parameters.setdefault(told, gap)
    return make_policy(name, parameters)


def told_by_itself(texts: Sequence[str], gap: float | None) -> str | None:
    """A sentence that says which of the policies are told the gap without their user having written it.

    >>> told_by_itself(["linked-ege", "linked-lead:gap=0.1", "linked-elimination"], 0.05)
    'linked-ege is told the gap, 0.05.'
    """
    told = [text for text in texts if (key := TOLD_THE_GAP.get(text.partition(":")[0])) and f"{key}=" not in text]
    if gap is None or not told:
        return None
    return f"{' and '.join(told)} {'is' if len(told) == 1 else 'are'} told the gap, {gap:.6g}."


def check_writable(option: str, path: Path) -> None:
    """Refuse a file before the work is done, not after."""
    existed = path.exists()
    try:
        path.touch()
        if not existed:
            path.unlink()
    except OSError as error:
        raise CannotWrite(
            f"{option} {path} cannot be written: {why_not(error)}; name a file in an existing folder"
        ) from error


def _read_value(text: str) -> Any:
    """A number or a text; several of them between slashes are a list, since commas are between parameters."""
    if text == "none":
        return None
    if "/" in text:
        return [_read_value(part) for part in text.split("/")]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
