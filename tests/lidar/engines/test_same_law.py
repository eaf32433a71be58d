"""Engines against the reference: the same laws, the same frames however work is shared out, the same refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import capture
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from tests.support.cards import needs_card
from tests.support.kernel_pixels import MEASURED
from tests.support.same_law import LEVEL, SENSOR, TASK, cells, compare, frames

ENGINES = [
    "compiled",
    pytest.param("gpu", marks=needs_card),
]
SLOW_LIGHT = replace(SENSOR, dead_time=10e-9)
SETTINGS = {
    "pulse": (TASK, "pulse"),
    "told": (replace(TASK, told=True), "pulse"),
    "neighbours": (replace(TASK, borrow=True), "pulse"),
    "likely": (replace(TASK, likely=0.95, cycles=600), "pulse"),
    "proof": (replace(TASK, delta=0.05, cycles=600), "pulse"),
    "proof with a limit of the signal": (replace(TASK, delta=0.1, strongest=5.0, cycles=300), "pulse"),
    "seconds": (replace(TASK, seconds=8e-6, cycles=10**5), "pulse"),
    "20 positions": (replace(TASK, sensor=replace(SENSOR, gates=Suffixes(20))), "pulse"),
    "rise": (replace(TASK, sensor=replace(SENSOR, rise=1.5e-9)), "pulse"),
    "windows": (replace(TASK, sensor=replace(SENSOR, gates=Windows(2e-9, 2e-9), rise=0.5e-9)), "pulse"),
    "any subset": (replace(TASK, sensor=replace(SENSOR, gates=AnySubset(), dead_time=0.0)), "pulse"),
    "narrow pulse": (replace(TASK, sensor=replace(SENSOR, fwhm=1.0)), "pulse"),
    "wide pulse": (replace(TASK, sensor=replace(SENSOR, fwhm=9.0)), "pulse"),
    "measured pulse": (replace(TASK, sensor=replace(SENSOR, response=MEASURED)), "pulse"),
    "a return for certain": (replace(TASK, present=True, signal=0.3), "pulse"),
    "many cycles": (replace(TASK, cycles=2500), "pulse"),
    "bright, many cycles": (replace(TASK, signal=20.0, cycles=2500, delta=0.05), "pulse"),
    "likely or proof": (replace(TASK, delta=0.05, likely=0.9, cycles=600), "pulse"),
    "free-running": (replace(TASK, sensor=SLOW_LIGHT), "free-running"),
    "free-running, proof": (replace(TASK, delta=0.1, cycles=300, sensor=SLOW_LIGHT), "free-running"),
    "free-running, seconds": (replace(TASK, seconds=8e-6, cycles=10**5), "free-running"),
    "free-running, neighbours": (replace(TASK, borrow=True, sensor=SLOW_LIGHT), "free-running"),
    "thompson, seconds": (replace(TASK, seconds=4e-6, cycles=10**5), "thompson"),
    "thompson, neighbours": (replace(TASK, borrow=True, cycles=60), "thompson"),
    "thompson": (replace(TASK, cycles=60), "thompson"),
    "synchronous": (TASK, "synchronous"),
    "synchronous, seconds": (replace(TASK, seconds=8e-6, cycles=10**5), "synchronous"),
    "shifted": (replace(TASK, cycles=202), "shifted"),
    "shifted, seconds": (replace(TASK, seconds=8e-6, cycles=10**5), "shifted"),
    "even": (replace(TASK, cycles=300), "even"),
}


WITH_POWER = (
    *("windows", "proof", "neighbours", "seconds", "free-running", "free-running, proof", "thompson", "synchronous"),
    *("shifted", "even"),
)
"""Settings of every method, in which a brighter scene is shown to be noticed."""
LONG = {"many cycles", "bright, many cycles", "likely or proof", "proof", "likely", "windows", "any subset"}
"""Settings with fewer pixels: they take the reference long."""


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_frames_of_an_engine_have_the_law_of_the_reference(setting, engine):
    """False alarms: 1e-4 in each setting, by the choice of the level; what would be noticed, the next test shows."""
    task, method = SETTINGS[setting]
    pixels = 60 if setting in LONG else 150
    if engine == "gpu":
        pixels = 300
    found = compare(*frames(task, method, engine, pixels=pixels))
    assert found.judged > LEVEL, str(found)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "changed",
    [
        replace(TASK, sensor=replace(SENSOR, ambient=6.0)),
        replace(TASK, signal=1.25),
        replace(TASK, cycles=95),
        replace(TASK, sensor=replace(SENSOR, dead_time=60e-9)),
    ],
    ids=["a fifth more ambient light", "a quarter more signal", "a fifth more cycles", "less dead time"],
)
def test_another_law_would_be_noticed(changed, engine):
    scene = cells(150)
    found = compare(capture(scene, TASK, seed=11), capture(scene, changed, seed=12, engine=engine))
    assert found.judged < LEVEL, str(found)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("setting", WITH_POWER)
def test_a_quarter_more_signal_would_be_noticed_with_every_method(setting, engine):
    """With as many pixels as the laws are compared with."""
    task, method = SETTINGS[setting]
    scene = cells(60 if setting in LONG else 150)
    brighter = replace(task, signal=1.25 * task.signal)
    found = compare(capture(scene, task, method, seed=1001), capture(scene, brighter, method, seed=1, engine=engine))
    assert found.judged < LEVEL, str(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("estimator", ["histogram", "coates", "matched", "answer"])
def test_other_estimators_work_on_what_an_engine_counted(engine, estimator):
    found = compare(*frames(TASK, "pulse", engine, pixels=60, estimator=estimator))
    assert found.judged > LEVEL, str(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_seed_gives_the_same_frame_and_another_one_another(engine):
    scene, task = cells(20), replace(TASK, borrow=True, delta=0.1)
    one, again, other = (capture(scene, task, seed=seed, engine=engine) for seed in (3, 3, 4))
    for name in ("depth", "cycles", "seconds", "confident", "signal", "background"):
        assert np.array_equal(getattr(one, name), getattr(again, name), equal_nan=True)
    assert not np.array_equal(one.depth, other.depth, equal_nan=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", ["elimination", "halving", "free", "thompson-wrapped"])
def test_what_an_engine_does_not_simulate_is_refused_with_the_remedy(engine, method):
    with pytest.raises(InvalidParameter, match=r"engine=.numpy."):
        capture(cells(2), TASK, method, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_afterpulses_that_outlast_the_dead_time_are_refused(engine):
    sensor = replace(SENSOR, dead_time=10e-9, afterpulsing=0.1, afterpulse_time=20e-9)
    with pytest.raises(InvalidParameter, match=r"engine=.numpy."):
        capture(cells(2), replace(TASK, sensor=sensor), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_counts_every_pixel(engine):
    scene, seen = cells(5), []
    capture(scene, TASK, engine=engine, progress=seen.append)
    assert sum(seen) == scene.depth.size
