import numpy as np

from linkedbandits.model import Counts


class Exposure:
    def __init__(self, sensor, rates, generator):
        self.sensor = sensor
        self.p = -np.expm1(-rates)
        self.rng = generator
        self.seconds = np.zeros(len(rates))

    def expose(self, gate, cycles):
        q = np.where(gate, self.p, 0)
        n = q.shape[1]
        surv = np.cumprod(1 - q, axis=1)
        ends = np.empty((len(q), n + 1))
        ends[:, 0] = q[:, 0]
        ends[:, 1:n] = q[:, 1:] * surv[:, :-1]
        ends[:, n] = surv[:, -1]
        hits = self.rng.multinomial(cycles, ends / ends.sum(1, keepdims=True))[:, :n]
        reach = cycles[:, None] - np.concatenate([np.zeros((len(q), 1), int), hits.cumsum(1)[:, :-1]], axis=1)
        g = gate.argmax(1)
        self.seconds += self.sensor.period * (
            cycles + (hits * self.sensor.lost_periods(np.arange(n)[None], g[:, None])).sum(1)
        )
        return Counts(reach * gate, hits)

    def keep(self, lanes):
        self.p = self.p[lanes]
        self.seconds = self.seconds[lanes]
