"""What a token is limited to: experiments by identifier, or by how their names begin.

An experiment that goes on from another is seen by those who may see that one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

LONGEST_LINE = 1_000
"""Experiments that go on from each other are followed back this far."""


class Line(NamedTuple):
    """Of an experiment, its name and the experiment that it goes on from; both never change."""

    name: str
    before: str | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Both empty: everything.

    >>> Scope(experiments=frozenset({"9f0c"})).to_text()
    '{"experiments": ["9f0c"], "prefixes": []}'
    >>> Scope.from_text(None).limited
    False
    """

    experiments: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @property
    def limited(self) -> bool:
        """Is there something that it does not cover?"""
        return bool(self.experiments or self.prefixes)

    def covers_name(self, name: str) -> bool:
        """Would an experiment of this name be covered for that alone?"""
        return not self.limited or name.startswith(self.prefixes)

    def covers(self, experiment: str, find: Callable[[str], Line | None]) -> bool:
        """Is this experiment covered? ``find`` knows experiments; None: there is none."""
        if not self.limited:
            return True
        for _ in range(LONGEST_LINE):
            if experiment in self.experiments:
                return True
            line = find(experiment)
            if line is None:
                return False
            if self.prefixes and line.name.startswith(self.prefixes):
                return True
            if line.before is None:
                return False
            experiment = line.before
        return False

    def covers_before(self, experiment: str, find: Callable[[str], Line | None]) -> bool:
        """Is what this experiment goes on from covered, too, if there is anything? It has the same name."""
        line = find(experiment)
        if line is None or line.before is None:
            return True
        return self.covers_name(line.name) or self.covers(line.before, find)

    @property
    def key_space(self) -> str | None:
        """Idempotency keys of who creates experiments under these prefixes are those of nobody else; None: plain keys.

        >>> Scope(frozenset({"9f0c"}), ("shop/", "eu/")).key_space == Scope(prefixes=("eu/", "shop/")).key_space
        True
        >>> Scope(prefixes=("shop/",)).key_space == Scope(prefixes=("eu/",)).key_space, EVERYTHING.key_space
        (False, None)
        """
        if not self.limited:
            return None
        return hashlib.sha256(json.dumps(sorted(self.prefixes)).encode()).hexdigest()[:16]

    def also(self, experiments: frozenset[str]) -> Scope:
        """The same with more experiments."""
        return replace(self, experiments=self.experiments | experiments)

    def to_text(self) -> str | None:
        """For the store."""
        if not self.limited:
            return None
        return json.dumps({"experiments": sorted(self.experiments), "prefixes": list(self.prefixes)})

    @classmethod
    def from_text(cls, text: str | None) -> Scope:
        """What :meth:`to_text` wrote."""
        if text is None:
            return EVERYTHING
        content = json.loads(text)
        return cls(frozenset(content["experiments"]), tuple(content["prefixes"]))


EVERYTHING = Scope()
