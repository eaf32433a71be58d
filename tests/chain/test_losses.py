"""An alarm where options differ in how often their attempts are lost."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.chain.losses import loss_alarms


def alarmed(lost: np.ndarray, option: np.ndarray, alpha: float) -> bool:
    """Is there an alarm at any of many looks?"""
    for end in np.unique(np.geomspace(10, lost.size, 25).astype(int)):
        attempts = {label: int((option[:end] == label).sum()) for label in range(3)}
        gone = {label: int(lost[:end][option[:end] == label].sum()) for label in range(3)}
        if loss_alarms(attempts, gone, alpha):
            return True
    return False


@pytest.mark.statistical
def test_false_alarms_are_at_most_alpha_at_any_time():
    """At 0.2: of 100 runs more than 31 with an alarm have probability 0.003 if each has 0.2; it is far below."""
    rng = np.random.default_rng(1)
    runs = 100
    false = sum(alarmed(rng.random(2000) < 0.1, rng.integers(3, size=2000), 0.2) for _ in range(runs))
    assert false <= 31


@pytest.mark.statistical
def test_options_that_differ_are_noticed():
    """With 1, 1 and 5 percent lost of 3,000 attempts the evidence is 10^10 or so; it fails with less than 10^-4."""
    rng = np.random.default_rng(2)
    option = rng.integers(3, size=9000)
    lost = rng.random(9000) < np.array([0.01, 0.01, 0.05])[option]
    attempts = {label: int((option == label).sum()) for label in range(3)}
    gone = {label: int(lost[option == label].sum()) for label in range(3)}
    found = {alarm.option: alarm for alarm in loss_alarms(attempts, gone, 0.01)}
    assert "more often" in found[2].sentence
    assert found[2].kind == "losses"
    assert found[2].lost.mean > 0.03 > found[2].others.mean
    assert str(found[2]).startswith(found[2].sentence)
    assert "timeout" in str(found[2])


def test_the_level_is_shared_among_the_options():
    attempts, gone = {"a": 400, "b": 400}, {"a": 0, "b": 40}
    (one, other) = loss_alarms(attempts, gone, 0.01)
    assert one.level == other.level == 200
    assert loss_alarms(attempts, gone, 2 * 10**-one.log10_evidence / 1.01) == ()
    assert loss_alarms(attempts, gone, 2 * 10**-one.log10_evidence * 1.01) != ()


def test_nothing_lost_is_no_alarm():
    assert loss_alarms({"a": 0, "b": 0}, {"a": 0, "b": 0}, 0.01) == ()
    assert loss_alarms({"a": 1000, "b": 10}, {"a": 0, "b": 0}, 0.01) == ()
