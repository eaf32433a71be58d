"""What the kernel makes of counts is what PulseGating does: the likeliest bin, worth and chance of all, who may stop.

The kernel's numbers have half precision where they are weights, and sums of two halves where they are likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.tables import make_tables
from linkedbandits.lidar.gating import LEAST_WORTH, STEP, TEMPER, outlook
from linkedbandits.lidar.pulse_gating import PRICE, PulseGating
from linkedbandits.lidar.returns import binary_entropy, shares
from tests.support.kernel_pixels import BACKGROUND, SIGNAL, make_pixels
from tests.support.kernels_on_cpu import needs_compiler, number, run
from tests.support.weighing import fragments_of, library_of

pytestmark = needs_compiler

DELTA, LIKELY = 0.05, 0.6


@dataclass
class Case:
    """Pixels in the middle of an acquisition."""

    policy: PulseGating
    samples: np.ndarray
    fired: np.ndarray
    log_prior: np.ndarray
    expected: np.ndarray
    level: np.ndarray
    arm: np.ndarray
    next_try: np.ndarray
    digits: int
    given: bool

    @property
    def cycles(self):
        return self.samples.max(axis=1)


def make_case(fwhm, *, bins, told=False, prior=True, digits=1, count=32, delta=DELTA, likely=LIKELY):
    policy = PulseGating(
        fwhm, BACKGROUND, SIGNAL / 10, SIGNAL * 10, told=told, delta=delta, likely=likely, tolerance=max(1.0, fwhm / 2)
    )
    pixels = make_pixels(policy.pulse, bins=bins, count=count, told=told)
    rng = np.random.default_rng(5)
    samples = pixels.samples // 2 if digits == 1 else 6 * pixels.samples
    fired = rng.binomial(samples, pixels.fired / np.maximum(pixels.samples, 1))
    assert (samples.max() > 2048) == (digits == 2)
    log_prior = pixels.log_prior.astype(np.float64) if prior else np.full(samples.shape, -log(bins))
    model, expected = policy.model, pixels.expected.background
    level = model.level_of(expected * np.exp(rng.normal(0, 0.3, count)))
    next_try = np.where(rng.random(count) < 0.2, samples.max(axis=1) + 1, 0)
    arm = rng.integers(0, bins, count)
    return Case(policy, samples, fired, log_prior, expected, level, arm, next_try, digits, prior)


def weigh(case, active=None, warps=None):
    """Chance, worth, arm, level, promising, stopped; by the kernel."""
    policy, model = case.policy, case.policy.model
    count, bins = case.samples.shape
    active = np.arange(count, dtype=np.int32) if active is None else active
    likely, certain = policy.likely is not None, policy.delta is not None
    shape = {"digits": case.digits, "likely": likely, "certain": certain, "warps": warps}
    library, warps = library_of("weigh.cu", model, bins, **shape)
    level, arm = case.level.astype(np.int32), case.arm.astype(np.int32)
    worth, chance = np.full((2, count, bins), -7.0, dtype=np.float32)
    promising, stopped = np.zeros((2, count), dtype=np.uint8)
    step = 1 / model.phases.size
    run(
        library,
        "weigh",
        active.size,
        active,
        np.diff(case.samples, axis=1, prepend=0).astype(np.int32),
        case.fired.astype(np.int32),
        case.log_prior.astype(np.float32) if case.given else None,
        case.expected,
        level,
        arm,
        case.cycles.astype(np.int32),
        case.next_try.astype(np.int32),
        *fragments_of(model),
        model.backgrounds,
        model.backgrounds.size,
        TEMPER,
        STEP,
        LEAST_WORTH,
        log(1 / policy.delta) + PRICE if certain else inf,
        max(policy.tolerance - step / 2, step),
        policy.likely or 0.0,
        make_tables(policy.pulse, model).window(policy.tolerance, bins),
        worth,
        chance,
        promising,
        stopped,
        threads=32 * warps,
        shared_bytes=number(library, "weighing_bytes"),
    )
    return chance, worth, arm, level, promising, stopped


def by_numpy(case):
    """The same as PulseGating has it, and how near each pixel is to stopping."""
    policy, model = case.policy, case.policy.model
    count, bins = case.samples.shape
    likelihood = model.log_likelihood(case.samples, case.fired, case.level)
    likelihood += case.log_prior[:, np.newaxis, np.newaxis]
    best = likelihood.max(axis=1)
    worth, chance = outlook(model, likelihood, best, case.level)
    state = policy.start(count, bins, np.zeros(count, dtype=np.uint64))
    state.samples, state.successes, state.cycles = case.samples, case.fired, case.cycles
    state.log_prior, state.expected_background, state.level = case.log_prior, case.expected, case.level
    state.arm = best.max(axis=1).argmax(axis=1)
    arm = state.arm.copy()
    policy.find_level(state)
    state.next_try = case.next_try.copy()
    promising = np.zeros(count, dtype=bool)
    if policy.delta is not None:
        policy._decide(state, best, log(1 / policy.delta))
        promising = state.next_try != case.next_try  # where a proof was tried
    none = model.none_better(case.samples, case.fired, case.level, case.arm + 0.5)
    near, nothing = shares(likelihood, none, policy.tolerance)
    stopped = np.zeros(count, dtype=bool)
    margin = np.full(count, inf)
    if policy.likely is not None:
        stopped = policy._ends(near, nothing) & (case.cycles > 0)
        margin = np.minimum(np.abs(near - policy.likely), np.abs(nothing - (1 - (1 - policy.likely) ** 2)))
    return (chance, worth, arm, state.level, promising, stopped), margin


SHAPES = {
    "usual": {"fwhm": 3.0, "bins": 60},
    "nothing expected": {"fwhm": 3.0, "bins": 61, "prior": False},
    "background told": {"fwhm": 3.0, "bins": 100, "told": True},
    "one phase, two steps": {"fwhm": 8.0, "bins": 75},
    "seven phases": {"fwhm": 1.0, "bins": 50, "prior": False},
    "fourteen phases": {"fwhm": 0.5, "bins": 40},
    "many bins": {"fwhm": 3.0, "bins": 500, "likely": None, "count": 20},
    "two digits": {"fwhm": 3.0, "bins": 60, "digits": 2},
    "no proof": {"fwhm": 3.0, "bins": 60, "delta": None},
    "nothing likely": {"fwhm": 3.0, "bins": 60, "likely": None},
}


ROUNDING = 0.01
"""Of what a return adds to chance and entropy of a bin, a kernel may be off by this share."""


@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernel_weighs_as_numpy_does(shape):
    case = make_case(**SHAPES[shape])
    (its_chance, its_worth, its_arm, its_level, its_promising, its_stopped), margin = by_numpy(case)
    chance, worth, arm, level, promising, stopped = weigh(case)
    alone = -np.expm1(-case.policy.model.backgrounds[case.level])[:, np.newaxis]
    more_entropy = np.abs(binary_entropy(its_chance) - binary_entropy(alone))
    assert (np.abs(chance - its_chance) <= ROUNDING * (np.abs(its_chance - alone) + 1e-5)).all()
    assert (np.abs(worth - its_worth) <= ROUNDING * (more_entropy + 1e-5)).all()
    assert np.array_equal(arm, its_arm)
    assert np.array_equal(level, its_level)
    assert np.array_equal(promising > 0, its_promising)
    clear = margin > 1e-3
    assert np.array_equal(stopped[clear] > 0, its_stopped[clear])
    assert clear.mean() > 0.9
    # It says something: some of all kinds.
    assert np.unique(arm).size > 10
    assert np.unique(level).size > 3 or case.policy.told
    assert 3 < promising.sum() < 25 or case.policy.delta is None
    assert 3 < stopped.sum() < 31 or case.policy.likely is None


def test_pixels_of_a_list_are_weighed_and_no_others_by_any_number_of_warps():
    case = make_case(3.0, bins=300, count=20)  # more than two warps read at once
    active = np.array([17, 3, 9, 0], dtype=np.int32)
    every, some = weigh(case), weigh(case, active, warps=2)
    for one, other in zip(every, some, strict=True):
        np.testing.assert_allclose(other[active], one[active], rtol=1e-4, atol=1e-6)
    others = np.setdiff1d(np.arange(20), active)
    assert (some[0][others] == -7.0).all()
    assert np.array_equal(some[2][others], case.arm[others])


def test_nothing_stops_before_its_first_cycle():
    case = make_case(3.0, bins=60, count=20, delta=None, likely=0.4)
    case.samples[:], case.fired[:] = 0, 0
    case.log_prior[:] = -50.0
    case.log_prior[:, 20] = -1e-6  # as good as known
    assert not weigh(case)[5].any()
    case.samples[:, 50] = 1
    assert weigh(case)[5].any()
