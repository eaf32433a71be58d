"""Which experiments a list shows: searched, filtered, sorted, and cut into pages.

Works on what the store has of every experiment for lists (:class:`ListedExperiment`), so that only those on a page have
to be looked at any closer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from linkedbandits.service.records import ListedExperiment

A_PAGE = 50
"""Experiments on a page."""

SHORTEST_IDENTIFIER = 4
"""Letters with which an identifier is found."""

StatusFilter = Literal["running", "paused", "archived", "open", "decided"]
Order = Literal["created", "-created", "name", "-name", "plays", "-plays", "status", "-status"]

_STAGES = ("open", "paused", "decided", "archived")
_KEYS: dict[str, Callable[[ListedExperiment], Any]] = {
    "created": lambda listed: listed.created_at,
    "name": lambda listed: (listed.name.casefold(), listed.name),
    "plays": lambda listed: listed.plays,
    "status": lambda listed: _STAGES.index(_stage(listed)),
}


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What is asked of a list. Archived experiments come last in every order, unless ``archived_last`` is not wanted.

    Every word of ``search`` has to be in the name or a tag, or to be the beginning of the identifier. ``status`` is
    that of the experiment; "open" are those that run and have no verdict, "decided" those that have one and are not
    archived.
    """

    search: str = ""
    status: StatusFilter | None = None
    tag: str | None = None
    sort: Order = "-created"
    page: int = 1
    archived_last: bool = True


@dataclass(frozen=True, slots=True)
class ListPage:
    """``rows`` of the page, how many match, and how many there are in all."""

    rows: tuple[ListedExperiment, ...]
    matching: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are, of which the last may be empty."""
        return max(1, -(-self.matching // A_PAGE))


def matching(rows: Sequence[ListedExperiment], query: ListQuery) -> list[ListedExperiment]:
    """All that match, in the order that was asked for; those that are alike by it come oldest first."""
    words = query.search.casefold().split()
    found = [listed for listed in rows if _matches(listed, words, query.status, query.tag)]
    # The rows come oldest first, and both sorts are stable.
    found.sort(key=_KEYS[query.sort.removeprefix("-")], reverse=query.sort.startswith("-"))
    if query.archived_last:
        found.sort(key=lambda listed: listed.status == "archived")
    return found


def page_of(rows: Sequence[ListedExperiment], query: ListQuery) -> ListPage:
    """One page; an empty one behind the last."""
    found = matching(rows, query)
    first = (query.page - 1) * A_PAGE
    return ListPage(tuple(found[first : first + A_PAGE]), len(found), len(rows))


def _stage(listed: ListedExperiment) -> str:
    if listed.status == "archived":
        return "archived"
    if listed.verdict:
        return "decided"
    return "paused" if listed.status == "paused" else "open"


def _matches(listed: ListedExperiment, words: Sequence[str], status: StatusFilter | None, tag: str | None) -> bool:
    if tag is not None and tag not in listed.tags:
        return False
    if status in ("open", "decided"):
        if _stage(listed) != status:
            return False
    elif status is not None and listed.status != status:
        return False
    if not words:
        return True
    text = "\n".join((listed.name, *listed.tags)).casefold()
    return all(word in text or _begins(listed.id, word) for word in words)


def _begins(identifier: str, word: str) -> bool:
    """Identifiers are of random letters: a short word would be in many of them."""
    return len(word) >= SHORTEST_IDENTIFIER and identifier.startswith(word)
