"""Times on the command line, with a unit or without."""

from __future__ import annotations

import pytest
import typer

from linkedbandits.cli.times import in_unit, time_in
from tests.support.command_line import refusal, run


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("50", "ns", 50.0),
        ("50ns", "ns", 50.0),
        ("0.05 \u00b5s", "ns", 50.0),
        ("0.05\u03bcs", "ns", 50.0),
        ("1e-3 MS", "ns", 1000.0),
        ("3ps", "ps", 3.0),
        ("800ms", "s", 0.8),
        ("2min", "s", 120.0),
        (" 1h", "s", 3600.0),
        (2.0, "s", 2.0),
    ],
)
def test_a_time_is_read_in_the_unit_of_its_option(text, unit, found):
    assert time_in(unit)(text) == found


@pytest.mark.parametrize("text", ["soon", "50 parsecs", "ns", "", "1.2.3s"])
def test_what_is_no_time_is_refused_with_its_value_and_the_unit(text):
    with pytest.raises(typer.BadParameter, match=f"{text!r} is no time; write nanoseconds, as 50, .*as 50ns"):
        time_in("ns")(text)
    assert in_unit(text, "ns") is None


def test_a_time_that_is_too_short_is_refused():
    assert time_in("s", 0.1)("100ms") == 0.1
    with pytest.raises(typer.BadParameter, match=r"99ms is less than 0\.1 seconds"):
        time_in("s", 0.1)("99ms")
    with pytest.raises(typer.BadParameter, match="nan is less"):
        time_in("s", 0.1)("nan")


@pytest.mark.parametrize(
    "arguments",
    [
        ("lidar", "--dead-time", "50parsecs"),
        ("lidar", "--jitter", "50parsecs"),
        ("lidar", "--rise", "50parsecs"),
        ("lidar", "--afterpulse-time", "50parsecs"),
        ("lidar", "--microseconds", "50parsecs"),
        ("verdict", "log.csv", "--deadline", "50parsecs"),
        ("verdict", "log.csv", "--every", "50parsecs"),
        ("demo-traffic", "--seconds", "50parsecs"),
        ("webhook", "test", "1", "--seconds", "50parsecs"),
    ],
    ids=" ".join,
)
def test_every_option_that_is_a_time_reads_it_so(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "'50parsecs' is no time" in " ".join(result.stderr.replace("\u2502", "").split())


def test_a_deadline_with_a_unit_is_that_in_seconds(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("request,option,ok,latency_ms\n" + "".join(f"{n},{'ab'[n % 2]},1,{n}\n" for n in range(900)))
    assert (
        run("verdict", str(path), "--deadline", "800ms").stdout == run("verdict", str(path), "--deadline", "0.8").stdout
    )
    assert "within" in run("verdict", str(path), "--deadline", "0.8").stdout
    assert "deadline" in refusal("verdict", str(path), "--deadline", "0ms")
