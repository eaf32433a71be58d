"""Whatever people print of the library is short: no addresses, no arrays in full, no digits that nobody reads."""

from __future__ import annotations

import re
from functools import cache
from inspect import isabstract, isclass

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits import attempts, bounds, lidar, study
from linkedbandits.attempts.alarms import offsets
from linkedbandits.policy import Policy
from tests.support.small_study import in_this_process, small_study

MEANS = np.linspace(0.1, 0.9, 120)
TABLE = lb.OutcomeTable([[1, 0, 1], [0, 0, 1], [1, 1, 0]] * 100)
LONGEST = 700
"""Letters."""


@cache
def runs():
    many = np.arange(1000)
    return lb.Runs(MEANS, many[:, np.newaxis] % 120, many, np.tile(many[:, np.newaxis], 120), many > 3)


@cache
def experiment():
    exp = lb.Experiment(range(40), lb.LinkedElimination(0.1))
    for _ in range(30):
        exp.tell(exp.ask().id, None)
    return exp


@cache
def log():
    return lb.Attempts.from_plays([((1, 2, 3), 2), ((2, 3, 1), None), ((3, 1, 2), 3)] * 100)


@cache
def chain():
    with lb.Chain({f"option {number}": int for number in range(30)}) as made:
        made("1")
    return made


@cache
def frame():
    scene = lidar.find_scene("room").shrunk(6)
    return lidar.capture(scene, lidar.Task(lidar.Sensor(bins=60, reach=6.0), signal=2.0, cycles=30, delta=0.1))


def photons():
    counts = np.zeros((2, 2, 500), dtype=int)
    counts[..., 29:32] = 30
    return lidar.Photons.from_histogram(counts, cycles=1000, bin_seconds=1e-9)


def results(folder):
    return study.run_study(small_study(trials=2), folder, engine=in_this_process)


def sensor():
    return lidar.Sensor(bins=60, reach=6.0)


def task():
    return lidar.Task(sensor(), 1.0, cycles=10)


def located():
    return lidar.locate(np.full((50, 60), 20), np.ones((50, 60), int), sensor=sensor(), signal=1.0)


EXAMPLES = {
    lb.Attempts: log,
    attempts.SetAside: lambda: attempts.SetAside("no outcome", "left out", 3, (3, 4, 5)),
    lb.Chain: chain,
    lb.ErrorPoint: lambda: lb.error_curve([0.1, 0.3], [7], trials=300)[0],
    lb.Estimate: lambda: experiment().estimates()[0],
    lb.Estimates: lambda: experiment().estimates(),
    lb.Experiment: experiment,
    lb.OutcomeTable: lambda: TABLE,
    lb.Play: lambda: lb.Experiment(range(9)).ask(),
    lb.Runs: runs,
    lb.SharedDifficulty: lambda: lb.SharedDifficulty(MEANS, 0.5),
    lb.Summaries: lambda: lb.Summaries({"a": runs().summary()}),
    lb.Summary: lambda: runs().summary(),
    lb.Verdict: lambda: experiment().recommend(),
    bounds.BoundAsTold: lambda: bounds.lower_as_told(lb.LinkedElimination(0.1), [0.1, 0.25]),
    bounds.CharacteristicTime: lambda: bounds.characteristic_time(MEANS),
    bounds.ExpectedPlays: lambda: bounds.expected_plays([120, 100], [0.25, 0.5]),
    bounds.Improvement: lambda: bounds.paper(MEANS, 0.1).improvement,
    bounds.JointBound: lambda: bounds.lower_joint(TABLE, 0.1, rounds=1),
    bounds.PaperBounds: lambda: bounds.paper(MEANS, 0.1),
    bounds.PlayCost: lambda: bounds.play_cost([100, 100], [0.2, 0.55], "free"),
    bounds.PriceOfOrder: lambda: bounds.price_of_order([0.1, 0.3, 0.2]),
    lidar.Acquisition: lambda: lidar.find_acquisition("even", task()),
    lidar.AnySubset: lidar.AnySubset,
    lidar.DepthMap: lambda: frame().depth_map(),
    lidar.Expected: lambda: lidar.Expected.alike(300, 60, 1.0, 0.01),
    lidar.Frame: frame,
    lidar.FrameSummary: lambda: frame().summary(),
    lidar.Located: located,
    lidar.MeasuredPulse: lambda: lidar.MeasuredPulse.from_samples([0, 4, 8, 2, 1, 1, 0], step=0.3),
    lidar.Photons: photons,
    lidar.Pulse: lambda: lidar.Pulse(fwhm=3.0),
    lidar.Scene: lambda: lidar.find_scene("room"),
    lidar.Sensor: sensor,
    lidar.Suffixes: lidar.Suffixes,
    lidar.Task: task,
    lidar.Windows: lambda: lidar.Windows(2e-9, 1e-9),
    study.Cell: lambda: small_study().cells[0],
    study.Instance: lambda: small_study().cells[-1].instance,
    study.Study: small_study,
}
OTHERS = {
    "report": lambda: log().verdict(),
    "log estimate": lambda: log().verdict().estimates[0],
    "order": lambda: log().verdict().order,
    "missing": lambda: log().verdict().missing,
    "offset": lambda: offsets(log())[0],
    "chain status": lambda: chain().status(),
    "option estimate": lambda: chain().estimates()[0],
    "option estimates": lambda: chain().estimates(),
    "learning": lambda: lb.Experiment("ab", whole_chains=True).learning,
    "mapping of kinds": lambda: TABLE.only(["0", "1"]),
}


@pytest.fixture(params=[*EXAMPLES, *OTHERS], ids=lambda what: what if isinstance(what, str) else what.__name__)
def text(request):
    make = EXAMPLES.get(request.param) or OTHERS[request.param]
    made = make()
    if isclass(request.param):
        assert isinstance(made, request.param)
    return repr(made)


def test_it_is_short(text):
    lines = text.splitlines()
    assert len(lines) <= 22
    assert len(text) <= (LONGEST if len(lines) == 1 else 22 * 100)


def test_it_shows_neither_addresses_nor_arrays_nor_needless_digits(text):
    assert " at 0x" not in text
    assert "array(" not in text
    assert re.search(r"\d\.\d{8}", text) is None


OF_SENSORS = [made for made in EXAMPLES if made.__module__.startswith("linkedbandits.lidar")]


@pytest.mark.parametrize("made", OF_SENSORS, ids=lambda made: made.__name__)
def test_what_depth_sensing_prints_fits_a_few_lines_of_a_terminal(made):
    lines = repr(EXAMPLES[made]()).splitlines()
    assert sum(-(-len(line) // 80) for line in lines) <= 4


def test_settings_that_were_not_told_are_not_shown():
    assert repr(lidar.Sensor(bins=60, reach=6.0)) == "Sensor(bins=60)"
    assert repr(lidar.Sensor(rise=1e-9, gates=lidar.AnySubset())) == "Sensor(rise=1e-09, gates=AnySubset())"
    assert repr(lidar.Task(lidar.Sensor(), 0.5, 300)) == "Task(sensor=Sensor(), signal=0.5, cycles=300)"
    assert eval(repr(task()), vars(lidar)) == task()


def test_results_of_a_study_too(tmp_path):
    made = results(tmp_path / "kept")
    trials = sum(cell["trials"] for cell in made.cells.values())
    assert repr(made) == (
        f"Results('small' in {str(tmp_path / 'kept')!r}: {len(made.cells)} cells, {trials} of {trials} trials finished)"
    )
    assert f"Study small: {len(made.cells)} cells, {trials} of {trials} trials finished" in made._repr_html_()
    assert "fifty each" in made._repr_html_()


def public_classes():
    for package in (lb, lidar, bounds, study, attempts):
        for name in package.__all__:
            found = getattr(package, name)
            if (
                isclass(found)
                and not issubclass(found, Exception)
                and Policy not in found.__mro__
                and not isabstract(found)
            ):
                yield found


def test_every_public_class_was_printed():
    protocols = {lidar.Gates}  # which nothing is made of
    assert set(public_classes()) - {study.Results} - protocols == set(EXAMPLES)
