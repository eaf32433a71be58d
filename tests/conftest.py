"""Shared by all tests."""

import gc
import ssl
from functools import cache

import pytest
from hypothesis import settings

# Property tests are the same on every machine and every day; a failure can always be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")

# Every client that is made reads the certificates of all the world, though hardly one of them speaks TLS here.
ssl.create_default_context = cache(ssl.create_default_context)


def pytest_collection_finish():
    """What was imported stays: to look through it for garbage again and again takes long."""
    gc.collect()
    gc.freeze()


LONGEST = (
    "tests/test_site.py",
    "tests/lidar/engines/compiled/test_choosing.py",
    "tests/lidar/engines/compiled/test_certifying.py",
    "tests/cli/test_terminals.py",
)
"""Files with tests that take half a minute each, or that share what takes long to prepare."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The longest come first, whatever the order: one that began last would leave other cores with nothing to do."""
    first = {config.rootpath / name for name in LONGEST}
    items.sort(key=lambda item: item.path not in first)
