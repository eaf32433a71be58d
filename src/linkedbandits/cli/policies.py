"""``linkedbandits policies``: which there are, what each is for, assumes, and needs to be told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli.report import standard_report
from linkedbandits.linkage import LINKAGES
from linkedbandits.policies import POLICIES, parameter_names, policy_class, policy_named
from linkedbandits.policy import AnyPolicy


@dataclass(frozen=True)
class About:
    """What a policy is for, and parameters with which it can be made, to ask it what it assumes."""

    purpose: str
    made_with: dict[str, Any]
    one_of: tuple[str, ...] = ()
    """Parameters of which it has to be told one."""


_SURE: dict[str, Any] = {"delta": 0.1}
ABOUT = {
    "linked-elimination": About("the best option or the k best; the default of simulations", _SURE),
    "linked-track-and-stop": About("the best option in few plays where delta is near zero", _SURE),
    "linked-halving": About("a good option within a fixed number of plays; no guarantee", {"plays": 100}),
    "linked-duels": About("the best option where options fail together; the default of experiments and chains", _SURE),
    "linked-lead": About(
        "the best option where it is known how far it is ahead", {**_SURE, "gap": 0.1}, ("odds_ratio", "lift", "gap")
    ),
    "maximal-sampling": About("all options in every play: the paper's, to compare with", _SURE),
    "uniform-sampling": About("all options equally often: the paper's, to compare with", _SURE),
    "linked-ege": About("the paper's main algorithm", _SURE),
    "median-elimination": About(
        "an option within epsilon of the best: the paper's, to compare with", {**_SURE, "epsilon": 0.1}
    ),
    "lil-ucb": About("a published peer without linked plays, to compare with; nothing is proved", _SURE),
    "suffix-ucb": About("an attempt from the paper's comments, to compare with", _SURE),
    "deterministic-shifting": About("an attempt from the paper's comments, to compare with", _SURE),
    "whole-sequence-ege": About("an attempt from the paper's comments, to compare with; nothing is proved", _SURE),
}
"""Of every policy that the library ships."""
EFFORTS = ("delta", "plays", "samples")
"""What a policy may be given instead of each other: how sure, or how much."""


def policies(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Also one of your own, as package.module:Class; may be given several times."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """List the policies: what each is for, what it assumes, and what it needs to be told."""
    own = [policy_named(text)[0] for text in policy or []]
    described = [_described(name) for name in dict.fromkeys([*POLICIES, *own])]
    if as_json:
        typer.echo(json.dumps(described))
        return
    report = standard_report()
    rows = [(each["name"], each["for"], each["assumes"], _told(each)) for each in described]
    report.table(("policy", "for", "assumes", "told"), rows, names=4, prose="for")
    report.print(
        "Parameters go behind a colon, as linked-elimination:k=3,epsilon=0.01; --delta is given to all that have it. "
        "In brackets: what may be told. gap is how far the best mean is above the second, calibration is proved (the "
        "default) or plain, which stops sooner and has no proof; the glossary of the documents has the others. Where "
        "options can fail together, use one that assumes nothing, or one option a play under linkage single, where "
        "none assumes independent options."
    )


def _described(name: str) -> dict[str, Any]:
    cls = policy_class(name)
    about = ABOUT.get(name)
    needed, optional = _parameters(cls, about.one_of if about is not None and about.one_of else EFFORTS)
    made = _made(cls, about)
    linkages = [linkage for linkage in LINKAGES.values() if linkage.allows(cls.asks)]
    assumed = {
        assumption.name for linkage in linkages for assumption in (() if made is None else made.assumptions(linkage))
    }
    return {
        "name": name,
        "for": _first_sentence(cls) if about is None else about.purpose,
        "assumes": "not known without its parameters" if made is None else ", ".join(sorted(assumed)) or "nothing",
        "needs": needed,
        "may_have": optional,
        "linkages": [linkage.name for linkage in linkages],
    }


def _parameters(cls: Any, one_of: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that have to be told, where one of several will do as ``delta or plays``, and those that may be."""
    known = [field for field in fields(cls) if field.name in parameter_names(cls) and field.name != "parallel"]
    needed = [field.name for field in known if field.default is field.default_factory is MISSING]
    either = [field.name for field in known if field.name in one_of and field.default is None]
    if len(either) > 1:
        needed.append(" or ".join(either))
    rest = [field.name for field in known if field.name not in needed and field.name not in either]
    return needed, rest


def _told(described: dict[str, Any]) -> str:
    optional = f"[{', '.join(described['may_have'])}]" if described["may_have"] else ""
    return " ".join(part for part in (", ".join(described["needs"]), optional) if part)


def _made(cls: Any, about: About | None) -> AnyPolicy | None:
    """One of its kind; None where it cannot be made without knowing more."""
    try:
        made: AnyPolicy = cls(**({} if about is None else about.made_with))
    except (TypeError, ValueError):
        return None
    return made


def _first_sentence(cls: Any) -> str:
    """What the documentation of a class begins with; a dataclass without any has its signature there."""
    said = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return "" if said.startswith(f"{cls.__name__}(") else said.rstrip(".")
