"""A real service for the tests of a module, and one of its own for tests that change what others would notice."""

import pytest

from tests.support.running_service import running_service


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running_service(str(tmp_path_factory.mktemp("service") / "experiments.sqlite3")) as running:
        yield running


@pytest.fixture
def own_service(tmp_path):
    with running_service(str(tmp_path / "experiments.sqlite3")) as running:
        yield running
