"""``linkedbandits policies``: which there are, what each is for, assumes, and needs to be told."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli.tables import standard_report
from linkedbandits.linkage import LINKAGES
from linkedbandits.policies import POLICIES, parameter_names, policy_class, policy_named
from linkedbandits.policy import AnyPolicy

PURPOSES = {
    "linked-elimination": "the best option or the k best; the default of simulations",
    "linked-track-and-stop": "the best option in few plays where delta is near zero",
    "linked-halving": "a good option within a fixed number of plays; no guarantee",
    "linked-duels": "the best option where options fail together; the default of experiments and chains",
    "linked-lead": "the best option where it is known how far it is ahead",
    "maximal-sampling": "all options in every play: the paper's, to compare with",
    "uniform-sampling": "all options equally often: the paper's, to compare with",
    "linked-ege": "the paper's main algorithm",
    "median-elimination": "an option within epsilon of the best: the paper's, to compare with",
    "lil-ucb": "a published peer without linked plays, to compare with; nothing is proved",
    "suffix-ucb": "an attempt from the paper's comments, to compare with",
    "deterministic-shifting": "an attempt from the paper's comments, to compare with",
    "whole-sequence-ege": "an attempt from the paper's comments, to compare with; nothing is proved",
}
"""Of the library's own policies; for others, the first sentence of the class's documentation."""
_ALTERNATIVES = (("delta", "plays", "samples"), ("odds_ratio", "lift", "gap"))
"""Parameters of which a policy takes one: how sure or how much effort, and how far the best option is ahead."""
_EXAMPLES: tuple[dict[str, Any], ...] = (
    {},
    {"delta": 0.1},
    {"delta": 0.1, "gap": 0.1},
    {"delta": 0.1, "epsilon": 0.1},
    {"plays": 100},
)
"""Parameters to make a policy with, to ask it what it assumes."""


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
    rows = []
    for each in described:
        optional = [f"[{', '.join(each['may_have'])}]"] if each["may_have"] else []
        rows.append(
            (each["name"], each["for"], each["assumes"], " ".join([", ".join(each["needs"]), *optional]).strip())
        )
    report = standard_report()
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
    linkages = [linkage for linkage in LINKAGES.values() if linkage.allows(cls.asks)]
    made = _made(cls)
    assumed = "not known without its parameters"
    if made is not None:
        assumed = (
            ", ".join(sorted({each.name for linkage in linkages for each in made.assumptions(linkage)})) or "nothing"
        )
    known = [field for field in fields(cls) if field.name in parameter_names(cls) and field.name != "parallel"]
    needed = [field.name for field in known if field.default is field.default_factory is MISSING]
    taken = set(needed)
    for alternatives in _ALTERNATIVES:
        either = [field.name for field in known if field.name in alternatives and field.default is None]
        if len(either) > 1:
            needed.append(" or ".join(either))
            taken.update(either)
    return {
        "name": name,
        "for": PURPOSES.get(name) or _first_sentence(cls),
        "assumes": assumed,
        "needs": needed,
        "may_have": [field.name for field in known if field.name not in taken],
        "linkages": [linkage.name for linkage in linkages],
    }


def _made(cls: Any) -> AnyPolicy | None:
    """A policy of this class; None if none of the examples has what it needs."""
    for parameters in _EXAMPLES:
        try:
            made: AnyPolicy = cls(**parameters)
        except (TypeError, ValueError):
            continue
        return made
    return None


def _first_sentence(cls: Any) -> str:
    said = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return "" if said.startswith(f"{cls.__name__}(") else said.rstrip(".")  # a dataclass has its signature by default
