"""Extras are asked for by name, and what they do to signals is undone."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

import linkedbandits as lb
from linkedbandits import extras
from linkedbandits.extras import need_polars


def test_without_polars_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lb.MissingExtra, match=r"reading a log needs polars; .* pip install 'linkedbandits\[study\]'"):
        need_polars("reading a log")


def test_signals_are_taken_back_from_polars_when_it_is_first_imported_and_not_later(monkeypatch, tmp_path):
    import_module("polars")
    taken = []
    monkeypatch.setattr(extras, "take_back_signals", lambda: taken.append(1))
    need_polars("this")
    assert taken == []  # it is there already
    (tmp_path / "polars.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "polars")
    need_polars("this")
    assert taken == [1]
