"""Frames of polars and pandas, and what is said where these are missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.display import WithFrames, labels, pixels


class Rows(WithFrames):
    def _columns(self):
        return {"name": ["a", "b"], "value": np.array([1.0, 2.0])}


def test_a_polars_frame_has_the_columns():
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    assert Rows().to_polars().to_dicts() == [{"name": "a", "value": 1.0}, {"name": "b", "value": 2.0}]


def test_a_pandas_frame_has_the_columns(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: ("frame", columns)))
    kind, columns = Rows().to_pandas()
    assert (kind, columns["name"], columns["value"].tolist()) == ("frame", ["a", "b"], [1.0, 2.0])


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lb.MissingExtra, match=r"to_pandas\(\) needs pandas; install it with: pip install pandas$"):
        Rows().to_pandas()
    with pytest.raises(lb.MissingExtra, match=r"to_polars\(\) needs polars; .* pip install 'linkedbandits\[study\]'"):
        Rows().to_polars()


def test_labels_of_several_kinds_are_text():
    assert labels([True, 1]) == ["True", "1"]
    assert labels([]) == []


def test_pixels_have_their_places_row_by_row():
    columns = pixels({"depth": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])})
    assert {name: column.tolist() for name, column in columns.items()} == {
        "row": [0, 0, 0, 1, 1, 1],
        "column": [0, 1, 2, 0, 1, 2],
        "depth": [1, 2, 3, 4, 5, 6],
    }
