"""What the commands that run policies have in common: the instance, the policies, and their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from linkedbandits.checks import check_positive
from linkedbandits.errors import CannotWrite, InvalidMeans, InvalidParameter
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import FloatArray, check_means
from linkedbandits.policies import make_policy, parameter_names, policy_class
from linkedbandits.policy import AnyPolicy
from linkedbandits.scenarios import SCENARIOS, find_scenario, one_sparse

Scenario = Annotated[str | None, typer.Option(help=f"An instance of the paper: {', '.join(SCENARIOS)}.")]
Arms = Annotated[int | None, typer.Option(help="How many arms the scenario has; 10 unless given.")]
Best = Annotated[int | None, typer.Option(help="Where one-sparse has its best arm, counted from 0.")]
Means = Annotated[str | None, typer.Option(help="Instead of a scenario, the arms' means: 0.1,0.05,0.02")]
Delta = Annotated[float, typer.Option(help="The probability with which the answer may be wrong.")]
Gap = Annotated[
    str,
    typer.Option(help="The gap between the two best means, for policies that take it: a number, true or none."),
]
LinkageName = Annotated[str, typer.Option("--linkage", help=f"What a play may be: {', '.join(LINKAGES)}.")]
Trials = Annotated[int, typer.Option(help="How many independent runs.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same results.")]
MaxPlays = Annotated[int | None, typer.Option(help="Stop a run after this many plays, decided or not.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")]


@dataclass(frozen=True)
class NamedMeans:
    """A vector of means and where it comes from."""

    name: str
    means: FloatArray

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
            raise InvalidMeans(f"--means {means!r} is no list of numbers; write --means 0.1,0.05") from None
        return NamedMeans(f"{len(values)} arms", check_means(values))
    name = scenario or "one-sparse"
    arms = 10 if arms is None else arms
    if name == "one-sparse":
        return NamedMeans(f"one-sparse, {arms} arms", one_sparse(arms, best or 0))
    if best is not None:
        raise InvalidParameter(f"--best {best} goes with --scenario one-sparse alone; leave it out for {name}")
    return NamedMeans(f"{name}, {arms} arms", find_scenario(name)(arms))


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

    ``delta`` and ``gap`` go to the policies that have them, unless they are written out.

    >>> read_policy("linked-ege:median=fresh", delta=0.1, gap=0.05)
    LinkedEGE(delta=0.1, gap=0.05, median='fresh')
    >>> read_policy("uniform-sampling:samples=100", delta=0.1, gap=0.05)
    UniformSampling(delta=None, samples=100, calibration='proved')
    """
    name, _, written = text.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, written.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise InvalidParameter(f"{part!r} in --policy {text!r} is no key=value; write --policy {name}:key=value")
        parameters[key.strip()] = _read_value(value.strip())
    known = parameter_names(policy_class(name))
    effort_is_given = parameters.keys() & {"plays", "samples"}
    if "delta" in known and not effort_is_given:
        parameters.setdefault("delta", delta)
    if "gap" in known:
        parameters.setdefault("gap", gap)
    if "epsilon" in known and name == "median-elimination" and gap is not None:
        parameters.setdefault("epsilon", gap)  # then the arm it finds is the best one
    return make_policy(name, parameters)


def check_writable(option: str, path: Path) -> None:
    """Refuse a file before the work is done, not after."""
    try:
        path.touch()
    except OSError as error:
        raise CannotWrite(
            f"{option} {path} cannot be written ({error.strerror}); name a file in an existing folder"
        ) from error


def _read_value(text: str) -> Any:
    if text == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
