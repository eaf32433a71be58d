"""Every policy keeps the contract, and the contract notices policies that do not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import linkedbandits as lb
from every_policy import EVERY_POLICY, policy_id
from linkedbandits.model import IntArray, Needs
from linkedbandits.policies import POLICIES
from linkedbandits.policies.uniform_sampling import UniformSamplingState
from linkedbandits.policy import SeedArray
from linkedbandits.testing import PolicyCheckFailed, check_policy


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_every_policy_keeps_the_contract(policy):
    check_policy(policy)


def test_every_policy_the_library_ships_is_held_to_it():
    assert {policy.name for policy in EVERY_POLICY} == set(POLICIES)


@dataclass(frozen=True)
class Sound(lb.UniformSampling):
    """A policy of a user's own."""

    name = "sound"


@dataclass
class DrawingState(UniformSamplingState):
    seed: SeedArray
    step: IntArray


@dataclass(frozen=True)
class Drawing(Sound):
    """Draws one arm to sample at each step, from the lane's seed and the step."""

    name = "drawing"

    def start(self, lanes, arms, seeds):
        plain = super().start(lanes, arms, seeds)
        return DrawingState(**vars(plain), seed=seeds, step=np.zeros(lanes, dtype=np.int64))

    def request(self, state):
        needs = np.zeros(state.still_in.shape, dtype=np.int64)
        for lane, (seed, step) in enumerate(zip(state.seed.tolist(), state.step.tolist(), strict=True)):
            needs[lane, np.random.default_rng([seed, step]).integers(needs.shape[1])] = 3
        return Needs(needs)

    def observe(self, state, counts):
        state.step = state.step + 1
        state.successes = state.successes + counts.successes
        state.arm = state.successes.argmax(axis=1)
        state.stopped = state.step >= 12


@dataclass(frozen=True)
class DrawsFromNowhere(Drawing):
    name = "draws-from-nowhere"

    def request(self, state):
        return Needs(np.random.default_rng().integers(1, 9, state.still_in.shape))


@dataclass(frozen=True)
class ChangesWhenAsked(Drawing):
    name = "changes-when-asked"

    def request(self, state):
        request = super().request(state)
        state.step = state.step + 1
        return request


@dataclass(frozen=True)
class MixesLanes(Sound):
    name = "mixes-lanes"

    def request(self, state):
        return Needs(super().request(state).samples + int(state.successes.sum()))


@dataclass(frozen=True)
class Forgets(Sound):
    """Keeps something outside its state, which a saved experiment does not bring back."""

    name = "forgets"

    def start(self, lanes, arms, seeds):
        object.__setattr__(self, "_asked", 0)
        return super().start(lanes, arms, seeds)

    def request(self, state):
        return Needs(np.full(state.still_in.shape, self._asked + 5))

    def observe(self, state, counts):
        object.__setattr__(self, "_asked", self._asked + 1)
        super().observe(state, counts)
        state.stopped = state.samples > 300


@dataclass(frozen=True)
class AsksForNothing(Sound):
    name = "asks-for-nothing"

    def request(self, state):
        return Needs(np.zeros(state.still_in.shape, dtype=np.int64))


@dataclass(frozen=True)
class AsksForHalves(Sound):
    name = "asks-for-halves"

    def request(self, state):
        return Needs(np.full(state.still_in.shape, 2.5))


@dataclass(frozen=True)
class AsksBackwards(Sound):
    name = "asks-backwards"

    def request(self, state):
        return Needs(np.full(state.still_in.shape, -1))


@dataclass(frozen=True)
class NamesNobody(Sound):
    name = "names-nobody"

    def observe(self, state, counts):
        super().observe(state, counts)
        state.arm = np.full_like(state.arm, -1)


@pytest.mark.parametrize("policy", [Sound(samples=20), Drawing(samples=1)], ids=policy_id)
def test_a_users_own_policy_can_keep_it(policy):
    check_policy(policy)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (DrawsFromNowhere(samples=1), "same seed|same twice"),
        (ChangesWhenAsked(samples=1), "must not change the state|same twice"),
        (AsksForNothing(samples=1), "asked for nothing in lane 0; it has to ask or to stop"),
        (AsksForHalves(samples=1), "amounts of type float64"),
        (AsksBackwards(samples=1), "asked for -1 samples"),
        (NamesNobody(samples=1), "the answer must be one of the arms"),
        (MixesLanes(delta=0.1), "alone as beside others"),
        (Forgets(delta=0.1), "alone as beside others|exactly where it stopped|same answers"),
    ],
    ids=policy_id,
)
def test_a_broken_policy_is_caught(policy, said):
    with pytest.raises(PolicyCheckFailed, match=said):
        check_policy(policy)


def test_a_policy_no_linkage_can_play_is_caught():
    class Impossible(Sound):
        asks = "miracles"

    with pytest.raises(PolicyCheckFailed, match="no linkage allows"):
        check_policy(replace(Impossible(samples=2)))
