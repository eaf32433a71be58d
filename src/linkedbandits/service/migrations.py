"""The schema of a store, as the steps that make it: what a new store goes through, an old one does from where it is.

A step that was released is never changed. All that are missing run in one transaction at the first start of the version
that brings them, and the store then says which version that was: an earlier one, which does not know the step, refuses
the store and names the version to install. ``{bytes}`` and ``{clustered}`` are the dialect's.
"""

from __future__ import annotations

import re

MIGRATIONS: tuple[str, ...] = (
    # 1: stores from before there were steps have these tables already.
    """
    CREATE TABLE IF NOT EXISTS experiments (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, setup TEXT NOT NULL, status TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL, head BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS journal (
        experiment TEXT NOT NULL REFERENCES experiments(id), seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
        kind TEXT NOT NULL, key TEXT, body TEXT NOT NULL, PRIMARY KEY (experiment, seq)) {clustered};
    CREATE UNIQUE INDEX IF NOT EXISTS journal_keys ON journal (experiment, key) WHERE key IS NOT NULL;
    CREATE TABLE IF NOT EXISTS tuples (
        experiment TEXT NOT NULL REFERENCES experiments(id), number BIGINT NOT NULL, arms {bytes} NOT NULL,
        PRIMARY KEY (experiment, number)) {clustered};
    CREATE TABLE IF NOT EXISTS snapshots (
        experiment TEXT PRIMARY KEY REFERENCES experiments(id), seq BIGINT NOT NULL, body {bytes} NOT NULL);
    CREATE TABLE IF NOT EXISTS answers (
        experiment TEXT NOT NULL REFERENCES experiments(id), segment BIGINT NOT NULL, hits {bytes} NOT NULL,
        PRIMARY KEY (experiment, segment));
    CREATE TABLE IF NOT EXISTS history (
        experiment TEXT NOT NULL REFERENCES experiments(id), seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
        plays BIGINT NOT NULL, PRIMARY KEY (experiment, seq)) {clustered};
    CREATE TABLE IF NOT EXISTS tokens (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
        created_at DOUBLE PRECISION NOT NULL);
    CREATE TABLE IF NOT EXISTS revoked_tokens (id TEXT PRIMARY KEY)
    """,
    # 2: which version of the library wrote what.
    """
    ALTER TABLE schema_version ADD COLUMN library TEXT;
    ALTER TABLE experiments ADD COLUMN written_by TEXT
    """,
    # 3: the log that an experiment begins with.
    """
    ALTER TABLE experiments ADD COLUMN log {bytes}
    """,
    # 4: what first attempts took and cost, as every process of a chain last told it.
    """
    CREATE TABLE expenses (
        experiment TEXT NOT NULL REFERENCES experiments(id), source TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
        tries BIGINT NOT NULL, body {bytes}, PRIMARY KEY (experiment, source)) {clustered}
    """,
    # 5: the idempotency key that an experiment was created with.
    """
    ALTER TABLE experiments ADD COLUMN creation_key TEXT;
    CREATE UNIQUE INDEX creation_keys ON experiments (creation_key)
    """,
    # 6: who did what; and tokens that are limited, in a table of their own: a version that does not know of limits, and
    # still runs, does not know such a token at all.
    """
    CREATE TABLE audit (
        id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, action TEXT NOT NULL, actor TEXT NOT NULL, subject TEXT,
        details TEXT NOT NULL) {clustered};
    CREATE INDEX audit_subjects ON audit (subject, id) WHERE subject IS NOT NULL;
    CREATE INDEX audit_actions ON audit (action, id);
    CREATE TABLE limited_tokens (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
        created_at DOUBLE PRECISION NOT NULL, scope TEXT NOT NULL)
    """,
    # 7: webhooks, and the messages on their way to them. A message may outlive what it refers to: no references.
    """
    CREATE TABLE webhooks (
        id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, experiment TEXT, events TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL);
    CREATE TABLE deliveries (
        webhook TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, experiment TEXT, at DOUBLE PRECISION NOT NULL,
        body TEXT NOT NULL, attempts INTEGER NOT NULL, next_at DOUBLE PRECISION, state TEXT NOT NULL, said TEXT,
        PRIMARY KEY (webhook, id));
    CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL
    """,
    # 8: servers that share a store, and which of them owns an experiment. There is no reference to experiments: to
    # check it would wait for whoever has the experiment locked.
    """
    CREATE TABLE IF NOT EXISTS servers (
        id TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL, seen_at DOUBLE PRECISION NOT NULL);
    CREATE TABLE IF NOT EXISTS owners (experiment TEXT PRIMARY KEY, server TEXT NOT NULL)
    """,
    # 9: what a list sorts and searches by, and what was known of the arms as time went on.
    """
    CREATE TABLE listing (
        experiment TEXT PRIMARY KEY REFERENCES experiments(id) ON DELETE CASCADE, plays BIGINT NOT NULL,
        verdict TEXT, tags TEXT NOT NULL, first_tags TEXT NOT NULL) {clustered};
    INSERT INTO listing (experiment, plays, verdict, tags, first_tags) SELECT id, COALESCE(
        (SELECT MAX(plays) FROM history WHERE history.experiment = experiments.id), 0), NULL, '[]', '[]'
        FROM experiments;
    CREATE TABLE curves (
        experiment TEXT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE, seq BIGINT NOT NULL,
        at DOUBLE PRECISION NOT NULL, plays BIGINT NOT NULL, body {bytes} NOT NULL,
        PRIMARY KEY (experiment, seq)) {clustered}
    """,
)

SCHEMA_VERSION = len(MIGRATIONS)
"""The step that this version of the library has reached."""
TABLES = ("schema_version", *re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", " ".join(MIGRATIONS)))
"""All that the steps make, and the one that says how far they have come."""
