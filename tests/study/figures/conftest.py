"""Tables made by hand, in the columns that a study's results have."""

from __future__ import annotations

import pytest

pl = pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")

DEFAULTS = {
    "instance": "i",
    "family": "f",
    "arms": 2,
    "policy": "p",
    "linkage": "ordered",
    "delta": 0.1,
    "trials": 100,
    "plays_mean": 1000.0,
    "error_rate": 0.0,
    "error_low": 0.0,
    "error_high": 0.04,
    "sure_and_wrong": 0.0,
    "sure_low": 0.0,
    "sure_high": 0.04,
    "confident": 1.0,
    "lower_bound": 100.0,
    "bound_as_told": 100.0,
    "told": None,
}


@pytest.fixture
def table():
    """A function that turns rows with a few columns into a whole table; bands are 10 % to both sides."""

    def make(*rows):
        whole = [{**DEFAULTS, **row} for row in rows]
        for number, row in enumerate(whole):
            row.setdefault("cell", f"cell-{number}")
            row.setdefault("plays_low", 0.9 * row["plays_mean"])
            row.setdefault("plays_high", 1.1 * row["plays_mean"])
        return pl.DataFrame(whole)

    return make


@pytest.fixture
def line():
    """A function that finds the line with a label in a panel, as a list of its points."""

    def find(axes, label):
        (found,) = [line for line in axes.get_lines() if line.get_label() == label]
        return list(zip(found.get_xdata(), found.get_ydata(), strict=True))

    return find
