"""Engines by their names."""

from __future__ import annotations

import sys

import pytest

from linkedbandits.errors import InvalidParameter, LinkedBanditError, UnknownName
from linkedbandits.lidar.engines import ENGINES, find_engine
from linkedbandits.lidar.engines.gpu.engine import GpuEngine
from linkedbandits.lidar.engines.reference import NumpyEngine
from tests.support.cupy_on_cpu import fake_cupy


def test_numpy_is_the_reference():
    assert ENGINES[0] == "numpy"
    assert isinstance(find_engine("numpy", workers=2), NumpyEngine)


def test_gpu_needs_a_card(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    assert isinstance(find_engine("gpu"), GpuEngine)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(cards=0))
    with pytest.raises(LinkedBanditError, match="compute capability"):
        find_engine("gpu")


def test_workers_are_not_ignored(monkeypatch):
    """A card has none, and says so; what compiled makes of them is tested where numba is."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    with pytest.raises(InvalidParameter, match=r'workers=3: engine="gpu" takes all cards .* leave them out'):
        find_engine("gpu", workers=3)


def test_an_unknown_name_is_refused_and_all_are_named():
    with pytest.raises(UnknownName, match="'cuda'; choose one of numpy, compiled, gpu"):
        find_engine("cuda")
