"""What the figures of a study share."""

from __future__ import annotations

from linkedbandits.study.figures import errors_by_delta, plays_by_delta


def test_instances_with_one_delta_or_none_have_no_panel(table):
    rows = [
        {"instance": "two", "delta": 0.1},
        {"instance": "two", "delta": 0.2},
        {"instance": "one", "delta": 0.1},
        {"instance": "effort", "delta": None, "lower_bound": None},
    ]
    for draw in (plays_by_delta, errors_by_delta):
        (axes,) = draw(table(*rows)).axes
        assert axes.get_title(loc="left") == "two (ordered)"
