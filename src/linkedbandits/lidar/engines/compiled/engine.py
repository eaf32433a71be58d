"""The engine ``compiled``: one pixel after the other in machine code, on all cores."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.acquiring import Acquired
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines.compiled import pixel_loop, tables
from linkedbandits.lidar.engines.counter import key_of
from linkedbandits.lidar.engines.engine import Found, Light, Pixels, Progress
from linkedbandits.lidar.engines.finding import find
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.gate_policy import AnyGatePolicy
from linkedbandits.lidar.sensor import Sensor


def acquire_block(pixels: Pixels):
    task = pixels.task
    sensor = task.sensor
    made = find_acquisition(pixels.acquisition, task)
    policy = made.policy
    model = policy.model
    bins=sensor.bins
    n=pixels.numbers.size
    rules = tables.rules(growth=policy.growth, tolerance=policy.tolerance, told=policy.told, model=model, bins=bins, delta=policy.delta, likely=policy.likely, strongest=policy.signal_limit, cycles=task.cycles, seconds=task.seconds)
    half=sensor.pulse.half
    place=np.floor(np.nan_to_num(pixels.light.depth)).astype(np.int64)-half
    edges=place[:,None]+np.arange(2*half+2)-pixels.light.depth[:,None]
    shares=np.maximum(np.diff(sensor.pulse.cumulative(edges),axis=1),0); shares=np.nan_to_num(shares)
    low,high=key_of(pixels.seed)
    around=pixels.around
    state=policy.nothing_known(1,bins)
    if around is None:
        depths=np.zeros((n,1)); trusts=np.zeros((n,1)); es=np.full(n,state["expected_signal"][0]); eb=np.full(n,state["expected_background"][0]); anywhere=0.0
    else:
        depths,trusts=around.depth,around.trust; es,eb=np.maximum(around.signal,1e-6),np.maximum(around.background,1e-6); anywhere=around.anywhere
    before=pixel_loop.Before(np.uint64(low|(high<<32)),pixels.numbers,place,shares,pixels.light.signal,pixels.light.background,state["log_prior"][0].copy(),depths,trusts,anywhere,es,eb,around is not None)
    after=pixel_loop.After(np.zeros((n,bins),np.int64),np.zeros((n,bins),np.int64),np.zeros(n),np.zeros(n),np.zeros(n,np.int64),np.zeros(n,bool),np.zeros(n,bool),np.zeros(n,np.int64),np.zeros((n,bins)))
    pixel_loop.acquire_pulse(tables.model_tables(model,bins),tables.cell_tables(sensor.pulse),tables.timing_of(sensor),rules,before,made.mode=="gated",after)
    return made,after


class CompiledEngine:
    def measure(self, pixels, progress):
        made,after=acquire_block(pixels)
        return find(made,pixels.task,pixels.estimator,Acquired(*after))
