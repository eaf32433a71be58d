"""The form of a saved experiment: what is damaged or newer is refused, and what was ever saved is read."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.linkage import find_linkage
from linkedbandits.live import AnswerLog
from linkedbandits.live.requests import resume
from linkedbandits.live.saving import seal, unseal, upgraded, upgraded_snapshot

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
        (sealed(None, {"version": 99}), lb.NewerSave, "saved in format 99.*upgrade linkedbandits to .* or later"),
        (sealed(None, {"version": 6}), lb.NewerSave, "saved in format 6.*upgrade linkedbandits to .* or later"),
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
    with pytest.raises(lb.NewerSave) as caught:
        lb.Experiment.from_json(text)
    assert str(caught.value) == f"the experiment was saved in format 6, and this library reads up to 5; {remedy}"


@pytest.mark.parametrize("version", [0, -1, "1", "2", 1.5, 1.0, 2.0, True, False, None, [], [2], {}])
@pytest.mark.parametrize("saved", ["as then", "as now"])
def test_a_version_that_never_was_is_refused_though_all_else_is_right(saved, version):
    """Neither as format 1 nor as today's may it be read."""
    text = SAVED_IN_FORMAT_1[0]["saved"] if saved == "as then" else sealed()
    lb.Experiment.from_json(text)
    text = json.dumps({**json.loads(text), "version": version})
    with pytest.raises(lb.DamagedSave, match=r"version .* of the saved experiment makes no sense; restore"):
        lb.Experiment.from_json(text)


def test_without_a_version_it_is_refused():
    envelope = json.loads(sealed())
    del envelope["version"]
    with pytest.raises(lb.DamagedSave, match="version None of the saved experiment makes no sense"):
        lb.Experiment.from_json(json.dumps(envelope))


@pytest.mark.parametrize("missing", ["labels", "state", "request", "answers", "tickets", "policy"])
def test_a_save_with_a_part_missing_is_damaged_even_if_its_checksum_is_right(missing):
    _, content = unseal(lb.Experiment(POINTS, lb.UniformSampling(samples=3)).to_json())
    del content[missing]
    with pytest.raises(lb.DamagedSave, match="cannot be read"):
        lb.Experiment.from_json(seal(content))


SAVED_IN_FORMAT_1 = json.loads((DATA / "saved_in_format_1.json").read_text(encoding="utf-8"))
AS_THEN_1 = SAVED_IN_FORMAT_1[1:]
"""Without the first: its policy asks otherwise since, and takes what was played as a log."""
SAVED_IN_FORMAT_2 = json.loads((DATA / "saved_in_format_2.json").read_text(encoding="utf-8"))
AS_THEN_2 = [old for old in SAVED_IN_FORMAT_2 if old["name"] in ("tuples", "done", "confident", "not begun")]


@pytest.mark.parametrize("old", AS_THEN_1, ids=["tuples", "done"])
def test_a_save_in_format_1_goes_on_as_it_did_then(old):
    """With plays out, spare and given up; how each went on was written down by the library of that time."""
    exp = lb.Experiment.from_json(old["saved"])
    assert lb.Experiment.from_json(exp.to_json()).to_json() == exp.to_json()
    went_on: list[object] = []
    later = [] if exp.done else [exp.ask() for _ in range(6)]
    went_on += [[play.id, list(play.arms)] for play in later]
    went_on += [exp.tell(play, None) for play in old["out"] + [play.id for play in later] + old["given_up"]]
    went_on.append([[estimate.samples, estimate.successes] for estimate in exp.estimates()])
    assert went_on == old["goes_on"]


def estimates(exp: lb.Experiment) -> list[list[object]]:
    return [[estimate.samples, estimate.successes, estimate.still_in] for estimate in exp.estimates()]


def verdict(exp: lb.Experiment) -> list[object]:
    said = exp.recommend()
    return [exp.done, said.arm, said.status, said.plays, said.error_bound, list(said.top)]


@pytest.mark.parametrize("old", AS_THEN_2, ids=lambda old: old["name"])
def test_a_save_in_format_2_goes_on_as_it_did_then(old):
    """With plays out, spare, given up and told late; how each went on was written down by the library of that time.

    But for policies that ask otherwise since, and take what was played as a log.
    """
    exp = lb.Experiment.from_json(old["saved"])
    assert [exp.plays, exp.late, exp.in_flight] == [old["plays"], old["late"], old["in_flight"]]
    assert estimates(exp) == old["estimates"]
    assert verdict(exp) == old["verdict"]
    assert lb.Experiment.from_json(exp.to_json()).to_json() == exp.to_json()
    asked = [step for step in old["goes_on"] if type(step[0]) is int]
    went_on: list[object] = []
    for _ in asked:
        play = exp.ask()
        went_on.append([play.id, list(play.arms)])
    told = [*old["out"], *(play for play, _ in asked), *old["given_up"]]
    went_on += [exp.tell(play, None) for play in told]
    assert [*went_on, estimates(exp), verdict(exp)] == old["goes_on"]


def test_what_a_request_had_not_in_format_2_is_added_by_the_upgrade_and_by_nothing_else():
    """Plans of whole plays came after it."""
    old = next(unseal(save["saved"])[1] for save in SAVED_IN_FORMAT_2 if save["name"] == "needs in order")
    assert "whole" not in old["request"]
    assert upgraded(2, old)["request"] == upgraded_snapshot(old)["request"] == {**old["request"], "whole": False}
    assert "whole" not in old["request"]
    ordered = find_linkage("ordered")
    with pytest.raises(KeyError):
        resume(old["request"], ordered)
    assert resume(upgraded(2, old)["request"], ordered).to_json()["whole"] is False


def test_a_snapshot_has_its_format_and_one_without_is_read_as_what_it_was():
    exp = lb.Experiment(POINTS, lb.UniformSampling(samples=3))
    exp.tell(exp.ask().id, "east")
    snapshot = json.loads(json.dumps(exp.snapshot()))
    assert snapshot["format"] == 5
    without = {name: part for name, part in snapshot.items() if name != "format"}
    for each in (snapshot, without):
        assert lb.Experiment.restore(each, exp.answers).estimates() == exp.estimates()
    _, old = unseal(SAVED_IN_FORMAT_2[0]["saved"])
    answers = AnswerLog.from_text(old["answers"])
    for each in (old, {"format": 2, **old}):
        assert [lb.Experiment.restore(each, answers).plays] == [SAVED_IN_FORMAT_2[0]["plays"]]


@pytest.mark.parametrize(
    ("found", "error"), [(6, lb.NewerSave), (99, lb.NewerSave), (0, lb.DamagedSave), ("3", lb.DamagedSave)]
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
