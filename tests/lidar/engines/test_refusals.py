"""What engines other than the reference do not simulate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquisitions import ACQUISITIONS
from linkedbandits.lidar.engines.refusals import SIMULATED, refuse_unless_simulated
from linkedbandits.lidar.gates import AnySubset

TASK = Task(Sensor(bins=40), signal=0.5, cycles=20)


def refuse(acquisition, task=TASK):
    refuse_unless_simulated("compiled", acquisition, task)


def test_what_is_simulated_is_an_acquisition():
    assert set(SIMULATED) <= set(ACQUISITIONS)


@pytest.mark.parametrize("acquisition", SIMULATED)
def test_what_is_simulated_is_not_refused(acquisition):
    refuse(acquisition)


@pytest.mark.parametrize("acquisition", sorted(set(ACQUISITIONS) - set(SIMULATED)))
def test_others_name_the_engine_that_has_them(acquisition):
    with pytest.raises(InvalidParameter, match=f'engine="compiled" simulates.* not {acquisition}; use engine="numpy"'):
        refuse(acquisition)


def test_even_is_for_gates_that_stay_open():
    with pytest.raises(InvalidParameter, match=r'any subset; use engine="numpy"'):
        refuse("even", replace(TASK, sensor=replace(TASK.sensor, gates=AnySubset())))


def test_afterpulses_that_outlast_the_dead_time():
    sensor = replace(TASK.sensor, afterpulsing=0.01, afterpulse_time=50e-9, dead_time=100e-9)
    with pytest.raises(InvalidParameter, match="afterpulses"):
        refuse("pulse", replace(TASK, sensor=sensor))
    refuse("pulse", replace(TASK, sensor=replace(sensor, dead_time=250e-9)))
