"""What a study is made of: instances, policies and linkages, crossed into cells of independent trials."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkedbandits.checks import check_max_plays
from linkedbandits.display import counted
from linkedbandits.errors import InvalidStudy
from linkedbandits.linkage import find_linkage
from linkedbandits.model import FloatArray
from linkedbandits.policies import describe_policy
from linkedbandits.policy import AnyPolicy, check_linkage
from linkedbandits.world import LawOfRequests


@dataclass(frozen=True, eq=False)
class DependentRequests:
    """The law of requests in which arms depend on each other, and the words and numbers that tell it from others."""

    law: LawOfRequests
    identity: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Instance:
    """Arms with these means, under a name. Instances of one ``family`` differ in size or in their draws.

    Arms are independent coins unless ``requests`` says otherwise.
    """

    name: str
    means: FloatArray
    family: str | None = None
    requests: DependentRequests | None = None

    def __repr__(self) -> str:
        depend = "" if self.requests is None else ", which depend on each other"
        return f"Instance({self.name!r}, {counted(self.means.size, 'arm')}{depend})"

    @property
    def law(self) -> LawOfRequests | None:
        """What a simulation draws requests from; None if arms are independent coins."""
        return None if self.requests is None else self.requests.law

    @property
    def gap(self) -> float:
        """The difference between the two best means."""
        second, first = np.sort(self.means)[-2:]
        return float(first - second)


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy on one instance under one linkage, run ``trials`` times.

    ``label`` is what tables and figures call the policy; its own parameters are all in ``policy``.
    """

    instance: Instance
    label: str
    policy: AnyPolicy
    linkage: str
    trials: int
    max_plays: int | None = None

    def __post_init__(self) -> None:
        check_linkage(self.policy, find_linkage(self.linkage))
        check_max_plays(self.max_plays)
        self.policy.start(1, self.instance.means.size, np.zeros(1, dtype=np.uint64))  # refuses, say, too large a k

    def __repr__(self) -> str:
        told = "" if self.delta is None else f", delta {self.delta:g}"
        of = f"{self.label!r} on {self.instance.name!r}"
        return f"Cell({of}, {self.linkage}{told}, {counted(self.trials, 'trial')})"

    @property
    def delta(self) -> float | None:
        """How often the policy may be wrong, if it is told."""
        return self.policy.goal.delta

    @cached_property
    def key(self) -> str:
        """A name that is the same as long as the cell is, fit for a file system.

        It depends on all that decides how a trial ends, and on the seed and on the number of trials not at all.
        """
        delta = "" if self.delta is None else f"{self.delta:g}"
        readable = [self.instance.name, self.label, self.linkage, delta]
        return "_".join([_plain(part) for part in readable if part] + [_digest(self._identity())[:10]])

    def seed(self, entropy: int) -> np.random.SeedSequence:
        """The cell's own randomness in a study with this seed, whatever other cells the study has."""
        words = np.frombuffer(bytes.fromhex(_digest(self._identity())), dtype=np.uint32)
        return np.random.SeedSequence(entropy, spawn_key=tuple(words.tolist()))

    def to_json(self) -> dict[str, Any]:
        """The whole cell, ready for ``json.dumps``."""
        return {
            "key": self.key,
            **self._identity(),
            "family": self.instance.family,
            "delta": self.delta,
            "trials": self.trials,
        }

    def _identity(self) -> dict[str, Any]:
        requests = self.instance.requests
        return {
            "instance": self.instance.name,
            "means": self.instance.means.tolist(),
            "label": self.label,
            "policy": describe_policy(self.policy),
            "linkage": self.linkage,
            "max_plays": self.max_plays,
            **({} if requests is None else {"requests": requests.identity}),
        }


@dataclass(frozen=True)
class Study:
    """A grid of cells to run, under one name and seed."""

    name: str
    seed: int
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        check_names([cell.to_json() for cell in self.cells])
        if not self.cells:
            raise InvalidStudy(f"the study {self.name!r} has nothing to run; give it an instance and a policy")

    def __repr__(self) -> str:
        """Without its cells."""
        trials = sum(cell.trials for cell in self.cells)
        instances = len({cell.instance.name for cell in self.cells})
        policies = len({cell.label for cell in self.cells})
        crossed = f"{counted(instances, 'instance')}, {counted(policies, 'policy', 'policies')}"
        of = f"{counted(len(self.cells), 'cell')} of {crossed}"
        return f"Study({self.name!r}: {of}, {counted(trials, 'trial')} in all, seed {self.seed})"


def check_names(cells: Iterable[dict[str, Any]]) -> None:
    """Refuse two cells that tables and figures could not tell apart."""
    names = Counter((cell["instance"], cell["label"], cell["linkage"], cell["delta"]) for cell in cells)
    for (instance, label, linkage, delta), count in names.items():
        if count > 1:
            at = "" if delta is None else f" at delta {delta:g}"
            raise InvalidStudy(
                f"{label!r} on {instance!r} ({linkage}{at}) is there {count} times; leave one out, or give the "
                "instance another name or the policy another label"
            )


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-")[:40]


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("utf-8")).hexdigest()
