"""What a database's driver says, in the library's words: a store that failed is told from a wrong statement."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.store import open_store
from tests.support.store_contract import FIRST


def test_a_mistake_of_ours_is_not_the_stores(store_url):
    store = open_store(store_url)
    with store.writing() as tables:
        tables.create(FIRST)
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)), store.writing() as tables:
        tables.create(FIRST)
    with store.reading() as tables:
        assert tables.records() == [FIRST]
    store.close()


class Failure(Exception):
    pass


class Mistake(Failure):
    pass


ERRORS = DriverErrors(Failure, (Mistake,), lambda error: lb.StoreUnavailable(f"away ({error})"))


def test_a_failure_of_the_driver_is_explained_and_is_the_cause():
    failure = Failure("disk")
    with pytest.raises(lb.StoreUnavailable, match=r"away \(disk\)") as raised, ERRORS:
        raise failure
    assert raised.value.__cause__ is failure


@pytest.mark.parametrize("error", [Mistake("twice"), ZeroDivisionError(), KeyboardInterrupt()], ids=repr)
def test_a_mistake_and_what_is_not_the_driver_s_pass_as_they_are(error):
    with pytest.raises(type(error)) as raised, ERRORS:
        raise error
    assert raised.value is error
    assert error.__cause__ is None


def test_nothing_happens_where_nothing_fails():
    with ERRORS:
        done = True
    assert done
