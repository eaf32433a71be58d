"""Roles with no more rights than they need, and what is said to those with fewer."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import count
from pathlib import Path

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.store import open_store
from tests.support import command_line
from tests.support.old_store import make_old_store
from tests.support.running_service import running_service
from tests.support.store_contract import FIRST

DOCUMENTS = Path(__file__).parents[2] / "docs"
DOCUMENTED = ("linkedbandits_owner", "linkedbandits")
"""The roles of the documents: the one that owns the tables, and the one that serves."""
_numbers = count()


def run(url, *statements):
    with psycopg.connect(url, autocommit=True) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def role(postgres_url):
    """A role that may connect, and nothing else: its name and its address."""
    name = f"app{next(_numbers)}"
    run(postgres_url, f"CREATE ROLE {name} LOGIN")
    yield name, postgres_url.replace("//tester@", f"//{name}@")
    run(postgres_url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def grant(postgres_url, name):
    run(
        postgres_url,
        f"GRANT USAGE ON SCHEMA linkedbandits TO {name}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA linkedbandits TO {name}",
    )


def version_in(url):
    with psycopg.connect(url) as database:
        return database.execute("SELECT version FROM linkedbandits.schema_version").fetchone()[0]


def test_a_role_with_usage_and_rows_alone_serves_a_store_that_is_there(postgres_url, role):
    """With a search path of its own that leads elsewhere, and timeouts under which nothing would end."""
    name, url = role
    open_store(postgres_url).close()
    grant(postgres_url, name)
    run(
        postgres_url,
        "CREATE TABLE linkedbandits.of_somebody_else (id TEXT)",
        f"ALTER ROLE {name} SET search_path = nowhere",
        f"ALTER ROLE {name} SET statement_timeout = '1ms'",
        f"ALTER ROLE {name} SET lock_timeout = '1ms'",
    )
    with running_service(url) as service:
        experiment = service.create()
        service.play(experiment, 4)
        for path in (f"/v1/experiments/{experiment}/view", "/v1/experiments", "/readyz", "/metrics"):
            assert service.http.get(path).status_code == 200
        deleted = service.http.delete(f"/v1/experiments/{experiment}", params={"force": True})
        assert deleted.status_code < 300, deleted.text


def test_a_role_that_owns_the_schema_makes_the_tables_without_rights_on_the_database(postgres_url, role):
    name, url = role
    run(postgres_url, f"CREATE SCHEMA linkedbandits AUTHORIZATION {name}")
    with running_service(url) as service:
        service.play(service.create(), 2)


@pytest.mark.parametrize("schema_is_there", [False, True])
def test_who_may_not_make_the_tables_is_told_who_may(postgres_url, role, schema_is_there):
    if schema_is_there:
        run(postgres_url, "CREATE SCHEMA linkedbandits", f"GRANT USAGE ON SCHEMA linkedbandits TO {role[0]}")
    said = command_line.refusal("serve", "--port", "0", "--store", role[1])
    assert "not there yet, and this role may not change that" in said
    assert "a role that has CREATE on the database, or owns the schema linkedbandits" in said
    assert f"permission denied for {'schema' if schema_is_there else 'database'}" in said


def test_who_may_not_migrate_is_told_who_may_and_starts_when_that_is_done(postgres_url, role):
    name, url = role
    make_old_store(postgres_url)
    grant(postgres_url, name)
    said = command_line.refusal("serve", "--port", "0", "--store", url)
    assert f"of schema 1, and this version needs {SCHEMA_VERSION}, and this role may not change that" in said
    assert "start 'linkedbandits serve' once with the address of a role that owns the tables" in said
    assert version_in(postgres_url) == 1
    open_store(postgres_url).close()
    with pytest.raises(lb.StoreUnavailable, match=r"may not select, insert, update and delete in audit, .* run: GRANT"):
        open_store(url)
    grant(postgres_url, name)
    with closing(open_store(url)) as store:
        store.probe()


def test_the_roles_of_the_documents_serve_migrate_and_serve_again(postgres_url):
    """What the page says, word for word, and then an upgrade: its new tables can be used without another GRANT."""
    (sql,) = re.findall(r"```sql\n(.*?)```", (DOCUMENTS / "operating.md").read_text(encoding="utf-8"), re.DOTALL)
    owner, serving = (postgres_url.replace("//tester@", f"//{name}@") for name in DOCUMENTED)
    run(postgres_url, *sql.split(";"))
    try:
        made = command_line.run("token", "create", "--role", "admin", "--name", "ops", LINKEDBANDITS_STORE=owner)
        assert made.returncode == 0, made.stderr
        with closing(open_store(serving)) as store:
            store.probe()
        schema_8 = ("DROP TABLE curves", "DROP TABLE listing", "UPDATE schema_version SET version = 8")
        run(postgres_url, "SET search_path = linkedbandits", *schema_8)
        with pytest.raises(lb.StoreUnavailable, match="a role that owns the tables"):
            open_store(serving)
        open_store(owner).close()
        with closing(open_store(serving)) as store, store.writing() as tables:
            tables.create(FIRST)
    finally:
        run(postgres_url, *(f"{verb} {name}" for name in DOCUMENTED[::-1] for verb in ("DROP OWNED BY", "DROP ROLE")))


def test_who_may_not_use_the_schema_is_told_what_to_grant(postgres_url, role):
    open_store(postgres_url).close()
    with pytest.raises(lb.StoreUnavailable, match=r"permission denied for schema .* run: GRANT USAGE ON SCHEMA"):
        open_store(role[1])
