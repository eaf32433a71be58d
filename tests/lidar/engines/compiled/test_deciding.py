"""Proofs that are tried and that end a pixel, against ``PulseGating._decide``; whole choices are in test_choosing."""

from math import log

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.compiled.choosing import find_level, likeliest_bin, weigh_depths
from linkedbandits.lidar.engines.compiled.deciding import _promises, decide
from linkedbandits.lidar.engines.compiled.memory import ARM, CERTAIN, FRESH, LEVEL, NEXT_TRY, STOPPED
from linkedbandits.lidar.engines.compiled.tables import cell_tables, model_tables, rules
from linkedbandits.lidar.pulse_gating import PRICE, PulseGating
from tests.support.in_python import in_python, memory_of

BINS = 24


def test_stops_arms_and_next_tries_are_those_of_the_reference():
    sensor = Sensor(bins=BINS, ambient=1.0)
    policy = PulseGating(fwhm=sensor.fwhm, background=sensor.background, delta=0.1, sensor=sensor)
    cycles = np.array([25, 60, 90, 120, 150, 200, 400, 400])
    depth = np.array([3.2, 9.9, 15.5, 20.1, 7.7, 12.3, 12.3, 12.3])
    samples = np.tile(cycles[:, np.newaxis], (1, BINS))
    rates = sensor.rates(depth, np.full(8, 0.8))
    rates[6] += sensor.rates([14.9], [0.8])[0]  # two returns that overlap: one is certain, and two are likelier
    successes = np.random.default_rng(3).binomial(samples, -np.expm1(-rates))
    state = policy.start(8, BINS, np.zeros(8, dtype=np.uint64))
    state.samples, state.successes, state.cycles = samples, successes, cycles
    state.next_try[7] = 500  # not due
    likelihood = policy.model.log_likelihood(samples, successes, state.level, rough=True)
    best = (likelihood + state.log_prior.astype(np.float32)[:, np.newaxis, np.newaxis]).max(axis=1)
    level, needed = state.level.copy(), log(10)
    policy._decide(state, best, needed)
    model, cells = model_tables(policy.model, BINS), cell_tables(sensor.pulse)
    rule = rules(growth=0.1, tolerance=1.0, told=False, model=policy.model, bins=BINS, delta=0.1)
    memory = memory_of(model)
    found = np.zeros((8, 4), dtype=np.int64)
    for i in range(8):
        memory.state[:] = 0
        memory.state[LEVEL], memory.state[FRESH], memory.state[NEXT_TRY] = level[i], 1, 500 * (i == 7)
        memory.log_prior[:BINS] = state.log_prior[i]
        top = in_python(weigh_depths)(model, memory, samples[i], successes[i])
        memory.state[ARM] = in_python(likeliest_bin)(memory.of_bin, top)
        in_python(decide)(
            model, cells, rule, memory, samples[i], successes[i], cycles[i], state.log_prior[i],
            state.expected_signal[i], state.expected_background[i], top,
        )  # fmt: skip
        found[i] = memory.state[[ARM, CERTAIN, STOPPED, NEXT_TRY]]
    tried = [2, 3, 4, 5, 6]  # of the others the likeliest bin was found before, and is not changed
    np.testing.assert_array_equal(found[tried, 0], state.arm[tried])
    np.testing.assert_array_equal(found.T[1:], [state.certain, state.stopped, state.next_try])
    assert 2 <= state.certain.sum() <= 6
    assert (state.next_try > cycles)[~state.certain].sum() > 1  # it was tried in vain


def test_a_proof_is_tried_where_no_other_depth_comes_near():
    best = np.full((2, 20), -100.0, dtype=np.float32)
    best[0, 8] = 0.0
    promises = in_python(_promises)
    enough = -(3.0 + PRICE)

    def after(phase, place, value):
        changed = best.copy()
        changed[phase, place] = value
        return promises(changed, changed.max(axis=0), 8, np.float32(0.0), 1.0, 3.0)

    assert after(0, 15, enough - 0.1)
    assert not after(0, 15, enough + 0.1)
    assert not after(1, 9, enough + 0.1)  # half a phase farther away than the tolerance
    assert after(1, 8, -0.1)  # and this is within it


def test_the_first_of_equal_depths_is_that_of_the_first_phase_as_in_the_reference():
    best = np.full((4, 20), -100.0, dtype=np.float32)
    best[3, 8] = best[0, 9] = 0.0
    best[0, 8] = -0.1  # within the tolerance of the one in bin 8, and not of the one in bin 9
    promises = in_python(_promises)
    assert not promises(best, best.max(axis=0), 8, np.float32(0.0), 0.9, 3.0)
    best[3, 8] = -0.2
    best[0, 8], best[1, 9] = -100.0, -0.1
    assert promises(best, best.max(axis=0), 9, np.float32(0.0), 0.9, 3.0)


def test_with_another_background_the_depth_is_looked_for_everywhere():
    """Photons that were thought to be of the background stand out once that is known to be dark."""
    bins = 60
    sensor = Sensor(bins=bins, ambient=0.05 * bins)
    policy = PulseGating(fwhm=sensor.fwhm, background=sensor.background, delta=0.1, sensor=sensor, strongest=50.0)
    samples, successes = np.full((1, bins), 6000), np.full((1, bins), 3)
    samples[0, 10:15], successes[0, 10:15] = 8, 8
    successes[0, 40:45] = [100, 200, 300, 200, 100]
    state = policy.start(1, bins, np.zeros(1, dtype=np.uint64))
    state.samples, state.successes, state.cycles = samples, successes, np.array([6000])
    log_prior, level = state.log_prior[0], int(state.level[0])
    likelihood = policy.model.log_likelihood(samples, successes, state.level, rough=True)
    best = (likelihood + log_prior.astype(np.float32)).max(axis=1)
    state.arm = best.max(axis=1).argmax(axis=1)
    before = int(state.arm[0])
    policy.find_level(state)
    policy._decide(state, best, log(10))
    assert abs(int(state.arm[0]) - before) > 5
    model, cells = model_tables(policy.model, bins), cell_tables(sensor.pulse)
    rule = rules(growth=0.1, tolerance=1.0, told=False, model=policy.model, bins=bins, delta=0.1)
    memory = memory_of(model)
    memory.state[:] = 0
    memory.state[LEVEL], memory.state[FRESH] = level, 1
    memory.log_prior[:bins] = log_prior
    top = in_python(weigh_depths)(model, memory, samples[0], successes[0])
    memory.state[ARM] = in_python(likeliest_bin)(memory.of_bin, top)
    expected = float(state.expected_signal[0]), float(state.expected_background[0])
    in_python(find_level)(model, memory, samples[0], successes[0], expected[1])
    in_python(decide)(model, cells, rule, memory, samples[0], successes[0], 6000, log_prior, *expected, top)
    assert memory.state[ARM] == state.arm[0]
    assert memory.state[NEXT_TRY] == state.next_try[0]
