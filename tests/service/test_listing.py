"""Which experiments a list shows, in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.listing import A_PAGE, ListQuery, matching, page_of
from linkedbandits.service.records import ListedExperiment

ROWS = (
    ListedExperiment("a1b2c3", "Gateways", "running", 1.0, 4, 10, "", ("eu", "cards")),
    ListedExperiment("b2c3d4", "mirrors", "paused", 2.0, 4, 30, "", ()),
    ListedExperiment("c3d4e5", "Öfen", "archived", 3.0, 4, 50, "confident", ("eu",)),
    ListedExperiment("d4e5f6", "agents of Gateways", "running", 4.0, 4, 20, "exhausted", ("us",)),
    ListedExperiment("e5f6a7", "old", "running", 5.0, 4, 20, None, ()),
)


def ids(**query):
    return "".join(row.id[0] for row in matching(ROWS, ListQuery(**query)))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "edbac"),
        ({"archived_last": False, "sort": "created"}, "abcde"),
        ({"sort": "created"}, "abdec"),
        ({"sort": "name"}, "dabec"),
        ({"sort": "-name"}, "ebadc"),
        ({"sort": "plays"}, "adebc"),
        ({"sort": "-plays", "archived_last": False}, "cbdea"),
        ({"sort": "status"}, "aebdc"),
        ({"search": "gateways"}, "da"),
        ({"search": "GATE cards"}, "a"),
        ({"search": "ÖF"}, "c"),
        ({"search": "d4e5"}, "d"),
        ({"search": "d4e"}, ""),
        ({"search": "4e5f"}, ""),
        ({"search": "nothing"}, ""),
        ({"tag": "eu"}, "ac"),
        ({"tag": "e"}, ""),
        ({"status": "running"}, "eda"),
        ({"status": "open"}, "ea"),
        ({"status": "decided"}, "d"),
        ({"status": "paused"}, "b"),
        ({"status": "archived"}, "c"),
    ],
    ids=str,
)
def test_a_list_is_searched_filtered_and_sorted(query, found):
    assert ids(**query) == found


@given(st.integers(0, 3 * A_PAGE), st.integers(1, 6))
def test_pages_put_together_are_the_whole_list(count, behind):
    rows = [ListedExperiment(f"{number}", "x", "running", float(number), 0, 0, "", ()) for number in range(count)]
    pages = page_of(rows, ListQuery()).pages
    shown = [row for page in range(1, pages + 1) for row in page_of(rows, ListQuery(page=page)).rows]
    assert shown == matching(rows, ListQuery())
    assert page_of(rows, ListQuery(page=pages + behind)).rows == ()
    assert pages == max(1, (count + A_PAGE - 1) // A_PAGE)
