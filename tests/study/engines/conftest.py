"""A study that every engine has to run to the same end, and a listener who kills one of its workers."""

from __future__ import annotations

import os
import signal

import pytest

from linkedbandits.study import run_study
from tests.support.small_study import in_this_process, small_study


@pytest.fixture(scope="session")
def study():
    return small_study(400)


@pytest.fixture(scope="session")
def expected(study, tmp_path_factory):
    """How it ends in this process, without workers."""
    return run_study(study, tmp_path_factory.mktemp("expected"), engine=in_this_process, chunk_blocks=1)


@pytest.fixture
def kill_once():
    """A function that makes a listener, which kills a worker as soon as two chunks are kept."""

    def listener(pids):
        seen = []

        def kept(chunk):
            seen.append(chunk)
            if len(seen) == 2:
                os.kill(pids()[0], signal.SIGKILL)

        return kept

    return listener
