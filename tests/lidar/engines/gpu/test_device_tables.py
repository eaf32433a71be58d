"""What is put onto a device for a model and a sensor."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.gpu.device_tables import device_tables
from linkedbandits.lidar.engines.gpu.fragments import likelihood_fragments
from linkedbandits.lidar.engines.gpu.tables import make_tables
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.gates import Suffixes


def tables_of(sensor):
    model = model_of(sensor, 0.5)
    return model, device_tables(0, model, sensor)


def test_tables_are_those_of_the_host(card_on_cpu):
    sensor = Sensor(bins=40)
    model, found = tables_of(sensor)
    its = make_tables(sensor.pulse, model)
    names = ("fire", "share", "signals", "backgrounds", "between")
    for on_card, name in zip(found.returns, names, strict=True):
        assert np.array_equal(on_card, getattr(its, name))
    assert np.array_equal(found.cells, its.cells)
    assert np.array_equal(found.cumulative, its.cumulative)
    assert np.array_equal(found.likelihood, likelihood_fragments(model))
    assert np.array_equal(found.backgrounds, model.backgrounds)


def test_gates_that_open_anywhere_need_no_list_of_places(card_on_cpu):
    _, found = tables_of(Sensor(bins=40))
    assert found.may_open is None
    assert np.array_equal(found.start_before, np.arange(40))


def test_gates_with_positions_open_there_and_nowhere_else(card_on_cpu):
    _, found = tables_of(Sensor(bins=10, gates=Suffixes(4)))
    assert found.may_open.tolist() == [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    assert found.start_before.tolist() == [0, 0, 2, 2, 2, 5, 5, 7, 7, 7]


def test_a_gate_that_rises_has_its_sensitivity_there(card_on_cpu):
    sensor = Sensor(bins=40, rise=2.5 * Sensor(bins=40).bin_seconds)
    _, found = tables_of(sensor)
    np.testing.assert_allclose(found.rising, [0.2, 0.6, 0.95], rtol=1e-6)


def test_they_are_made_once_for_each_device(card_on_cpu):
    sensor = Sensor(bins=40)
    model, found = tables_of(sensor)
    assert device_tables(0, model, sensor) is found
    assert device_tables(1, model, sensor) is not found
