"""Options that several commands have, each declared once, and what they describe: an instance, policies, an engine."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from linkedbandits.checks import check_positive
from linkedbandits.errors import CannotWrite, InvalidParameter, why_not
from linkedbandits.figures.style import ENDINGS
from linkedbandits.joint_worlds import KindsOfRequests, OutcomeTable, SharedDifficulty
from linkedbandits.linkage import LINKAGES, Linkage
from linkedbandits.model import FloatArray, check_means
from linkedbandits.policies import POLICIES, make_policy, parameter_names, policy_class, policy_named
from linkedbandits.policy import AnyPolicy, linkage_of
from linkedbandits.scenarios import SCENARIOS, find_scenario, one_sparse

if TYPE_CHECKING:
    from linkedbandits.study.engines import Engine


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion for shells: the names that begin like the word.

    >>> one_of(["free", "ordered"])("o")
    ['ordered']
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


MOST_PLAYS_ON_A_TABLE = 1_000_000
"""Options of a table may tie, and then only a limit ends a run."""
TOLD_THE_GAP = {"linked-ege": "gap", "median-elimination": "epsilon"}
"""The paper's algorithms that its experiments tell the gap, and the parameter that takes it."""

Scenario = Annotated[
    str | None,
    typer.Option(help=f"An instance of the paper: {', '.join(SCENARIOS)}.", autocompletion=one_of(SCENARIOS)),
]
Arms = Annotated[int | None, typer.Option(help="How many arms the scenario has; 10 unless given.")]
Best = Annotated[int | None, typer.Option(help="Where one-sparse has its best arm, counted from 0.")]
Means = Annotated[str | None, typer.Option(help="Instead of a scenario, the arms' means: 0.1,0.05,0.02")]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--table",
        help="Instead of a scenario, recorded requests, drawn at random: a CSV file with a column an option and a row "
        "a request, 1 for a success and 0 for a failure. A column count says how many requests a row stands for; "
        "request and seconds:... are not read.",
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
DELTA = 0.1
"""Of simulated runs, as in the paper's experiments."""
Delta = Annotated[float, typer.Option(help="The probability with which the answer may be wrong.")]
Gap = Annotated[
    str | None,
    typer.Option(
        help="The gap between the two best means, for linked-ege and median-elimination: a number, true or none. "
        "Unless given, true; none with --table. Others are told with --policy NAME:gap=0.05.",
    ),
]
LinkageName = Annotated[
    str | None,
    typer.Option(
        "--linkage",
        help=f"What a play may be: {', '.join(LINKAGES)}. Unless given, ordered; free with --table and where policies "
        "need it.",
        autocompletion=one_of(LINKAGES),
    ),
]
POLICY_HELP = (
    "A policy, with parameters after a colon: linked-ege:median=fresh, or linked-elimination:costs=1/2/5 for most "
    "successes per cost, or package.module:Class for one of your own. "
)
complete_policy = one_of(POLICIES)
Trials = Annotated[int, typer.Option(help="How many independent runs.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same results.")]
MaxPlays = Annotated[
    int | None,
    typer.Option(
        help="Stop a run after this many plays, decided or not. Unless given, no limit; "
        f"{MOST_PLAYS_ON_A_TABLE:,} with --table."
    ),
]
Plot = Annotated[
    Path | None, typer.Option(help=f"Draw the result into this file ({', '.join(ENDINGS)}), on white ground.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where to run: processes (this machine) or dask.",
        autocompletion=one_of(("processes", "dask")),
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="How many processes; all cores unless given.")]
Scheduler = Annotated[
    str | None, typer.Option(help="With --engine dask, the address of a running cluster, such as tcp://host:8786.")
]


@dataclass(frozen=True)
class Instance:
    """Means with a name for tables; ``law`` draws the requests where options depend on each other."""

    name: str
    means: FloatArray
    law: KindsOfRequests | None = None
    correlation: float | None = None

    @property
    def options(self) -> tuple[str, ...] | None:
        """The names of a table's options; None for other instances, whose arms have numbers."""
        return self.law.options if isinstance(self.law, OutcomeTable) else None

    @property
    def dependence(self) -> str | None:
        """A clause that says how the options depend on each other; None if they are independent."""
        if self.options is not None:
            return "those of this table fail together as they did"
        return f"these share how hard a request is (correlation {self.correlation:g})" if self.correlation else None

    @property
    def gap(self) -> float:
        """The difference between the two best means."""
        second, first = np.sort(self.means)[-2:]
        return float(first - second)

    def label(self, arm: int) -> str:
        """The name of an arm in a sentence."""
        return f"arm {arm}" if self.options is None else self.options[arm]

    def to_json(self) -> dict[str, Any]:
        """The instance in the output, ready for ``json.dumps``."""
        data: dict[str, Any] = {"name": self.name, "means": self.means.tolist(), "gap": self.gap}
        if self.options is not None:
            data["options"] = list(self.options)
        if self.correlation is not None:
            data["correlation"] = self.correlation
        return data


def read_instance(
    scenario: str | None,
    arms: int | None,
    best: int | None,
    means: str | None,
    table: Path | None,
    options: str | None,
    correlation: float | None,
) -> Instance:
    """The instance that the options describe: one-sparse with 10 arms unless they say otherwise."""
    if table is not None:
        _refuse_beside(
            f"--table {table}", scenario=scenario, arms=arms, best=best, means=means, correlation=correlation
        )
        wanted = None if options is None else [name.strip() for name in next(csv.reader([options]), [])]
        outcomes = OutcomeTable.read(table, wanted)
        return Instance(f"{table.stem}, {len(outcomes.options)} options", outcomes.means, outcomes)
    if options is not None:
        raise InvalidParameter(f"--options {options} are columns of a table; give it with --table, or leave them out")
    if means is not None:
        _refuse_beside(f"--means {means}", scenario=scenario, arms=arms, best=best)
        try:
            numbers = [float(mean) for mean in means.split(",")]
        except ValueError:
            raise InvalidParameter(f"--means {means!r} is no list of numbers; write --means 0.1,0.05") from None
        vector = check_means(numbers)
        name = f"{vector.size} arms"
    else:
        chosen, arms = scenario or "one-sparse", 10 if arms is None else arms
        if best is not None and chosen != "one-sparse":
            raise InvalidParameter(f"--best {best} goes with --scenario one-sparse alone; leave it out for {chosen}")
        vector = one_sparse(arms, best) if best is not None else find_scenario(chosen)(arms)
        name = f"{chosen}, {arms} arms"
    if correlation is None:
        return Instance(name, vector)
    law = SharedDifficulty(vector, correlation)
    return Instance(f"{name}, correlation {correlation:g}", vector, law, correlation)


def _refuse_beside(chosen: str, **others: object) -> None:
    for name, value in others.items():
        if value is not None:
            raise InvalidParameter(f"both --{name} {value} and {chosen} were given; leave one out")


@dataclass(frozen=True)
class RunSettings:
    """Settings of every policy that a command runs on an instance."""

    linkage: Linkage
    told_gap: float | None
    max_plays: int | None


def read_settings(
    instance: Instance, policies: Iterable[str], linkage: str | None, gap: str | None, max_plays: int | None
) -> RunSettings:
    """The settings as given; others suit the instance and the policies named."""
    is_table = instance.options is not None
    if max_plays is None and is_table:
        max_plays = MOST_PLAYS_ON_A_TABLE
    told_gap = read_gap(gap or ("none" if is_table else "true"), instance)
    kinds = [policy_class(policy_named(text)[0]) for text in policies]
    return RunSettings(linkage_of(kinds, linkage or ("free" if is_table else None)), told_gap, max_plays)


def read_gap(gap: str, instance: Instance) -> float | None:
    """The gap that policies are told: the instance's own, another number, or none."""
    if gap == "none":
        return None
    if gap == "true":
        return instance.gap or None  # with a tie for the best there is no gap to tell
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
    own = set(parameters)
    if "delta" in parameter_names(policy_class(name)) and not own & {"plays", "samples"}:
        parameters.setdefault("delta", delta)
    if name in TOLD_THE_GAP and gap is not None:
        parameters.setdefault(TOLD_THE_GAP[name], gap)
    try:
        return make_policy(name, parameters)
    except InvalidParameter as error:
        if error.parameter in own:  # not the option of that name
            raise InvalidParameter(f"--policy {text}: {error}") from error
        raise


def _read_value(text: str) -> Any:
    """None, a number or a text; a list is written with slashes, since commas are between parameters."""
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


def told_by_default(texts: Sequence[str], gap: float | None) -> list[str]:
    """A sentence on the policies that are told the gap though it is not written in their parameters, if any are.

    >>> told_by_default(["linked-ege", "linked-lead:gap=0.1", "linked-elimination"], 0.05)
    ['linked-ege is told the gap, 0.05.']
    """
    told = [text for text in texts if (key := TOLD_THE_GAP.get(text.partition(":")[0])) and f"{key}=" not in text]
    if gap is None or not told:
        return []
    return [f"{' and '.join(told)} {'is' if len(told) == 1 else 'are'} told the gap, {gap:.6g}."]


def read_engine(name: str, workers: int | None, scheduler: str | None) -> Engine:
    """The engine that --engine, --workers and --scheduler describe."""
    from linkedbandits.study import on_dask, on_processes

    if name == "dask":
        return on_dask(scheduler, workers)
    if name != "processes":
        raise InvalidParameter(f"--engine {name!r} is unknown; choose processes or dask")
    if scheduler is not None:
        raise InvalidParameter(f"--scheduler {scheduler} goes with --engine dask; add it")
    return on_processes(workers)


def check_writable(option: str, path: Path) -> None:
    """Refuse a file that cannot be written before the work begins."""
    existed = path.exists()
    try:
        path.touch()
        if not existed:
            path.unlink()
    except OSError as error:
        raise CannotWrite(
            f"{option} {path} cannot be written: {why_not(error)}; name a file in an existing folder"
        ) from error


_SECONDS = {
    "ps": Decimal("1e-12"),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),
    "\u03bcs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
"""In one of each. The sign for a millionth is there twice, as a sign and as a Greek letter."""
_CALLED = {"ps": "picoseconds", "ns": "nanoseconds", "us": "microseconds", "s": "seconds"}
_WITH_UNIT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*([a-z\u00b5\u03bc]+)\s*", re.IGNORECASE)


def in_unit(text: str, unit: str) -> float | None:
    """A time with its unit, in another one; None if it is none.

    >>> in_unit("50ns", "ns"), in_unit("0.05 us", "ns"), in_unit("2min", "s"), in_unit("50", "ns")
    (50.0, 50.0, 120.0, None)
    """
    parts = _WITH_UNIT.fullmatch(text)
    size = None if parts is None else _SECONDS.get(parts[2].lower())
    if parts is None or size is None:
        return None
    return float(Decimal(parts[1]) * size / _SECONDS[unit])


def time_in(unit: str, least: float | None = None) -> Callable[[Any], float]:
    """What reads the time of an option that counts by ``unit``: a number of them, or a time with its own unit.

    >>> read = time_in("ns")
    >>> read("50"), read("50ns"), read("0.2us")
    (50.0, 50.0, 200.0)
    """

    def read(text: Any) -> float:
        written = str(text)
        found = in_unit(written, unit)
        if found is None:
            try:
                found = float(written)
            except ValueError:
                raise typer.BadParameter(
                    f"{written!r} is no time; write {_CALLED[unit]}, as 50, or a time with its unit, as 50{unit} "
                    f"({', '.join(name for name in _SECONDS if name.isascii())})"
                ) from None
        if least is not None and not found >= least:
            raise typer.BadParameter(f"{written} is less than {least:g} {_CALLED[unit]}; give a longer time")
        return found

    return read
