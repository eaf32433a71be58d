"""What a process that is forked does about the chains in it.

A fork copies locks as they are, and no threads but one. So whatever guards something registers here: it is told
before the fork, to come to a state in which it may be copied, and afterwards in both processes.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that has to know of forks."""

    def before_fork(self) -> None:
        """Come to a state that may be copied."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Go on as another process, with what is one's own."""
        ...


_known: weakref.WeakSet[Forked] = weakref.WeakSet()


def register(one: Forked) -> None:
    """Tell it of forks as long as it lives."""
    _known.add(one)


def forget(one: Forked) -> None:
    """Do not tell it any more."""
    _known.discard(one)


def _before() -> None:
    for one in list(_known):
        one.before_fork()


def _in_parent() -> None:
    for one in list(_known):
        one.after_fork_in_parent()


def _in_child() -> None:
    for one in list(_known):
        one.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
