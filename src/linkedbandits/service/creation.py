"""How an experiment is created, once for each idempotency key."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace

from linkedbandits.errors import InvalidParameter, StoreUnavailable
from linkedbandits.live import HANDS_OUT_BY, WarmStart
from linkedbandits.service.audit import SERVICE, Actor, new_entry
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import ExperimentRecord, LogInSetup, Setup, Writer, check_text
from linkedbandits.service.store import Writing
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.tags import check_tags
from linkedbandits.service.webhooks import Happening
from linkedbandits.version import __version__


@dataclass(frozen=True, slots=True)
class Creation:
    """An experiment to be created: its name, what it is set up with, the log that it begins with, its tags.

    ``by`` is who asks for it, for the audit. With a ``key`` that was used before for the same, it is the experiment
    that was created then. A key is known as long as its experiment is in the store, and in a ``key_space`` of those who
    do not see what others create.
    """

    setup: Setup
    name: str
    warm: WarmStart | None = None
    key: str | None = None
    by: Actor = SERVICE
    tags: tuple[str, ...] = ()
    key_space: str | None = None

    def carry_out(self, store: Writing, now: float) -> Created:
        """Create it, or find that it was created before."""
        check_text("name", self.name)
        check_tags(self.tags)
        before = self._created_before(store)
        if before is not None:
            return before
        begun = self.setup.begin()  # says what is wrong with it
        writer = str(Writer(__version__, begun.asks(), HANDS_OUT_BY))
        record = ExperimentRecord(
            secrets.token_hex(8), self.name, self._said, "running", now, head=0, written_by=writer
        )
        hosted = None if self.warm is None else HostedExperiment(record, self.warm)
        log = None if self.warm is None else self.warm.to_json()
        if not store.create(record, log, self._kept_key, self.tags):
            # Another process, whose transaction was not over when the key was looked for, came first.
            before = self._created_before(store)
            if before is None:
                raise StoreUnavailable(f"the experiment of key {self.key!r} was removed just now; try again")
            return before
        store.add_audit(new_entry("create", self.by, now, record.id, name=self.name))
        if hosted is not None:
            # A verdict that the log gave at once stands, whatever a later version would have made of it.
            hosted.save_snapshot(store)
            hosted.note_standing(store)
        news = () if hosted is None else tuple(hosted.begin_news(now))
        for happening in news:
            store.put_out(happening)
        return Created(record, False, news)

    @property
    def _said(self) -> Setup:
        return self.setup if self.warm is None else replace(self.setup, log=LogInSetup.of(self.warm))

    @property
    def _kept_key(self) -> str | None:
        """The key as it is kept. What divides it from its space cannot be in a key."""
        return self.key if self.key is None or self.key_space is None else f"{self.key_space}\x1f{self.key}"

    def _created_before(self, store: Writing) -> Created | None:
        """The experiment that has the key, if there is one; InvalidParameter if it is another than this one."""
        if self.key is None or self._kept_key is None:
            return None
        check_text("key", self.key)
        experiment = store.created_with(self._kept_key)
        if experiment is None:
            return None if self.key_space is None else self._created_before_there_were_spaces(store, self.key)
        record = store.record(experiment)
        if not self._is_of(store, record):
            raise InvalidParameter(
                f"key {self.key!r} was used to create experiment {experiment!r}, which has another name or set-up, or "
                "other tags; use a new key for another experiment",
                reason="key_reused",
            )
        return Created(record, repeated=True)

    def _created_before_there_were_spaces(self, store: Writing, key: str) -> Created | None:
        """The same, if it is the same. Of another, which may be somebody else's, nothing is said."""
        experiment = store.created_with(key)
        if experiment is None:
            return None
        try:
            record = store.record(experiment)
            return Created(record, repeated=True) if self._is_of(store, record) else None
        except DamagedRecord:
            return None

    def _is_of(self, store: Writing, record: ExperimentRecord) -> bool:
        """Was it this that was created? Tags may be others by now."""
        if (record.name, record.setup.to_json()) != (self.name, self._said.to_json()):
            return False
        if store.first_tags(record.id) != self.tags:
            return False
        return self.warm is None or _same(store.log(record.id), self.warm.to_json())


@dataclass(frozen=True, slots=True)
class Created:
    """An experiment that was created, and what happened to it at once.

    ``repeated`` says that it was there already, for the same key.
    """

    record: ExperimentRecord
    repeated: bool
    news: tuple[Happening, ...] = ()


def _same(kept: object, given: object) -> bool:
    """Are both the same as JSON?"""
    return json.dumps(kept, sort_keys=True) == json.dumps(given, sort_keys=True)
