"""The engine on a real card, and on one made of NumPy: tiles, proofs that hold, what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Light, Pixels
from linkedbandits.lidar.engines.gpu import engine
from linkedbandits.lidar.engines.gpu.device import on_host
from linkedbandits.lidar.engines.gpu.run import Run
from linkedbandits.lidar.estimators import model_of
from tests.support.cards import needs_card
from tests.support.cupy_on_cpu import OutOfMemoryError, fake_cupy
from tests.support.kernels_on_cpu import needs_compiler
from tests.support.same_law import TASK, cells


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


def test_more_bins_or_samples_than_it_counts_are_refused(card_on_cpu):
    wall = Scene("wall", np.full((2, 2), 3.0), np.ones((2, 2)))
    with pytest.raises(InvalidParameter, match="5000 bins"):
        capture(wall, Task(Sensor(bins=5000), 1.0, 100), engine="gpu")
    with pytest.raises(InvalidParameter, match="samples"):
        capture(wall, Task(Sensor(bins=1000), 1.0, 10**7), engine="gpu")


FIELDS = ("depth", "cycles", "seconds", "confident", "signal", "background", "bin")
WALL = Scene("wall", np.linspace(1.0, 5.0, 15).reshape(3, 5), np.ones((3, 5)))
SMALL = Task(Sensor(bins=48, ambient=1.0), signal=1.0, cycles=12)


@needs_compiler
@pytest.mark.parametrize("method", ["pulse", "shifted"])
def test_tiles_and_cards_change_nothing(monkeypatch, card_on_cpu, method):
    whole = capture(WALL, SMALL, method, seed=5, engine="gpu")
    monkeypatch.setattr(engine, "MOST_PIXELS", 4)
    told = []
    tiled = capture(WALL, SMALL, method, seed=5, engine="gpu", progress=told.append)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(cards=3))
    shared = capture(WALL, SMALL, method, seed=5, engine="gpu")
    for name in FIELDS:
        assert np.array_equal(getattr(whole, name), getattr(tiled, name), equal_nan=True)
        assert np.array_equal(getattr(whole, name), getattr(shared, name), equal_nan=True)
    assert sum(told) == WALL.depth.size
    assert max(told) <= 4
    assert np.isfinite(whole.depth).any()


@needs_compiler
def test_other_seeds_see_other_photons_and_the_estimator_may_be_another(card_on_cpu):
    one, other = (capture(WALL, SMALL, "synchronous", seed=seed, engine="gpu") for seed in (1, 2))
    assert not np.array_equal(one.depth, other.depth, equal_nan=True)
    coates = capture(WALL, SMALL, "synchronous", "coates", seed=1, engine="gpu")
    assert np.array_equal(coates.seconds, one.seconds)
    assert not np.array_equal(coates.depth, one.depth, equal_nan=True)


def test_a_card_without_room_for_a_pixel_says_so(monkeypatch, card_on_cpu):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(free_bytes=1000))
    with pytest.raises(InvalidParameter, match="1,000 free"):
        capture(WALL, SMALL, engine="gpu")


@needs_compiler
def test_another_estimator_gets_what_was_counted(card_on_cpu):
    """With ``coates`` the bin that fired most often of all samples: not what fired alone, nor the samples."""
    made, task = find_acquisition("synchronous", SMALL), SMALL
    light = Light(np.linspace(10.0, 40.0, 15), np.full(15, 1.0), np.full(15, 0.02))
    pixels = Pixels(task, "synchronous", "coates", np.arange(15), light, None, seed=5, number=0)
    run = Run(made, task, model_of(task.sensor, task.signal), light, pixels.numbers, key_of(5))
    run.go()
    samples, fired = on_host(run.pixels.samples()), on_host(run.pixels.fired)
    share = np.where(samples > 0, fired / np.maximum(samples, 1), 0.0)
    found = engine.GpuEngine().measure(pixels, lambda _: None)
    assert np.array_equal(found.depth, np.where(fired.any(axis=1), share.argmax(axis=1) + 0.5, np.nan), equal_nan=True)
    assert found.signal.any()


def no_memory(*_, **__):
    raise OutOfMemoryError("Out of memory allocating 9,437,184,000 bytes (allocated so far: 0 bytes).")


@needs_compiler
def test_memory_that_others_took_meanwhile_is_an_error_that_says_what_to_do(monkeypatch, card_on_cpu):
    monkeypatch.setattr(sys.modules["cupy"], "zeros", no_memory)
    with pytest.raises(InvalidParameter, match=r"card 0 is used up \(Out of memory .*end what else runs there"):
        capture(WALL, SMALL, engine="gpu")


@needs_card
@pytest.mark.parametrize("bins", [1000, 1800, 2000, 4096])
def test_any_number_of_bins_that_is_not_refused_fits_a_multiprocessor(bins):
    task = Task(Sensor(bins=bins, ambient=1.0), signal=1.0, cycles=60, delta=0.1)
    frame = capture(WALL, task, engine="gpu")
    assert np.isfinite(frame.depth).any()


@needs_card
@pytest.mark.parametrize("estimator", ["coates", "matched"])
def test_another_estimator_leaves_the_light_as_it_was(estimator):
    one, other = (capture(WALL, SMALL, "synchronous", name, seed=3, engine="gpu") for name in ("map", estimator))
    assert np.array_equal(one.signal, other.signal)
    assert np.array_equal(one.background, other.background)
    assert not np.array_equal(one.depth, other.depth, equal_nan=True)
