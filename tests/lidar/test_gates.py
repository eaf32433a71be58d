"""What a gate may be, and which is best."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import linkedbandits as lb
from linkedbandits.lidar import Sensor, gates
from linkedbandits.lidar.gates import AnySubset, Gates, Suffixes, Windows, parse_gates, worth_per_time

BINS = 7
PERIOD = Sensor(bins=BINS).period
BIN = PERIOD / BINS

KINDS = st.one_of(
    st.just(AnySubset()),
    st.just(Suffixes()),
    st.builds(Suffixes, st.integers(1, BINS)),
    st.builds(lambda shortest, gap: Windows(shortest * BIN, gap * BIN), st.integers(1, 3), st.integers(1, 3)),
)
SENSORS = st.builds(
    lambda kind, blind, rise: Sensor(bins=BINS, dead_time=blind * PERIOD, rise=rise * BIN, gates=kind),
    KINDS,
    st.one_of(st.just(0.0), st.floats(0, 3)),
    st.sampled_from([0.0, 0.0, 1.0, 1.6, 3.2]),
)
CHANCES = hnp.arrays(np.float64, BINS, elements=st.one_of(st.floats(0.001, 0.999), st.floats(0, 0.05), st.just(1.0)))
WORTHS = hnp.arrays(np.float64, BINS, elements=st.one_of(st.floats(0.001, 1), st.floats(0, 0.01)))


def possible(gate, kind):
    """By the definition of each kind, run by run."""
    opens = [i for i in range(BINS) if gate[i] and (i == 0 or not gate[i - 1])]
    shuts = [i + 1 for i in range(BINS) if gate[i] and (i == BINS - 1 or not gate[i + 1])]
    if not opens:
        return False
    match kind:
        case AnySubset():
            return True
        case Suffixes(positions=positions):
            starts = range(BINS) if positions is None else [k * BINS // positions for k in range(positions)]
            return len(opens) == 1 and shuts == [BINS] and opens[0] in starts
        case Windows(shortest=shortest, gap=gap):
            windows = [end - start for start, end in zip(opens, shuts, strict=True) if end < BINS]
            gaps = [later - end for later, end in zip(opens[1:], shuts[:-1], strict=True)]
            return min(windows, default=BINS) >= round(shortest / BIN) and min(gaps, default=BINS) >= round(gap / BIN)


def reached_by(gate, worth, chance, sensor):
    """Expected worth over expected time, one bin after the other."""
    first = gate.index(True)
    alive, total, time, since = 1.0, 0.0, 1.0, 0
    for i, opened in enumerate(gate):
        since = since + 1 if opened else 0
        if not opened:
            continue
        fires = chance[i]
        if sensor.gates.rises and since <= sensor.rise_bins:
            fires = 1 - (1 - chance[i]) ** sensor.rising[since - 1]
        else:
            total += alive * worth[i]
        lost = max(0, np.ceil((i + 0.5 - first) / BINS + sensor.dead_time / sensor.period) - 1)
        time += alive * fires * lost
        alive *= 1 - fires
    return total / time


@given(sensor=SENSORS, worth=WORTHS, chance=CHANCES)
def test_no_other_gate_has_more_worth_per_time(sensor, worth, chance):
    """Against all gates that the sensor can do, of 2^7."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates, "CLOSE", 1e-5)
        found = sensor.gates.best(worth[np.newaxis], chance[np.newaxis], sensor)
    sensor.gates.check(found, sensor)
    can_do = [gate for gate in product([False, True], repeat=BINS) if possible(gate, sensor.gates)]
    most = max(reached_by(gate, worth, chance, sensor) for gate in can_do)
    own = reached_by(found[0].tolist(), worth, chance, sensor)
    assert own == pytest.approx(most, rel=1e-4, abs=1e-9)
    rate = worth_per_time(found, worth[np.newaxis], chance[np.newaxis], sensor, rises=sensor.gates.rises)
    assert rate[0] == pytest.approx(own, abs=1e-12)


@pytest.mark.parametrize("blind", [0.0, 0.3, 0.55, 1.3, 2.9])
@pytest.mark.parametrize("rise", [0.0, 1.6])
@pytest.mark.parametrize("kind", [AnySubset(), Suffixes(), Suffixes(3), Windows(2 * BIN, BIN), Windows(BIN, 2 * BIN)])
def test_no_other_gate_is_better_for_many_lanes_at_once(kind, blind, rise):
    """The same for 20 lanes side by side, with worths and chances of very different size."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD, rise=rise * BIN, gates=kind)
    rng = np.random.default_rng(11)
    worth = rng.exponential(size=(20, BINS)) ** 3
    chance = rng.random((20, BINS)) ** rng.choice([1, 3], (20, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates, "CLOSE", 1e-5)
        found = kind.best(worth, chance, sensor)
    can_do = np.array([gate for gate in product([False, True], repeat=BINS) if possible(gate, kind)])
    for lane in range(20):
        every = [reached_by(gate.tolist(), worth[lane], chance[lane], sensor) for gate in can_do]
        own = reached_by(found[lane].tolist(), worth[lane], chance[lane], sensor)
        assert own == pytest.approx(max(every), rel=1e-4)


@pytest.mark.parametrize("rise", [0.0, 0.4, 1.0, 2.6])
def test_every_opening_rises(rise):
    """Bin by bin, for all gates of 7 bins."""
    sensor = Sensor(bins=BINS, rise=rise * BIN)
    every = np.array(list(product([False, True], repeat=BINS)))
    sensitive, counts = gates.sensitivity(every, sensor), gates.counted(every, sensor)
    for row, gate in enumerate(every):
        since = 0
        for i, opened in enumerate(gate):
            since = since + 1 if opened else 0
            rises = 0 < since <= sensor.rise_bins
            assert sensitive[row, i] == (sensor.rising[since - 1] if rises else opened)
            assert counts[row, i] == (opened and not rises)


@given(sensor=SENSORS)
def test_a_gate_passes_where_the_sensor_can_do_it(sensor):
    for gate in product([False, True], repeat=BINS):
        row = np.array([[True] * BINS, gate])  # all of them open is what any sensor can do
        if possible(gate, sensor.gates):
            sensor.gates.check(row, sensor)
        else:
            with pytest.raises(lb.InvalidParameter, match="lane 1"):
                sensor.gates.check(row, sensor)


def lanes_of_a_frame(bins, lanes, rng):
    """Worth and chance as policies see them: a few depths are likely, over a background."""
    chance = np.repeat(rng.uniform(0.005, 0.05, (lanes, 1)), bins, axis=1)
    worth = np.full((lanes, bins), 1e-6)
    for lane in range(lanes):
        for depth in rng.integers(3, bins - 3, 5):
            worth[lane, depth - 3 : depth + 4] += rng.random() * 0.05
            chance[lane, depth - 3 : depth + 4] += rng.random() * 0.1
    return worth, chance


@pytest.mark.parametrize("kind", [AnySubset(), Windows(2e-9, 1e-9), Suffixes(20)])
@pytest.mark.parametrize("blind", [0.0, 10e-9, 100e-9])
def test_with_many_bins_the_best_is_found_but_for_a_hundredth(kind, blind):
    sensor = Sensor(bins=120, dead_time=blind, rise=0.5e-9, gates=kind)
    worth, chance = lanes_of_a_frame(120, 12, np.random.default_rng(5))
    found = kind.best(worth, chance, sensor)
    kind.check(found, sensor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gates, "CLOSE", 1e-5)
        best = kind.best(worth, chance, sensor)
    rate, most = (worth_per_time(gate, worth, chance, sensor, rises=kind.rises) for gate in (found, best))
    assert (rate >= most * (1 - gates.CLOSE)).all()
    # What a lane gets does not depend on the lanes beside it.
    assert (kind.best(worth[3:4], chance[3:4], sensor) == found[3:4]).all()
    # Nor does any kind do better than one that may do more.
    bound = AnySubset().best(worth, chance, sensor)
    assert (worth_per_time(bound, worth, chance, sensor, rises=False) * 1.0101 >= rate).all()


@pytest.mark.parametrize("kind", [AnySubset(), Windows(2e-9, 1e-9), Suffixes()])
@pytest.mark.parametrize("rise", [0.0, 1e-9])
def test_a_flood_of_light_is_no_trouble(kind, rise):
    """Products of survival are below the smallest number here."""
    sensor = Sensor(bins=400, dead_time=50e-9, rise=rise, gates=kind)
    chance = np.full((2, 400), 0.99)
    worth = np.full((2, 400), 1e-3)
    worth[:, 250] = 1.0
    found = kind.best(worth, chance, sensor)
    opens = found.argmax(axis=1)
    assert (opens == 250 - (sensor.rise_bins if kind.rises else 0)).all()
    assert np.isfinite(worth_per_time(found, worth, chance, sensor)).all()


@pytest.mark.parametrize("kind", [AnySubset(), Windows(2e-9, 1e-9), Suffixes()])
def test_where_nothing_is_worth_anything_there_is_a_gate_all_the_same(kind):
    sensor = Sensor(bins=50, gates=kind)
    kind.check(kind.best(np.zeros((2, 50)), np.full((2, 50), 0.1), sensor), sensor)
    assert kind.best(np.zeros((0, 50)), np.zeros((0, 50)), sensor).shape == (0, 50)


def test_a_dead_time_makes_a_gate_open_later():
    """A detection costs periods, so bins that are worth little are not worth it."""
    worth, chance = np.full((1, 100), 0.05), np.full((1, 100), 0.05)
    worth[0, 60] = 0.1
    opens = [
        int(Suffixes().best(worth, chance, Sensor(bins=100, dead_time=dead)).argmax()) for dead in (0, 50e-9, 1e-6)
    ]
    assert opens[0] < opens[1] <= opens[2] == 60


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("any", AnySubset(), "any subset"),
        ("suffix", Suffixes(), "suffix at any bin"),
        ("suffix:20", Suffixes(20), "suffix at 20 positions"),
        ("windows:2", Windows(2e-9, 2e-9), "windows of 2 ns, gaps of 2 ns"),
        (" Windows:2.5:1", Windows(2.5e-9, 1e-9), "windows of 2.5 ns, gaps of 1 ns"),
    ],
)
def test_gates_have_names(text, kind, words):
    assert parse_gates(text) == kind
    assert kind.words == words
    assert isinstance(kind, Gates)
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert hash(parse_gates(text)) == hash(kind)


@pytest.mark.parametrize(
    "text",
    ["", "all", "suffix:", "suffix:x", "suffix:0", "suffix:1:2", "windows", "windows:a", "windows:0", "windows:1:2:3"],
)
def test_words_that_are_no_gates_are_refused(text):
    with pytest.raises(lb.InvalidParameter, match=r"positions|windows|shortest"):
        parse_gates(text)


def test_gates_of_another_shape_are_refused():
    sensor = Sensor(bins=10)
    for gate in (np.ones((2, 9), dtype=bool), np.ones(10, dtype=bool), np.ones((2, 10))):
        with pytest.raises(lb.InvalidParameter, match="10 bins"):
            Suffixes().check(gate, sensor)


def test_positions_and_times_have_to_make_sense():
    for make in (lambda: Suffixes(0), lambda: Suffixes(2.5), lambda: Windows(0.0, 1e-9), lambda: Windows(1e-9, -1.0)):
        with pytest.raises(lb.InvalidParameter):
            make()
