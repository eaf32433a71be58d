"""For all tests, those in docstrings included: names are the same in every process, and skips can be made failures.

On a user's machine a missing browser, database or extra is a reason to skip, and the test says what is missing. Where a
change is judged it is a hole in the judgement: with LINKEDBANDITS_NO_SKIPS=1 a test that is skipped has failed, unless
it needs a graphics card.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

PAGE = Path(__file__).parent / "tests" / "service" / "page"


def pytest_collection_modifyitems(items):
    """Processes that share tests out know them by their names, which must not have an address in memory in them.

    Tests of the page come first, and so one behind the other, in an order as random as that of all: a browser takes
    long to start.
    """
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} has another name in every process; give its parameters ids")
    items.sort(key=lambda item: PAGE not in item.path.parents)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Files with tests have no examples in docstrings, and to look for some takes as long as to read the file."""
    found = yield
    return [one for one in found if not (isinstance(one, DoctestModule) and file_path.name.startswith("test_"))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that ran, or did not."""
    return _without_skips((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A module that was read, or was not."""
    return _without_skips((yield))


def _without_skips(report):
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and os.environ.get("LINKEDBANDITS_NO_SKIPS") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if "no graphics card: " in str(reason):  # the one thing that cannot be installed
            return report
        report.outcome = "failed"
        report.longrepr = f"{reason}\nNothing may be skipped here: LINKEDBANDITS_NO_SKIPS is set."
    return report
