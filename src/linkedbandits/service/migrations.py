"""The schema of a store, as the steps that make it: what a new store goes through, an old one does from where it is.

A step that was released is never changed. All that are missing run in one transaction at the first start of the version
that brings them, and the store then says which version that was: an earlier one, which does not know the step, refuses
the store and names the version to install. ``{bytes}`` and ``{clustered}`` are the dialect's.
"""

from __future__ import annotations

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
)

SCHEMA_VERSION = len(MIGRATIONS)
"""The step that this version of the library has reached."""
