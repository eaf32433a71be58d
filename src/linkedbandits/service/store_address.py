"""Where a store is: what an address means, and how much of it may be shown.

An address may have a password in it. So one that is refused is not repeated, and what is not certainly the name of a
file is not taken for one: the file would have the password for a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkedbandits.errors import InvalidParameter, MissingExtra

GIVE = "give a file, sqlite:///file or postgresql://user@host/database"
HOW_TO_MAKE_ONE = (
    "name the one you mean with --store or LINKEDBANDITS_STORE, or make one with 'linkedbandits serve' or "
    "'linkedbandits token create'"
)
_SECRETS = ("password", "sslpassword")
_KEYWORD = re.compile(r"\s*[A-Za-z_]+\s*=")
_KEYWORD_WITHIN = re.compile(r"\s(?:host|hostaddr|dbname|user|password|service)\s*=")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_LIKE_AN_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|[^/\\]*:[^/\\]*@")  # one letter may be a drive


@dataclass(frozen=True, slots=True)
class FileAddress:
    """A store in a file."""

    path: Path


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseAddress:
    """A store in PostgreSQL: what its library is told."""

    conninfo: str


def read_address(given: str) -> FileAddress | DatabaseAddress:
    """What an address means, or that it is none.

    >>> read_address("experiments.sqlite3")
    FileAddress(path=PosixPath('experiments.sqlite3'))
    >>> read_address("host=db dbname=live password=secret").conninfo
    'host=db dbname=live password=secret'
    """
    if _KEYWORD.match(given):
        return DatabaseAddress(given)
    scheme = _SCHEME.match(given)
    if scheme is not None:
        rest = given[scheme.end() + 3 :]
        if scheme[0] == "sqlite" and rest.startswith("/") and len(rest) > 1:
            return FileAddress(Path(rest.removeprefix("/")))
        if scheme[0] in ("postgresql", "postgres"):
            return DatabaseAddress(given)
        raise InvalidParameter(f"{scheme[0]}:// is no store; {GIVE}")
    if not given.strip() or _KEYWORD_WITHIN.search(given) or _LIKE_AN_ADDRESS.match(given):
        raise InvalidParameter(
            f"the address of the store, which is not shown as it may have a password, is no store; {GIVE}. For a file "
            "that has such a name give ./NAME"
        )
    return FileAddress(Path(given))


def settings_of(address: DatabaseAddress) -> dict[str, Any]:
    """What the address of a database says, one by one; or what is wrong with it, without repeating any of it."""
    try:
        import psycopg  # an extra
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise MissingExtra(
            "a PostgreSQL store needs psycopg; install it with: pip install 'linkedbandits[service]'"
        ) from error
    try:
        found: dict[str, Any] = conninfo_to_dict(address.conninfo)
    except psycopg.ProgrammingError:
        raise _unreadable() from None  # its words repeat part of the address
    port_is_none = re.fullmatch(r"[\d,]*", str(found.get("port") or "")) is None
    in_a_url = _SCHEME.match(address.conninfo) is not None
    if port_is_none or "@" in str(found.get("host")) or (in_a_url and "@" in str(found.get("dbname"))):
        raise _unreadable()  # part of a password was taken for something else, and errors would repeat it
    return found


def _unreadable() -> InvalidParameter:
    return InvalidParameter(
        "the address of the PostgreSQL store cannot be read; in postgresql://user:password@host:port/database write "
        "the signs @ : / and % of a password as %40 %3A %2F and %25, and in host=... password=... put one with blanks "
        "in single quotes. For a file with such a name give ./NAME"
    )


def secrets_of(settings: dict[str, Any]) -> list[str]:
    """The passwords among what an address says."""
    return [str(settings[name]) for name in _SECRETS if settings.get(name)]


def has_password(given: str) -> bool:
    """Is there a password in the address?"""
    address = read_address(given)
    return isinstance(address, DatabaseAddress) and bool(secrets_of(settings_of(address)))


def without_password(given: str) -> str:
    """A store's address as it may be shown: of a database, nothing but user, host, port and name."""
    address = read_address(given)
    if isinstance(address, FileAddress):
        return given
    known = settings_of(address)
    user = f"{known['user']}@" if "user" in known else ""
    port = f":{known['port']}" if "port" in known else ""
    return f"postgresql://{user}{known.get('host', '')}{port}/{known.get('dbname', '')}"
