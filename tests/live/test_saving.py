"""The form of a saved experiment: what is damaged or newer is refused."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.live import saving
from linkedbandits.live.saving import seal, unseal

DATA = Path(__file__).parent / "data"
POINTS = ("north", "east", "south")


def sealed(content_change=None, envelope_change=None) -> str:
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, "east")
    envelope = json.loads(exp.to_json())
    envelope["content"].update(content_change or {})
    envelope.update(envelope_change or {})
    return json.dumps(envelope)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (sealed()[:-20], lb.DamagedSave, "is not JSON"),
        ("[]", lb.DamagedSave, "no saved experiment"),
        (None, lb.DamagedSave, "is not JSON"),
        (sealed({"plays": 5}), lb.DamagedSave, "does not match its checksum"),
        (sealed(None, {"version": 99}), lb.DamagedSave, "saved in format 99.*upgrade linkedbandits to .* or later"),
        (sealed(None, {"version": 2}), lb.DamagedSave, "saved in format 2.*upgrade linkedbandits to .* or later"),
        (sealed(None, {"version": "x"}), lb.DamagedSave, "makes no sense"),
        (sealed(None, {"content": None}), lb.DamagedSave, "checksum"),
    ],
)
def test_a_damaged_or_newer_save_is_refused(text, error, said):
    with pytest.raises(error, match=said) as caught:
        lb.Experiment.from_json(text)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        ({"written_by": {"version": "0.9.1", "asks": None}}, "upgrade linkedbandits to 0.9.1 or later to open it"),
        ({"written_by": {"version": "0.9.1rc1"}, "other": []}, "upgrade linkedbandits to 0.9.1rc1 or later to open it"),
        ({"written_by": {"version": 9}}, "upgrade linkedbandits to open it"),
        ({"written_by": {"version": "9; rm"}}, "upgrade linkedbandits to open it"),
        ({"written_by": {"version": "9" * 1000}}, "upgrade linkedbandits to open it"),
        ({"written_by": "0.9.1"}, "upgrade linkedbandits to open it"),
        ({}, "upgrade linkedbandits to open it"),
        ([1], "upgrade linkedbandits to open it"),
        (None, "upgrade linkedbandits to open it"),
    ],
)
def test_a_newer_save_names_the_version_to_install(content, remedy):
    """As far as it can be read: nothing else of a later format is relied on."""
    text = json.dumps({"format": "linkedbandits.experiment", "version": 6, "content": content})
    with pytest.raises(lb.DamagedSave) as caught:
        lb.Experiment.from_json(text)
    assert str(caught.value) == f"the experiment was saved in format 6, and this library reads up to 1; {remedy}"


@pytest.mark.parametrize("version", [0, -1, "1", "2", 1.5, 1.0, 2.0, True, False, None, [], [2], {}])
def test_a_version_that_never_was_is_refused_though_all_else_is_right(version):
    text = json.dumps({**json.loads(sealed()), "version": version})
    with pytest.raises(lb.DamagedSave, match=r"version .* of the saved experiment makes no sense; restore"):
        lb.Experiment.from_json(text)


def test_without_a_version_it_is_refused():
    envelope = json.loads(sealed())
    del envelope["version"]
    with pytest.raises(lb.DamagedSave, match="version None of the saved experiment makes no sense"):
        lb.Experiment.from_json(json.dumps(envelope))


@pytest.mark.parametrize("missing", ["labels", "state", "request", "answers", "out", "policy"])
def test_a_save_with_a_part_missing_is_damaged_even_if_its_checksum_is_right(missing):
    content = unseal(lb.Experiment(POINTS, lb.UniformSampling(samples=3)).to_json())
    del content[missing]
    with pytest.raises(lb.DamagedSave, match="cannot be read"):
        lb.Experiment.from_json(seal(content))


def test_a_snapshot_has_its_format():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, "east")
    snapshot = json.loads(json.dumps(exp.snapshot()))
    assert snapshot["format"] == 1
    assert lb.Experiment.restore(snapshot, exp.answers).estimates() == exp.estimates()
    del snapshot["format"]
    with pytest.raises(lb.DamagedSave):
        lb.Experiment.restore(snapshot, exp.answers)


@pytest.mark.parametrize(
    ("found", "error"), [(2, lb.DamagedSave), (99, lb.DamagedSave), (0, lb.DamagedSave), ("3", lb.DamagedSave)]
)
def test_a_snapshot_of_another_format_is_refused(found, error):
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    with pytest.raises(error, match=f"{found!r} of the saved|format {found}, .* upgrade linkedbandits to"):
        lb.Experiment.restore({**exp.snapshot(), "format": found}, exp.answers)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda exp: pickle.loads(pickle.dumps(exp))])
def test_a_copy_goes_its_own_way(copied):
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, "east")
    other = copied(exp)
    assert other.to_json() == exp.to_json()
    other.ask()
    assert (exp.in_flight, other.in_flight) == (0, 1)


def test_a_format_that_follows_reads_this_one_by_its_upgrade(monkeypatch):
    """A made-up format 2, in which the seed has another name."""
    exp = lb.Experiment("ab", lb.LinkedElimination(0.1), seed=7)
    exp.tell(exp.ask().id, "a")
    text, snapshot = exp.to_json(), exp.snapshot()
    upgraded = []

    def from_1_to_2(content):
        upgraded.append(content["seed"])
        return {**content, "max_plays": 50}

    monkeypatch.setattr(saving, "VERSION", 2)
    monkeypatch.setattr(saving, "UPGRADES", {1: from_1_to_2})
    for again in (lb.Experiment.from_json(text), lb.Experiment.restore(snapshot, exp.answers)):
        assert again.max_plays == 50
        assert again.plays == 1
    assert upgraded == [7, 7]
    assert '"version": 2' in again.to_json()
