"""The certificate of machine code against the reference, on the same counts."""

from math import inf, log

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.certificate import Certificate, _Counts
from linkedbandits.lidar.engines.compiled import tables
from linkedbandits.lidar.engines.compiled.certifying import attempt, count_up, fit_at, interval
from linkedbandits.lidar.engines.compiled.doubting import gain_of_two
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import MeasuredPulse, Pulse
from linkedbandits.lidar.two_returns import gain_of_two as gain_by_numpy
from tests.support.kept_machine_code import kept

BINS = 60
PULSES = {
    "wide": Pulse(8.0),
    "narrow": Pulse(0.7),
    "usual": Pulse(3.0),
    "measured": MeasuredPulse.from_samples([0, 4, 8, 2, 1, 1, 0], step=0.9),
}


@kept
def certify(cells, samples, successes, prior, centre, needed, tolerance, strongest, told, within, signal, background):
    out = np.empty((8, len(centre)))
    for i in range(len(centre)):
        counted = count_up(cells, samples[i], successes[i], told, signal[i], background[i])
        held, times, mean = attempt(cells, counted, prior[i], centre[i], needed, tolerance, strongest, within)
        low, high = interval(cells, counted, prior[i], centre[i], needed, tolerance, strongest, within)
        strength, level = fit_at(cells, counted, prior.shape[1], centre[i])
        two = gain_of_two(cells.pulse, samples[i], successes[i], centre[i], tolerance, strength, level)
        for row, value in enumerate((1.0 * held, times, mean, low, high, strength, level, two)):
            out[row, i] = value
    return out


def random_counts(pulse, seed):
    """Pixels of all kinds: dim and bright, with and without a return, at the ends of the range, and extreme ones."""
    generator = np.random.default_rng(seed)
    depth = np.concatenate([generator.uniform(5, 55, 50), [0.02, 0.6, 59.2, 59.98, 30.0, 30.5]])
    signal = np.exp(generator.uniform(log(0.05), log(8), depth.size)) * (generator.random(depth.size) > 0.15)
    background = np.exp(generator.uniform(log(1e-4), log(0.2), depth.size))
    rates = signal[:, np.newaxis] * pulse.shares(depth, BINS) + background[:, np.newaxis]
    cycles = generator.integers(1, 3000, (depth.size, 1))
    samples = generator.binomial(cycles, generator.uniform(0.2, 1.0, (depth.size, BINS)))
    successes = generator.binomial(samples, -np.expm1(-rates))
    successes[0] = 0  # no photons
    samples[1] = successes[1] = 0  # never looked
    successes[2] = samples[2]  # fires always
    successes[3, 20:24] = samples[3, 20:24]  # saturated bins
    return samples.astype(np.int64), successes.astype(np.int64), depth, background


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("name", PULSES)
def test_proofs_and_intervals_are_those_of_the_reference(name, told, within):
    pulse = PULSES[name]
    tolerance, needed = max(1.0, pulse.fwhm / 2), log(20)
    for strongest in (inf, 10.0):
        samples, successes, depth, background = random_counts(pulse, 3)
        generator = np.random.default_rng(9)
        prior = np.log(generator.dirichlet(np.ones(BINS), depth.size))
        expected = Expected(prior, np.full(depth.size, 0.5), background * (1.0 if told else 1.7))
        certificate = Certificate(pulse, tolerance, strongest, told, within)
        held, times = certificate.attempt(samples, successes, depth, needed, expected)
        low, high = certificate.interval(samples, successes, depth, needed, expected)
        _, mean = _Counts(pulse, samples, successes, expected, told).mean(depth, tolerance)
        fit = certificate.fit_at(samples, successes, depth, expected)
        two = gain_by_numpy(pulse, samples, successes, depth, tolerance, *fit)
        found = certify(
            tables.cell_tables(pulse), samples, successes, prior, depth, needed, tolerance, strongest, told, within,
            expected.signal, expected.background,
        )  # fmt: skip
        np.testing.assert_array_equal(found[0] > 0, held)
        np.testing.assert_allclose(found[2], mean, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(found[1], times, rtol=1e-5)
        np.testing.assert_allclose(found[3:5], [low, high], atol=1e-9)
        np.testing.assert_allclose(found[5:7], fit, rtol=1e-6)
        np.testing.assert_allclose(found[7], two, rtol=1e-6, atol=1e-5)
    assert 0 < held.sum() < held.size or told  # the pixels are such that something can go wrong
