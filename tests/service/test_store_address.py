"""What the address of a store means, and that no password in it is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.service.store import open_store
from linkedbandits.service.store_address import (
    DatabaseAddress,
    FileAddress,
    has_password,
    read_address,
    settings_of,
    without_password,
)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("a.sqlite", "a.sqlite"),
        ("sqlite:///a.sqlite", "a.sqlite"),
        ("sqlite:////var/a.sqlite", "/var/a.sqlite"),
        ("./host=db", "host=db"),
        ("/srv/user=me/a b.sqlite", "/srv/user=me/a b.sqlite"),
        ("50%.sqlite", "50%.sqlite"),
        ("./a:b@c", "a:b@c"),
        ("C:\\a.sqlite", "C:\\a.sqlite"),
        ("what?mode=memory#x", "what?mode=memory#x"),
    ],
)
def test_files(given, path):
    assert read_address(given) == FileAddress(Path(path))
    assert (without_password(given), has_password(given)) == (given, False)


@pytest.mark.parametrize(
    ("given", "shown", "password"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me@host/db", True),
        ("postgres://me@host:5433/db", "postgresql://me@host:5433/db", False),
        ("host=db dbname=live user=me password=secret", "postgresql://me@db/live", True),
        (" password = 'se cret' host = db", "postgresql://db/", True),
        ("service=live", "postgresql:///", False),
        ("host=db sslpassword=secret sslrootcert=file://x", "postgresql://db/", True),
        ("postgresql://me:p%40ss%3A%2F@host/db", "postgresql://me@host/db", True),
    ],
)
def test_databases(given, shown, password):
    assert read_address(given) == DatabaseAddress(given)
    assert (without_password(given), has_password(given)) == (shown, password)
    assert "secret" not in repr(read_address(given))


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "mysql://me:secret@host/db",
        "postgresql:me:secret@host/db",
        "me:secret@host/db",
        "me_1:secret@host/db",
        "live host=db password=secret",
        "sqlite:a",
    ],
)
def test_what_is_neither_is_refused_and_no_file_is_made_of_it(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (open_store, read_address):
        with pytest.raises(
            lb.InvalidParameter, match="is no store; give a file, sqlite:///file or postgresql://"
        ) as caught:
            use(given)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "given",
    [
        "host=db password=my secret",  # the driver: missing "=" after "secret"
        "host=db passwort=secret",
        "postgresql://me:se/secret@host/db",  # the driver: invalid port number "se"
        "postgresql://me:12/secret@host/db",
        "postgresql://me:x@secret@host/db",  # the driver: no host "secret@host"
        "postgresql://me:%zzsecret@host/db",
        "postgresql://host/db?passwort=secret",
        "arms=3.sqlite",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_with_how_to_write_it(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (open_store, without_password, lambda text: settings_of(DatabaseAddress(text))):
        with pytest.raises(lb.InvalidParameter, match=r"cannot be read; .* as %40 %3A %2F and %25") as caught:
            use(given)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
