"""Which metrics and labels a PromQL expression names: as much of its grammar as that takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?(\s*\()?")
_WORDS = {"and", "or", "unless", "offset", "bool", "by", "without", "on", "ignoring", "group_left", "group_right"}


class Named(NamedTuple):
    """A metric, and the labels that are asked of it."""

    metric: str
    labels: frozenset[str]


def selectors(expression: str) -> Iterator[Named]:
    """Every metric of an expression, with the labels in its braces.

    >>> sorted(selectors('sum by (le) (rate(a_bucket{route=~"x{y}", job="$job"}[5m])) > 2 * b')
    ...     )[0].labels == {"route", "job"}
    True
    """
    plain = re.sub(r"\[[^\]]*\]", "", _GROUPING.sub(" ", _STRING.sub('""', expression)))
    plain = re.sub(r"\b[0-9][0-9.eE+]*[a-z]*", " ", plain)
    for name, braces, call in _SELECTOR.findall(plain):
        if not call and name not in _WORDS:
            yield Named(name, frozenset(re.findall(r"([a-zA-Z_]\w*)\s*(?:=|!)", braces)))


def grouped_by(expression: str) -> set[str]:
    """The labels that an expression groups by."""
    found = _GROUPING.findall(_STRING.sub('""', expression))
    return {label.strip() for _, labels in found for label in labels.split(",") if label.strip()}
