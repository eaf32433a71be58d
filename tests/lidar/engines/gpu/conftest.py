"""A card where there is none."""

from __future__ import annotations

import sys

import pytest

from linkedbandits.lidar.engines.gpu.device import program, second_stream
from linkedbandits.lidar.engines.gpu.device_tables import device_tables
from tests.support.cupy_on_cpu import fake_cupy


@pytest.fixture
def card_on_cpu(monkeypatch):
    """CuPy made of NumPy, kernels compiled for the CPU; nothing of it is kept for a real card."""
    cupy = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for kept in (program, second_stream, device_tables):
        kept.cache_clear()
    yield cupy
    for kept in (program, second_stream, device_tables):
        kept.cache_clear()
