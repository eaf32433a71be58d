"""A store as the library wrote it before there were migrations: schema 1, and nothing said about versions.

How it was made is said beside it, in ``tests/service/data``.

Its experiments are in different states; ``EXPECTED`` has what the library of that time said of each, by name.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

DATA = Path(__file__).parents[1] / "service" / "data"
EXPECTED: dict[str, dict[str, Any]] = json.loads((DATA / "store_of_schema_1.json").read_text(encoding="utf-8"))
_DUMP = (DATA / "store_of_schema_1.sql").read_text(encoding="utf-8")


def make_old_store(url: str) -> None:
    """Put it where ``url`` says; nothing may be there yet."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.executescript(_DUMP)
        return
    with closing(sqlite3.connect(":memory:")) as source, psycopg.connect(url) as target:
        source.executescript(_DUMP)
        target.execute("CREATE SCHEMA linkedbandits")
        target.execute("SET search_path = linkedbandits")
        tables = source.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name != 'experiments'"
        )
        for kind, name, statement in tables.fetchall():
            target.execute(statement.replace("BLOB", "BYTEA").replace("WITHOUT ROWID", ""))
            rows = source.execute(f"SELECT * FROM {name}").fetchall() if kind == "table" else []
            if rows:
                places = ", ".join(["%s"] * len(rows[0]))
                target.cursor().executemany(f"INSERT INTO {name} VALUES ({places})", rows)
