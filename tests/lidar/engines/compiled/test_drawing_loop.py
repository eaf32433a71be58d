"""Gates at depths that are drawn: photon by photon what ``ThompsonGating`` acquires with the same draws."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.drawing_loop import open_at, put_posterior
from linkedbandits.lidar.engines.compiled.memory import FRESH, LEVEL
from linkedbandits.lidar.engines.compiled.tables import model_tables, rules, timing_of
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.pulse import Pulse
from tests.support.by_counter import alike
from tests.support.in_python import in_python, memory_of
from tests.support.kernel_pixels import make_pixels
from tests.support.one_by_one import SENSOR, TASK, in_machine_code, one_by_one


@pytest.mark.parametrize("positions", [None, 6])
def test_it_acquires_what_the_reference_acquires(positions, monkeypatch):
    task = replace(TASK, cycles=25, sensor=replace(SENSOR, gates=Suffixes(positions)))
    found = in_machine_code(task, "thompson")
    for pixel, its in enumerate(one_by_one(task, "thompson", monkeypatch)):
        assert alike(found, its, pixel)
    assert not (found.samples == found.samples[:, :1]).all(axis=1).any()  # gates opened later than at the first bin


def test_a_gate_opens_before_the_depth_that_was_drawn_where_it_may():
    sensor = replace(SENSOR, gates=Suffixes(6))
    timing, starts = timing_of(sensor), sensor.gates.starts(SENSOR.bins)
    model = make_pixels(Pulse(3.0), count=14).model
    rule = rules(growth=0.0, tolerance=1.0, told=False, model=model, bins=SENSOR.bins, lead=3)
    posterior = np.zeros(SENSOR.bins)
    posterior[[2, 30]] = 1.0, 3.0
    assert in_python(open_at)(timing, rule, posterior, 0.2) == 0
    assert in_python(open_at)(timing, rule, posterior, 0.3) == starts[starts <= 27].max()
    anywhere = timing_of(SENSOR)
    assert in_python(open_at)(anywhere, rule, posterior, 0.3) == 27
    assert in_python(open_at)(anywhere, rule, posterior, 0.2) == 0


def test_the_posterior_is_added_up_over_signals_and_phases():
    pixels = make_pixels(Pulse(3.0), bins=24, count=14)
    its, prior, i = pixels.model, pixels.expected.log_prior, 9
    samples, fired = pixels.samples[i] // 20, pixels.fired[i] // 20
    level = its.level_of(pixels.expected.background)[i : i + 1]
    weight = its.log_likelihood(samples[np.newaxis], fired[np.newaxis], level)[0] + prior[i]
    right = np.exp(weight - weight.max()).sum(axis=(0, 1))
    model = model_tables(its, pixels.bins)
    memory = memory_of(model)
    memory.state[LEVEL], memory.state[FRESH] = level[0], 1
    memory.log_prior[: model.bins] = prior[i]
    memory.posterior[:] = 99.0
    assert in_python(put_posterior)(model, memory, samples, fired) == right.argmax()
    np.testing.assert_allclose(memory.posterior, right, rtol=1e-3, atol=1e-5 * right.max())
