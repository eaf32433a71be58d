"""Acquisitions on a card, which is made of NumPy here, are those of the reference with the same random numbers."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.engines.engine import Light
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.engines.gpu import run as module
from linkedbandits.lidar.engines.gpu.device import on_host
from linkedbandits.lidar.engines.gpu.pixel_arrays import NOTHING
from linkedbandits.lidar.engines.gpu.run import Run
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.two_returns import MORE, gain_of_two
from tests.support import by_counter
from tests.support.around import said_around
from tests.support.by_counter import alike
from tests.support.cards import needs_card
from tests.support.kernels_on_cpu import needs_compiler

pytestmark = needs_compiler

KEY = (31, 2**32 - 5)
BINS = 48
SENSOR = Sensor(bins=BINS, ambient=2.0, reach=3.0)
TASK = Task(SENSOR, signal=1.0, cycles=40, borrow=False)
NUMBERS = np.array([3, 1, 2**33], dtype=np.int64)
LIGHT = Light(np.array([30.3, np.nan, 12.8]), np.array([1.5, 1.0, 1.0]), np.array([0.04, 0.03, 0.06]))


def on_card(task, method, around=None, some=slice(None)):
    made = find_acquisition(method, task)
    model = model_of(task.sensor, task.signal, task.strongest, task.told)
    run = Run(made, task, model, LIGHT.take(some), NUMBERS[some], KEY, around)
    run.go()
    return run, acquired_by(run, made)


def acquired_by(run, made):
    """All that was acquired, with its counts and what was expected, on the host."""
    arrays = run.pixels
    samples = on_host(arrays.samples()).astype(np.int64)
    prior = np.zeros((arrays.count, 0))
    if made.gates is not None:
        alike = np.full(samples.shape, -np.log(samples.shape[1]))
        prior = alike if arrays.log_prior is NOTHING else on_host(arrays.log_prior).astype(np.float64)
    return Acquired(
        samples=samples,
        successes=on_host(arrays.fired).astype(np.int64),
        cycles=run.cycles(),
        seconds=run.seconds(),
        bin=run.named().astype(np.int64),
        stopped=on_host(arrays.stopped) > 0,
        proved=on_host(arrays.certain) > 0,
        level=on_host(arrays.level).astype(np.int64),
        log_prior=prior,
    )


def by_reference(task, method, pixel, monkeypatch, around=None):
    one = slice(pixel, pixel + 1)
    around = None if around is None else around.take(one)
    # Its first gate is drawn before it is asked to choose one: a step before the engine's.
    return by_counter.by_reference(
        task, method, LIGHT.take(one), NUMBERS[pixel], KEY, monkeypatch, around, first_draw=1
    )


SECONDS = replace(TASK, seconds=20.5 * SENSOR.period, cycles=10**4)
QUICK = replace(SENSOR, dead_time=5e-9)
EXACT = {
    "synchronous": (TASK, "synchronous"),
    "synchronous, seconds": (SECONDS, "synchronous"),
    "shifted": (TASK, "shifted"),
    "shifted, seconds": (SECONDS, "shifted"),
    "free-running": (TASK, "free-running"),
    "free-running, stops": (replace(TASK, sensor=QUICK, likely=0.9), "free-running"),
    "free-running, proof": (replace(TASK, sensor=QUICK, delta=0.2, cycles=250), "free-running"),
    "free-running, seconds": (SECONDS, "free-running"),
    "thompson": (replace(TASK, cycles=15), "thompson"),
    "thompson, positions": (replace(TASK, cycles=15, sensor=replace(SENSOR, gates=Suffixes(6))), "thompson"),
}
"""Where nothing is chosen by numbers in half precision, all is the same, photon by photon."""
CHOSEN = {
    "pulse": (TASK, "pulse"),
    "pulse, seconds": (SECONDS, "pulse"),
    "rise": (replace(TASK, sensor=replace(SENSOR, rise=2.5 * SENSOR.bin_seconds)), "pulse"),
    "windows": (replace(TASK, sensor=replace(SENSOR, gates=Windows(2e-9, 2e-9), rise=0.5e-9)), "pulse"),
    "any subset": (replace(TASK, sensor=replace(SENSOR, gates=AnySubset(), dead_time=0.0)), "pulse"),
    "proof": (replace(TASK, delta=0.2, cycles=150), "pulse"),
}
"""Where two gates are as good as each other, rounding chooses: then a pixel sees something else from there on."""
EVERY = EXACT | CHOSEN


@pytest.mark.parametrize("setting", EVERY)
def test_it_acquires_what_the_reference_acquires(setting, card_on_cpu, monkeypatch):
    task, method = EVERY[setting]
    _, found = on_card(task, method)
    same = [alike(found, by_reference(task, method, pixel, monkeypatch), pixel) for pixel in range(NUMBERS.size)]
    assert all(same) if setting in EXACT else any(same)
    assert found.successes.any()
    assert found.stopped.any() == (task.delta is not None or task.likely is not None)
    assert found.proved.any() == (task.delta is not None)
    if task.seconds is not None:
        assert (found.seconds <= task.seconds).all()
        assert (found.seconds > 0.5 * task.seconds).all()


def test_pixels_begin_with_what_was_found_around_them(card_on_cpu, monkeypatch):
    rng = np.random.default_rng(1)
    shape = (NUMBERS.size, 4)
    around = Around(
        depth=np.nan_to_num(LIGHT.depth)[:, np.newaxis] + rng.normal(0, 1, shape),
        trust=np.full(shape, 0.2),
        signal=LIGHT.signal,
        background=LIGHT.background,
        group=np.array([1, 0, 1]),
        shares=rng.dirichlet(np.ones(2), (2, 4)),
        widths=np.array([1.5, 3.0]),
    )
    task = replace(TASK, cycles=20)
    _, found = on_card(task, "pulse", around)
    its = [by_reference(task, "pulse", pixel, monkeypatch, around) for pixel in range(NUMBERS.size)]
    assert any(alike(found, each, pixel) for pixel, each in enumerate(its))
    np.testing.assert_allclose(found.log_prior, np.concatenate([each.log_prior for each in its]), rtol=1e-6)
    assert not any(alike(on_card(task, "pulse")[1], each, pixel) for pixel, each in enumerate(its))


def check_proofs(pixels, cycles):
    """Certificates of a card on the counts that it acquired are those of the reference on the same counts."""
    rng = np.random.default_rng(8)
    task = replace(TASK, cycles=cycles, delta=0.2)
    light = Light(rng.uniform(5, 43, pixels), rng.uniform(0.3, 2, pixels), rng.uniform(0.02, 0.08, pixels))
    made, model = find_acquisition("pulse", task), model_of(SENSOR, task.signal, task.strongest, task.told)
    run = Run(made, task, model, light, np.arange(pixels), KEY, said_around(light.depth))
    run.go()
    arrays, acquired = run.pixels, acquired_by(run, made)
    arrays.promising[:] = 1
    arrays.certain[:] = 0
    module._GateByGate(run)._certify(run._cupy.arange(pixels, dtype=run._cupy.int32), made.gates, log(1 / task.delta))
    certain, arm = on_host(arrays.certain) > 0, on_host(arrays.arm)
    expected = Expected(
        acquired.log_prior, *(on_host(each) for each in (arrays.expected_signal, arrays.expected_background))
    )
    counts = acquired.samples, acquired.successes
    depth = model.estimate(*counts, acquired.level, acquired.log_prior)
    proof = Certificate(SENSOR.pulse, task.tolerance, made.gates.signal_limit, model.told)
    its, _ = proof.attempt(*counts, depth, log(1 / task.delta), expected)
    its &= gain_of_two(SENSOR.pulse, *counts, depth, task.tolerance, *proof.fit_at(*counts, depth, expected)) <= MORE
    assert np.array_equal(certain, its)
    assert np.array_equal(arm, np.floor(depth))
    assert 0.1 < certain.mean() < 0.9


def test_proofs_are_those_of_the_reference_on_the_same_counts(card_on_cpu):
    check_proofs(pixels=12, cycles=150)


@needs_card
def test_they_are_on_a_real_card():
    check_proofs(pixels=400, cycles=150)


@pytest.mark.parametrize("method", ["synchronous", "shifted", "even", "free-running", "thompson", "pulse"])
def test_a_pixel_does_not_depend_on_those_beside_it(method, card_on_cpu):
    task = replace(TASK, cycles=12)
    _, every = on_card(task, method)
    for pixel in range(NUMBERS.size):
        assert alike(every, on_card(task, method, some=slice(pixel, pixel + 1))[1], pixel)


@pytest.mark.parametrize("method", ["synchronous", "even", "pulse"])
def test_what_it_finds_is_what_the_reference_finds_in_its_counts(method, card_on_cpu):
    run, acquired = on_card(TASK, method)
    found, its = run.find(), find(find_acquisition(method, TASK), TASK, "map", acquired)
    for name in found._fields:
        np.testing.assert_allclose(getattr(found, name), getattr(its, name), rtol=1e-5, atol=1e-6, err_msg=name)
    assert np.isfinite(found.depth).any()


def test_even_samples_take_the_time_of_their_cycles(card_on_cpu):
    run, acquired = on_card(TASK, "even")
    assert (acquired.cycles == TASK.cycles).all()
    np.testing.assert_allclose(run.seconds(), SENSOR.elapsed(acquired.cycles, acquired.successes))
    means = acquired.successes / np.maximum(acquired.samples, 1)
    assert np.array_equal(run.named(), means.argmax(axis=1))


def test_windows_are_searched_in_parts_that_fit_into_memory(card_on_cpu, monkeypatch):
    task, method = CHOSEN["windows"]
    task = replace(task, cycles=8)
    _, whole = on_card(task, method)
    monkeypatch.setattr(module, "SEARCHED_AT_ONCE", 2)
    _, parts = on_card(task, method)
    assert np.array_equal(whole.samples, parts.samples)
