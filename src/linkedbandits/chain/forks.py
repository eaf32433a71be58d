"""What a process that is forked does about the chains in it.

A fork copies locks as they are, and no threads but one. So whatever guards something registers here: it is told
before the fork, to come to a state in which it may be copied, and afterwards in both processes.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
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
_in_children: list[weakref.WeakMethod[Callable[[], None]]] = []


def register(one: Forked) -> None:
    """Tell it of forks as long as it lives."""
    _known.add(one)


def forget(one: Forked) -> None:
    """Do not tell it any more."""
    _known.discard(one)


def call_in_child(method: Callable[[], None]) -> None:
    """Call a method in the child processes of later forks, as long as its object lives."""
    _in_children[:] = [known for known in _in_children if known() is not None]
    _in_children.append(weakref.WeakMethod(method))


def _before() -> None:
    for one in list(_known):
        one.before_fork()


def _in_parent() -> None:
    for one in list(_known):
        one.after_fork_in_parent()


def _in_child() -> None:
    for known in _in_children:
        method = known()
        if method is not None:
            method()
    for one in list(_known):
        one.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
