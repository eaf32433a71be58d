"""The engine on a real card: tiles, proofs that hold, and what is said where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.errors import InvalidParameter, LinkedBanditError, MissingExtra
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.engines.gpu import device, engine
from tests.lidar.engines.test_same_law import NO_CARD
from tests.support.same_law import TASK, cells

needs_card = pytest.mark.skipif(NO_CARD is not None, reason=str(NO_CARD))


@needs_card
@pytest.mark.parametrize("method", ["pulse", "thompson", "free-running", "shifted", "even"])
def test_a_frame_does_not_depend_on_its_tiles(monkeypatch, method):
    scene, task = cells(25), replace(TASK, borrow=True, delta=0.1 if method == "pulse" else None)
    whole = capture(scene, task, method, seed=5, engine="gpu")
    monkeypatch.setattr(engine, "MOST_PIXELS", 37)
    tiled = capture(scene, task, method, seed=5, engine="gpu")
    for name in ("depth", "cycles", "seconds", "confident", "signal", "background"):
        assert np.array_equal(getattr(whole, name), getattr(tiled, name), equal_nan=True)


@needs_card
def test_two_cards_share_the_tiles_and_the_frame_is_the_same(monkeypatch):
    """One card twice: what is on each is its own, as with two."""
    scene, task, told = cells(25), replace(TASK, borrow=True, delta=0.1), []
    whole = capture(scene, task, seed=5, engine="gpu")
    monkeypatch.setattr(engine, "MOST_PIXELS", 37)
    monkeypatch.setattr(engine, "devices", lambda: [0, 0])
    shared = capture(scene, task, seed=5, engine="gpu", progress=told.append)
    assert np.array_equal(whole.depth, shared.depth, equal_nan=True)
    assert np.array_equal(whole.confident, shared.confident)
    assert sum(told) == scene.depth.size


@needs_card
@pytest.mark.statistical
def test_depths_that_are_sure_are_right():
    """Backgrounds three apart, told none of them: of 40,000 pixels at delta 0.05, the share may be 0.053 (1e-3)."""
    rng = np.random.default_rng(6)
    depth = rng.uniform(0.5, 5.5, (200, 200))
    scene = Scene("anything", depth, rng.uniform(0.3, 1.0, depth.shape), 3.0 ** rng.uniform(-0.5, 0.5, depth.shape))
    frame = capture(scene, replace(TASK, delta=0.05, cycles=1500), engine="gpu")
    wrong = frame.confident & ~(np.abs(frame.error) <= frame.task.tolerance * frame.task.sensor.bin_depth)
    assert frame.confident.mean() > 0.5
    assert wrong.mean() < 0.053


@needs_card
def test_more_bins_or_samples_than_it_counts_are_refused():
    wall = Scene("wall", np.full((2, 2), 3.0), np.ones((2, 2)))
    with pytest.raises(InvalidParameter, match="5000 bins"):
        capture(wall, Task(Sensor(bins=5000), 1.0, 100), engine="gpu")
    with pytest.raises(InvalidParameter, match="samples"):
        capture(wall, Task(Sensor(bins=1000), 1.0, 10**7), engine="gpu")


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(MissingExtra, match=r"linkedbandits\[gpu\]"):
        capture(cells(1), TASK, engine="gpu")


class _Runtime:
    class CUDARuntimeError(Exception):
        pass

    def __init__(self, count):
        self._count = count

    def getDeviceCount(self):
        if self._count is None:
            raise self.CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return self._count


class _Cupy:
    """As much of CuPy as is asked for cards."""

    def __init__(self, count, capability="90"):
        runtime = _Runtime(count)

        class cuda:
            pass

        cuda.runtime = runtime
        cuda.Device = lambda number: type("Device", (), {"compute_capability": capability})
        self.cuda = cuda


@pytest.mark.parametrize(
    ("cupy", "said"),
    [(_Cupy(None), "driver"), (_Cupy(0), "compute capability 8.0"), (_Cupy(1, "75"), "compute capability 8.0")],
)
def test_no_driver_or_too_old_a_card_is_said_plainly(monkeypatch, cupy, said):
    monkeypatch.setattr(device, "import_cupy", lambda: cupy)
    with pytest.raises(LinkedBanditError, match=said) as refused:
        device.devices()
    assert 'engine="compiled"' in str(refused.value)


def test_all_cards_that_can_be_used_are_found(monkeypatch):
    monkeypatch.setattr(device, "import_cupy", lambda: _Cupy(3))
    assert device.devices() == [0, 1, 2]


def test_a_source_has_what_it_includes_in_its_text_and_each_once():
    text = device.source_text("certify.cu")
    assert '#include "' not in text
    assert text.count("constexpr double LEAST_BACKGROUND") == 1
