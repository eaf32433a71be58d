"""The connections to databases that a test makes, and whether they were closed."""

from __future__ import annotations

import sqlite3

import psycopg


def noting(connect, made):
    def connect_and_note(*arguments, **options):
        made.append(connect(*arguments, **options))
        return made[-1]

    return connect_and_note


def is_open(connection):
    if isinstance(connection, psycopg.Connection):
        return not connection.closed
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:  # "Cannot operate on a closed database."
        return False
    return True


def check_that_all_were_closed(connections):
    assert connections  # else there was nothing to close
    assert not any(is_open(connection) for connection in connections)
