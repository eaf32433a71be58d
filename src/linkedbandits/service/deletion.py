"""Experiments that are deleted: hidden at once, then erased in steps short enough to keep nobody waiting.

What a deleted experiment leaves behind is its entry in the audit.
"""

from __future__ import annotations

from collections.abc import Callable

from linkedbandits.errors import LinkedBanditError, StoreUnavailable, WrongState
from linkedbandits.service.audit import Actor, new_entry
from linkedbandits.service.scopes import Line
from linkedbandits.service.store import Reading, Store, Writing
from linkedbandits.service.store_errors import DamagedRecord

ROWS_A_STEP = 1_000
"""Erased in one transaction."""


def hide(store: Writing, experiment: str, force: bool, by: Actor, now: float) -> None:
    """Delete an experiment; WrongState if it is not, unless by ``force``.

    Webhooks of it alone go with it, and what waits for them. Tokens that were limited to it go on to see the
    experiments that go on from it.
    """
    store.lock(experiment)
    name, status = store.name_and_status(experiment)
    if status != "archived" and not force:
        raise WrongState(
            f"experiment {experiment!r} is {status}; archive it first, or delete it by force: what it was told is lost "
            "for good",
            reason="experiment_not_archived",
        )
    _pass_tokens_on(store, experiment, by, now)
    _remove_webhooks(store, experiment, by, now)
    store.hide(experiment)
    store.add_audit(new_entry("delete", by, now, experiment, name=name, was=status))


class Erasing:
    """Goes once through what is hidden, a step in a transaction.

    An experiment that cannot be erased, or that somebody else is at, is ``left`` for another time.
    """

    def __init__(self) -> None:
        self.left: set[str] = set()

    def step(self, store: Writing) -> int:
        """Remove some rows. How many? 0: nothing is left but what cannot be removed now."""
        while (experiment := store.next_hidden(self.left)) is not None:
            try:
                rows = store.erase(experiment, ROWS_A_STEP)
            except Exception:  # it is only noted which one it was
                self.left.add(experiment)
                raise
            if rows is not None:
                return rows
            self.left.add(experiment)
        return 0


def erase_all(store: Store, on_step: Callable[[int], None] | None = None) -> int:
    """Erase what is hidden; the number of rows. ``on_step`` is told how many each step removed.

    Where one of them is damaged, the others are erased before that is said.
    """
    erased, erasing, failure = 0, Erasing(), None
    while True:
        left = len(erasing.left)
        try:
            with store.writing() as writing:
                rows = erasing.step(writing)
        except DamagedRecord as error:
            if len(erasing.left) == left:  # it is not one experiment alone
                raise
            failure = error
            continue
        if rows == 0:
            break
        erased += rows
        if on_step is not None:
            on_step(rows)
    if failure is not None:
        raise failure
    return erased


def _remove_webhooks(store: Writing, experiment: str, by: Actor, now: float) -> None:
    for webhook in store.webhooks():
        if webhook.experiment == experiment:
            store.remove_webhook(webhook.id)
            store.add_audit(new_entry("webhook-delete", by, now, webhook.id, experiment=experiment))


def _pass_tokens_on(store: Writing, experiment: str, by: Actor, now: float) -> None:
    limited = store.lock_limited_tokens()  # before anything is read: another deletion may be widening them
    if not limited:
        return
    following = frozenset(store.going_on_from(experiment))

    def find(wanted: str) -> Line | None:
        return line_of(store, wanted)

    for token in limited:
        if following and token.scope.covers(experiment, find):
            store.widen_token(token, token.scope.also(following))
            about = {"experiments": sorted(following), "deleted": experiment}
            store.add_audit(new_entry("token-widen", by, now, token.id, name=token.name, **about))


def line_of(store: Reading, experiment: str) -> Line | None:
    """What the limits of tokens go by; None if there is no such experiment, or it cannot be read."""
    try:
        return store.record(experiment).line
    except StoreUnavailable:
        raise
    except (LinkedBanditError, KeyError, TypeError, ValueError):
        return None
