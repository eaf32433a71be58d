"""Counts of made-up pixels for the kernels: with a return, without one, with two, bright, dim and hardly sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkedbandits.lidar.engines.gpu.tables import Tables, make_tables
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.pulse import MeasuredPulse, Pulse
from linkedbandits.lidar.returns import ReturnModel, return_model

MEASURED = MeasuredPulse.from_samples([0, 4, 8, 2, 1, 1, 0, 3, 0], step=0.5)
BACKGROUND, SIGNAL = 0.02, 0.5


@dataclass(frozen=True)
class Pixels:
    """What the kernels are given of some pixels, and what NumPy is."""

    pulse: Pulse | MeasuredPulse
    model: ReturnModel
    samples: np.ndarray
    fired: np.ndarray
    expected: Expected

    @property
    def bins(self) -> int:
        return self.samples.shape[1]

    @property
    def count(self) -> int:
        return self.samples.shape[0]

    @property
    def tables(self) -> Tables:
        return make_tables(self.pulse, self.model)

    @property
    def marks(self) -> np.ndarray:
        return np.diff(self.samples, axis=1, prepend=0).astype(np.int32)

    @property
    def counts(self) -> list[np.ndarray]:
        """Marks and successes, as kernels take them."""
        return [self.marks, self.fired.astype(np.int32)]

    @property
    def model_tables(self) -> list[np.ndarray]:
        tables = self.tables
        return [tables.fire, tables.share, tables.signals, tables.backgrounds, tables.between]

    @property
    def log_prior(self) -> np.ndarray:
        return self.expected.log_prior.astype(np.float32)


def make_pixels(pulse, *, bins=60, count=40, told=False, seed=1) -> Pixels:
    """Every pixel has its own depth, signal, background and number of cycles; some have no or two returns."""
    rng = np.random.default_rng(seed)
    model = return_model(pulse, BACKGROUND, SIGNAL / 10, SIGNAL * 10, told)
    depth = rng.uniform(0, bins, count)
    depth[:4] = [0.01, bins - 0.01, -0.7, bins + 0.4]
    signal = SIGNAL * np.exp(rng.normal(0, 1, count))
    signal[4:7] = 0.0
    background = np.full(count, BACKGROUND) if told else BACKGROUND * np.exp(rng.normal(0, 0.7, count))
    shares = pulse.shares(depth, bins)
    shares[7:10] = (shares[7:10] + pulse.shares(depth[7:10] + 2.4, bins)) / 2
    chance = -np.expm1(-(signal[:, np.newaxis] * shares + background[:, np.newaxis]))
    cycles = (10 ** rng.uniform(1.0, 3.5, (count, 1))).astype(np.int64)
    samples = rng.integers(0, cycles + 1, (count, bins))
    samples[::3] = cycles[::3]
    samples[10] = 0
    samples[11, bins // 3 : bins // 2] = 0
    fired = rng.binomial(samples, chance)
    fired[12] = samples[12]
    fired[13] = 0
    weight = rng.exponential(1.0, (count, bins)) + 0.05
    log_prior = np.log(weight / weight.sum(axis=1, keepdims=True)) - 1e-6
    log_prior = log_prior.astype(np.float32).astype(np.float64)
    expected = Expected(
        log_prior, SIGNAL * np.exp(rng.normal(0, 0.5, count)), BACKGROUND * np.exp(rng.normal(0, 0.3, count))
    )
    if told:
        expected = Expected(log_prior, expected.signal, np.full(count, BACKGROUND))
    return Pixels(pulse, model, samples, fired, expected)
