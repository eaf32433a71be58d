"""What the command prints for people: in eighty columns, with every figure whole."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.attempts import Attempts, SetAside
from linkedbandits.cli.tables import Report
from linkedbandits.cli.verdict_text import WhatWasRead, print_report
from tests.support.logs import HOSTILE, log_of

READ = WhatWasRead("attempts.csv", 1234, {"time"})


def printed(report, width=80, read=READ):
    out = io.StringIO()
    print_report(Report(width, file=out), report, read)
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= width
    return text


def words(text):
    return " ".join(text.split())


def test_the_whole_of_it():
    log = log_of([0.9, 0.5, 0.3], 900)
    aside = SetAside("torn rows", "a row has to be whole", 7, (2, 3, 5, 8, 9))
    report = replace(log, set_aside=(aside,), columns=(("request", "req"), ("time", "ts"))).verdict()
    said = words(printed(report))
    assert said.startswith(
        "attempts.csv: 1,234 rows, 900 requests, 3 options Columns, guessed from their names: request is req. "
        "Columns, as given: time is ts. "
        "Set aside: - torn rows: 7 rows, in lines 2, 3, 5, 8, 9 and so on; a row has to be whole."
    )
    assert "An option is out when the evidence against it reaches 20, which is 1/delta." in said
    assert report.sentence in said
    assert "The best order - a, b, c: " in said or "The best order - a, c, b: " in said


@pytest.mark.parametrize("costs", [(), (1.25, 2.5, 12.75, 100.125)])
@pytest.mark.parametrize("which", ["first", "duels", "all"])
def test_every_figure_of_the_table_is_whole_in_eighty_columns(which, costs):
    """With names as long as they come, and as many digits."""
    labels = ["a-provider-with-quite-a-long-name/version-2024-05-01-preview", *HOSTILE[:3]]
    report = log_of([0.9, 0.5, 0.4, 0.3], 2500, labels=labels).verdict(attempts=which)
    many = tuple(replace(each, samples=9_876_543, attempts=9_999_999) for each in report.estimates)
    text = printed(replace(report, estimates=many, costs=costs))
    for each in report.estimates:
        block = next(block for block in text.split("\n\n") if block.startswith(str(each.option)))
        assert f"({each.low:.3f} to {each.high:.3f})\n" in block
        assert f"  {each.mean:.3f}\n" in block
        assert "  9,876,543\n" in block
        assert block.rstrip().endswith(("best", "out"))
    assert "…" not in text


def test_names_are_no_markup():
    text = printed(log_of([0.9, 0.5], 300, labels=["[red]a[/red]", ":smile:"]).verdict())
    assert "[red]a[/red]" in text
    assert ":smile:" in text


def test_of_many_options_the_best_are_shown():
    text = words(printed(log_of([0.5] * 26, 200).verdict()))
    assert "The 20 best of 26 options are shown; --json has them all." in text
    assert "and 6 more: " in text


def test_alarms_with_the_same_remedy_have_it_once():
    report = log_of([0.9, 0.7, 0.5], 3000, difficulty=0.3).verdict(attempts="all")
    text = words(printed(report))
    assert len(report.alarms) > 1
    assert {alarm.kind for alarm in report.alarms} == {"dependence"}
    named = "Works less often after others have failed than as the first tried: "
    assert re.search(named + r"\w, \w(, \w)?\.", text)
    assert "first tried after failures in all in all less first" in text
    assert "of all its" not in text  # a note for each option would say it again
    assert text.count(report.alarms[0].remedy) == 1
    assert "Alarms - " in text


def test_a_log_in_one_order_says_what_could_not_be_checked():
    report = Attempts.from_plays([(("a", "b"), "b")] * 400).verdict(attempts="all")
    text = words(printed(report))
    assert "Notes - " in text
    assert all(note in text for note in report.notes)


def test_what_a_policy_says_of_itself():
    close = log_of([0.5] * 6, 3000)
    assert "What was seen speaks against: told difference." in printed(close.verdict(lb.LinkedLead(1e-6, gap=0.3)))
    unproved = printed(close.verdict(lb.UniformSampling(samples=50)))
    assert "is the answer of the policy, without a guarantee (it stopped after" in unproved
    assert "All of it is an estimate." in unproved
    assert not re.search(r"decided|best\s*$", unproved, re.MULTILINE)
