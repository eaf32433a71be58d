"""``linkedbandits verdict``, end to end: every way it can end, every shape of log, and files that grow."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.cli import verdict as module
from linkedbandits.cli.verdict import about_how_many_rows, read_costs
from linkedbandits.errors import InvalidParameter
from tests.support.command_line import COMMAND, environment, refusal, run, run_in_its_own_process
from tests.support.logs import HOSTILE, plays_of, text_of, write_log
from tests.support.processes import catches
from tools.waiting import SECONDS, killed_in_the_end, until

CLEAR = ([0.9, 0.5, 0.3], 900)
CLOSE = ([0.5, 0.52], 60)


@pytest.fixture
def log(tmp_path):
    """A function that writes a log, and gives its path."""
    return lambda *arguments, **options: str(write_log(tmp_path / "attempts.csv", *arguments, **options))


def data_of(*arguments):
    """The JSON, and the status that it came with."""
    result = run("verdict", *arguments, "--json")
    assert result.stderr == ""
    return json.loads(result.stdout), result.returncode


def words(result):
    return " ".join(result.stdout.split())


# ------------------------------------------------------------------------------------------------------ how it ends


def test_a_verdict_is_status_0(log):
    result = run("verdict", log(*CLEAR))
    assert (result.returncode, result.stderr) == (0, "")
    assert "a works most often, wrong with probability at most 0.05 (decided after" in words(result)


def test_not_yet_is_status_3_with_what_is_missing(log):
    result = run("verdict", log(*CLOSE))
    assert (result.returncode, result.stderr) == (3, "")
    assert "Not yet: the log does not decide which option works most often." in words(result)
    assert re.search(r"- a: about [\d,]+ more first attempts: [\d,]+ more requests, \d+ \w+ at its rate", result.stdout)


def test_names_split_by_case_are_said_above_the_table_and_beside_not_yet_and_can_be_joined(tmp_path):
    path = tmp_path / "mixed.csv"
    rows = [f"{number},{('openai', 'OpenAI', 'azure')[number % 3]},{number % 2}" for number in range(60)]
    path.write_text("request,option,ok\n" + "\n".join(rows) + "\n")
    said = "'openai' and 'OpenAI' differ only in case, and are two options; --ignore-case"
    split = words(run("verdict", str(path)))
    above, below = split.split(" limits) ", 1)
    assert said in above
    assert said in below.split("Missing, if it goes on like this")[0].split("Not yet: ")[1]
    assert split.count(said) == 2  # and not in the notes once more
    joined = words(run("verdict", str(path), "--ignore-case"))
    assert "2 options" in joined
    assert "are taken for one option, 'openai'" in joined
    assert said not in joined


def test_a_verdict_that_an_alarm_speaks_against_is_status_4_with_the_remedy(log):
    result = run("verdict", log([0.9, 0.5], 2000, since=1500, then=[0.5, 0.5]))
    assert (result.returncode, result.stderr) == (4, "")
    assert "Alarm Since" not in result.stdout
    assert "works less often" in words(result)
    assert "Use the part of the log behind the request at which it was noticed" in words(result)


def test_options_that_fail_together_are_no_matter_unless_all_attempts_are_read(log):
    path = log([0.9, 0.7, 0.5], 3000, difficulty=0.3)
    first, every = run("verdict", path), run("verdict", path, "--attempts", "all")
    assert (first.returncode, every.returncode) == (0, 4)
    assert "What follows does not touch a verdict from first attempts" in words(first)
    assert "Read first attempts only" not in words(first)
    assert "Read first attempts only" in words(every)


def test_an_effort_that_is_used_up_is_no_verdict_with_a_guarantee(log):
    data, status = data_of(log(*CLEAR), "--policy", "uniform-sampling:samples=20")
    assert (data["verdict"]["status"], data["verdict"]["error_bound"], status) == ("exhausted", None, 3)


@pytest.mark.parametrize("policy", ["lil-ucb", "linked-ege"])
def test_a_policy_without_a_bound_names_an_option_without_a_proof_with_status_3(log, tmp_path, policy):
    path, page = log([0.95, 0.2], 30_000), tmp_path / "page.html"
    data, status = data_of(path, "--policy", policy, "--report", str(page))
    assert (data["verdict"]["arm"], data["verdict"]["status"], data["verdict"]["error_bound"]) == (
        "a",
        "confident",
        None,
    )
    assert (status, data["exit_status"], data["proved"]) == (3, 3, False)
    assert data["sentence"].startswith("a is the answer of the policy, without a guarantee")
    assert not data["order"]["settled"]
    shown = page.read_text().partition("</style>")[2]
    assert "stopped without a guarantee" in shown
    assert "decided" not in shown
    text = run("verdict", path, "--policy", policy)
    assert (text.returncode, "decided" in text.stdout) == (3, False)


def test_what_was_told_to_duels_is_said_in_the_text_the_page_and_the_json(log, tmp_path):
    path, page = log([0.5, 0.5], 3000, by_request=True), tmp_path / "page.html"
    told = ("--attempts", "duels", "--policy", "linked-duels:gap=0.3", "--report", str(page))
    data, status = data_of(path, *told)
    assert (status, data["proved"], data["verdict"]["assumes"]) == (0, True, ["told difference"])
    said = "wrong with probability at most 0.05 if it is ahead by as much as was told"
    why = "The best option is taken to be ahead of every other by at least 0.3, as was told"
    text = words(run("verdict", path, *told))
    for shown in (text, " ".join(page.read_text().split())):
        assert said in shown
        assert why in shown
    assert "it assumes: told difference." in page.read_text()
    assert any(why in note for note in data["notes"])


def test_told_what_difference_matters_and_contradicted_is_status_4(log):
    path, told = log([0.5] * 6, 3000), ("--delta", "1e-6", "--policy", "linked-lead:gap=0.3")
    data, status = data_of(path, *told)
    assert "What was seen speaks against: told difference." in run("verdict", path, *told).stdout
    assert data["verdict"]["contradicted"] == ["told difference"]
    assert status == data["exit_status"] == 4


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; give a header, and a row for each attempt or each request"),
        ("req,provider,status\n", "has no rows; give one"),
        ("req,provider,status\n1,a,ok\n2,a,ok\n", "the log has 1 option; to choose takes two"),
        ("x,y\n1,2\n", "say which with --request COLUMN, or give --order COLUMN and --hit COLUMN"),
        ("request,provider,model,ok\n1,a,x,1\n", "say which with --option 'provider'"),
        ("req,provider,status\n1,a,perhaps\n2,b,maybe\n", "2 of 2 rows of"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line_with_the_remedy(tmp_path, text, said):
    path = tmp_path / "log.csv"
    path.write_text(text)
    assert said in refusal("verdict", str(path))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--attempts", "some"), "--attempts 'some' is unknown; choose first, duels or all"),
        (("--delta", "1.5"), "--delta 1.5"),
        (("--alpha", "0"), "--alpha 0"),
        (("--policy", "linked-duels"), "use --attempts 'duels' for LinkedDuels"),
        (("--policy", "best-guess"), "best-guess"),
        (("--policy", "linked-lead:gap=0.1", "--costs", "1,2,3"), "were given; write the costs with the policy"),
        (("--costs", "1,2"), "--costs 1,2 are 2 for 3 options; give one for each of"),
        (("--costs", "a=1,b=2,x=3"), "--costs has 'x', which is no option of this log"),
        (("--costs", "a=1,b=2"), "has nothing for c; give a cost for each option"),
        (("--costs", "cheap"), "--costs 'cheap' are no numbers; write --costs north=1,east=2.5"),
        (("--attempts", "duels", "--costs", "1,2,3"), "leave out the costs"),
        (("--outcome", "nothing"), "nothing"),
        (("--blank", "bad"), "--blank 'bad' is unknown; choose failure, success, aside"),
        (("--go-on",), "--go-on is about --watch; give both, or leave it out"),
        (("--watch", "--every", "0"), "--every 0 is no time to wait; give seconds above 0"),
        (("--report", "no/such/folder/out.html"), "cannot be written"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_a_line(log, arguments, said):
    assert said in refusal("verdict", log(*CLEAR), *arguments)


def test_a_file_that_is_not_there(tmp_path):
    assert refusal("verdict", str(tmp_path / "none.csv")).endswith(
        "none.csv: there is no such file or folder; give a file of text"
    )
    assert refusal("verdict", str(tmp_path / "none.csv"), "--watch").startswith("cannot read ")
    assert "cannot read" in refusal("verdict", str(tmp_path))


# ------------------------------------------------------------------------------------------------- shapes and options


def test_a_row_a_request_a_row_an_attempt_and_json_lines_say_the_same(tmp_path):
    plays = plays_of(*CLEAR)
    by_attempt, by_request, lines, packed = (tmp_path / name for name in ("a.csv", "r.csv", "l.jsonl", "p.csv.gz"))
    by_attempt.write_text(text_of(plays))
    by_request.write_text(text_of(plays, by_request=True))
    lines.write_text("".join(f"{json.dumps({'order': order, 'hit': hit})}\n" for order, hit in plays))
    packed.write_bytes(gzip.compress(by_attempt.read_bytes()))
    found = [data_of(str(path))[0] for path in (by_attempt, by_request, lines, packed)]
    assert {each["sentence"] for each in found} == {found[0]["sentence"]}
    assert {each["requests"] for each in found} == {900}
    assert found[0]["columns"] == {"request": "req", "option": "provider", "outcome": "status", "time": "ts"}
    assert found[1]["columns"] == {"order": "order", "hit": "hit", "time": "ts"}
    assert run("verdict", str(by_request), "--attempts", "duels").returncode == 0


def test_standard_input(log, monkeypatch, tmp_path):
    path = log(*CLEAR)

    class Input:
        buffer = io.BytesIO((tmp_path / "attempts.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    result = run("verdict", "-")
    assert result.returncode == 0
    assert result.stdout == run("verdict", path).stdout.replace(f"{path}: ", "standard input: ")
    Input.buffer = io.BytesIO(b"x,y\n1,2\n")
    assert refusal("verdict", "-").startswith("standard input has no column")
    assert "standard input is none" in refusal("verdict", "-", "--watch")


def test_a_pipe_is_read_like_standard_input(log, tmp_path):
    path, pipe = log(*CLEAR), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", path, str(pipe)])
    with killed_in_the_end(writer):
        result = run_in_its_own_process("verdict", str(pipe))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == run("verdict", path).stdout.replace(f"{path}: ", f"{pipe}: ")
    assert "--watch follows a file, and" in refusal("verdict", str(pipe), "--watch")


def test_several_files_are_one_log(tmp_path, monkeypatch):
    plays = plays_of(*CLEAR)
    one, two, whole = (tmp_path / name for name in ("one.csv", "two.csv", "whole.csv"))
    one.write_text(text_of(plays[:400]))
    two.write_text(text_of(plays[400:], begin=400) + "torn\n")
    whole.write_text(text_of(plays))
    found, status = data_of(str(one), str(two))
    alone, _ = data_of(str(whole))
    assert (found["sentence"], found["rows"], status) == (alone["sentence"], alone["rows"] + 1, 0)
    assert found["file"] == f"{one} and 1 more"
    lines = two.read_text().count("\n")
    assert [(each["lines"], each["files"]) for each in found["set_aside"]] == [([lines], [str(two)])]

    class Input:
        buffer = io.BytesIO(two.read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    assert f"in line {lines:,} of standard input" in words(run("verdict", str(one), "-"))
    assert "was given twice" in refusal("verdict", str(one), str(one))
    assert "--watch follows one file, and 2 were given" in refusal("verdict", str(one), str(two), "--watch")


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays_of(*CLEAR)).replace("ts,req,provider,status", "one,two,three,four"))
    named = ("--request", "two", "--option", "three", "--outcome", "four", "--time", "one")
    result = run("verdict", str(path), *named)
    assert result.returncode == 0
    assert "Columns, as given: request is two, option is three, outcome is four, time is one." in words(result)
    assert "guessed" not in result.stdout


def test_what_was_taken_for_a_success_is_said_everywhere(tmp_path):
    """In a column that counts errors a zero is one."""
    path, page = tmp_path / "log.csv", tmp_path / "out.html"
    text = text_of(plays_of(*CLEAR)).replace("provider,status", "provider,error_count")
    path.write_text(re.sub(",(ok|failed)$", lambda found: ",0" if found[1] == "ok" else ",1", text, flags=re.M))
    arguments = (str(path), "--outcome", "error_count", "--report", str(page))
    data, status = data_of(*arguments)
    assert (status, data["verdict"]["arm"], data["taken_for_success"]) == (0, "a", ["0"])
    assert "Taken for a success in error_count: '0'." in words(run("verdict", *arguments))
    assert "Taken for a success in error_count: '0'." in page.read_text()


def test_json_has_the_report_and_nothing_else(log):
    path = log(*CLEAR)
    data, status = data_of(path, "--delta", "0.01", "--alpha", "0.001")
    report = lb.read_attempts(path).verdict(delta=0.01, alpha=0.001)
    assert status == data["exit_status"] == 0
    assert data["verdict"]["arm"] == report.verdict.arm
    assert data["sentence"] == report.sentence
    assert [each["mean"] for each in data["estimates"]] == [each.mean for each in report.estimates]
    assert (data["rows"], data["requests"], data["delta"]) == (len(report.log), 900, 0.01)
    assert data["options"] == list(report.log.options)


def test_json_has_no_numbers_that_are_none(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("req,provider,status\n" + "".join(f"{n},a,failed\n{n},b,ok\n" for n in range(30)))
    result = run("verdict", str(path), "--json")
    data = json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert result.returncode == 3
    assert any(each["requests"] is None for each in data["missing"])


def test_one_order_needs_the_word_of_the_user(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text_of([(("a", "b"), "a" if n % 10 else "b") for n in range(600)]))
    assert data_of(str(path), "--attempts", "all")[1] == 3
    data, _ = data_of(str(path), "--attempts", "all", "--independent")
    assert data["verdict"]["assumes"] == ["independent options"]


def test_costs_go_by_names_or_by_order(log):
    path = log([0.9, 0.5, 0.3], 2000)
    options = lb.read_attempts(path).options
    cost = {"a": 9, "b": 1, "c": 9}
    named, _ = data_of(path, "--costs", ",".join(f"{name}={value}" for name, value in cost.items()))
    ordered, _ = data_of(path, "--costs", ",".join(str(cost[option]) for option in options))
    assert named == ordered
    assert named["verdict"]["arm"] == "b"
    assert "has most successes per cost" in named["sentence"]


def timed_log(tmp_path):
    rng, rows = random.Random(7), ["req,provider,status,latency_ms"]
    for number in range(900):
        option = rng.choice(["slow", "quick"])
        works = rng.random() < (0.9 if option == "slow" else 0.7)
        rows.append(
            f"{number},{option},{'ok' if works else 'failed'},{rng.randint(1000, 1900) if option == 'slow' else 100}"
        )
    path = tmp_path / "timed.csv"
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_costs_may_be_seconds(tmp_path):
    result = run("verdict", timed_log(tmp_path), "--costs", "seconds")
    assert "works per second" in words(result)
    assert "- quick, slow: " in words(result)
    assert "It goes by successes for the seconds measured" in words(result)


def test_a_deadline_makes_late_successes_failures(tmp_path):
    path = timed_log(tmp_path)
    data, _ = data_of(path)
    late, status = data_of(path, "--deadline", "1.2")
    assert (data["deadline"], late["deadline"], status) == (None, 1.2, 0)
    assert late["verdict"]["arm"] == "quick"
    assert data["verdict"] is None or data["verdict"]["arm"] == "slow"
    page = tmp_path / "page.html"
    result = run("verdict", path, "--deadline", "1.2", "--report", str(page))
    assert "quick works most often within 1.2 seconds" in words(result)
    assert "A success that took longer than 1.2 seconds counts as a failure" in words(result)
    assert "<dt>deadline</dt><dd>1.2 seconds</dd>" in page.read_text()
    assert "Cost and time of an attempt" in page.read_text()
    assert "behind a success that came too late" in refusal("verdict", path, "--deadline", "1.2", "--attempts", "duels")
    assert "deadline" in refusal("verdict", path, "--deadline", "0")


def test_words_of_another_language_are_given_as_often_as_needed(tmp_path):
    path = tmp_path / "log.csv"
    words_used = ("erledigt", "gut", "kaputt")
    rows = (f"{number},{'ab'[number % 2]},{words_used[number % 3]}\n" for number in range(90))
    path.write_text("request,option,status\n" + "".join(rows))
    assert "with --success 'erledigt' or --failure 'erledigt'" in refusal("verdict", str(path))
    data, _ = data_of(str(path), "--success", "erledigt", "--success", "gut", "--failure", "kaputt")
    assert sum(each["successes"] for each in data["estimates"]) == 60


def test_successes_without_seconds_under_a_deadline(tmp_path):
    path = timed_log(tmp_path)
    with Path(path).open("a") as file:
        file.write("".join(f"more{number},quick,1,\n" for number in range(3)))
    assert "with --blank-seconds 'late' or --blank-seconds 'in-time'" in refusal("verdict", path, "--deadline", "1.2")
    late, _ = data_of(path, "--deadline", "1.2", "--blank-seconds", "late")
    in_time, _ = data_of(path, "--deadline", "1.2", "--blank-seconds", "in-time")
    successes = [
        each["successes"] for data in (late, in_time) for each in data["estimates"] if each["option"] == "quick"
    ]
    assert successes[1] == successes[0] + 3
    assert "give both, or leave it out" in refusal("verdict", path, "--blank-seconds", "late")
    said = refusal("verdict", path, "--deadline", "1", "--blank-seconds", "aside")
    assert "--blank-seconds 'aside' is unknown; choose late or in-time" in said


def test_costs_of_names_with_commas():
    assert read_costs('"a,b=2",c=3', ("a,b", "c")) == (2.0, 3.0)
    assert read_costs(None, ("a", "b")) == ()
    with pytest.raises(InvalidParameter):
        read_costs("", ("a", "b"))


def test_the_rows_of_a_file_are_guessed_for_the_bar(tmp_path):
    path = tmp_path / "log"
    path.write_text("1,a,ok\n" * 100_000)
    assert about_how_many_rows(path) == pytest.approx(100_000, rel=0.01)
    path.write_bytes(gzip.compress(b"1,a,ok\n" * 100_000))
    assert about_how_many_rows(path) is None
    path.write_bytes(b"")
    assert about_how_many_rows(path) is None
    assert about_how_many_rows(tmp_path / "none") is None


def test_the_help_says_how_it_ends():
    shown = run("verdict", "--help", COLUMNS="80").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    said = " ".join(shown.split())
    assert (
        "status 0 if there is a proved verdict, 3 if not yet or if the policy names an option without a proof" in said
    )


def test_the_page_is_written_beside(log, tmp_path):
    page = tmp_path / "out.html"
    result = run("verdict", log(*CLEAR, labels=HOSTILE[:3]), "--report", str(page))
    assert result.returncode == 0
    assert f"The page is in {page}." in result.stdout
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"verdict {tmp_path}/attempts.csv --report" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempts.csv", "out.html"]


# ------------------------------------------------------------------------------------------------ a file that grows


class Clock:
    """A clock for the command, which does something each time it waits, instead of waiting."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.waited = []

    def monotonic(self):
        return 0.0

    def sleep(self, seconds):
        self.waited.append(seconds)
        if not self.steps:
            raise AssertionError("the command waits though all has been written")
        self.steps.pop(0)()


@pytest.fixture
def watched(monkeypatch):
    """A function that watches a file to which these texts are added, one after each look; functions are called."""

    def watch(path, *steps, arguments=()):
        def adding(text):
            return lambda: path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

        clock = Clock(*(step if callable(step) else adding(step) for step in steps))
        monkeypatch.setattr(module, "time", clock)
        result = run("verdict", str(path), "--watch", "--every", "7", *arguments)
        assert set(clock.waited) == {7.0}
        return result

    return watch


def test_a_file_is_watched_until_there_is_a_verdict(tmp_path, watched):
    plays = plays_of(*CLEAR)
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays[:10]))
    rest = text_of(plays[10:], begin=10, header=False)
    result = watched(path, rest[:1003], lambda: None, rest[1003:1500], rest[1500:])
    assert (result.returncode, result.stderr) == (0, "")
    events, _, report = result.stdout.partition("\n\n")
    lines = events.splitlines()
    assert lines[0].startswith("10 requests of 3 options. Not yet: ")
    assert lines[-1].startswith("There is a verdict, after ")
    assert sum(line.startswith(("b is out", "c is out")) for line in lines) == 2
    assert len(lines) == len(set(lines))
    assert "Set aside" not in result.stdout  # halves of lines wait for the rest
    assert "a works most often" in report


def test_a_watch_for_duels_waits_for_the_second_attempt_of_the_last_request(tmp_path, watched):
    path = tmp_path / "growing.csv"
    whole = "".join(f"{n},a,ok\n{n},b,\nx{n},b,failed\nx{n},a,ok\n" for n in range(60))
    path.write_text("request,option,outcome\n1000,a,ok\n1000,b,\n1001,b,failed\n")
    result = watched(path, "1001,a,ok\n" + whole, arguments=["--attempts", "duels"])
    assert (result.returncode, result.stderr) == (0, "")
    assert "122 requests" in words(result)


def test_a_watched_file_may_begin_empty(tmp_path, watched):
    path = tmp_path / "log.csv"
    path.touch()
    text = text_of(plays_of(*CLEAR))
    result = watched(path, text[:10], text[10:30], text[30:60], text[60:])
    assert result.returncode == 0
    assert result.stdout.startswith(f"{path} has not two options yet; waiting for more.\nc is out")


def test_a_watched_file_may_be_rotated_and_cut_off(tmp_path, watched):
    plays = plays_of([0.6, 0.4], 3000, seed=2)
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays[:40]))

    def rotate():
        path.rename(tmp_path / "log.csv.1")
        path.write_text(text_of(plays[40:60], begin=40))

    def cut_off():
        path.write_text(text_of(plays[60:70], begin=60))

    def cut_off_and_longer():
        path.write_text(text_of(plays[70:100], begin=70, header=False))

    last = text_of(plays[100:], begin=100, header=False)
    result = watched(path, rotate, cut_off, cut_off_and_longer, last, arguments=["--json"])
    assert result.returncode == 0
    *events, report = map(json.loads, result.stdout.splitlines())
    said = [event["said"] for event in events if event["event"] == "file"]
    assert [" ".join(line.split()[1:3]) for line in said] == ["was replaced", "was cut", "was cut"]
    assert (report["requests"], report["set_aside"]) == (3000, [])
    assert report["verdict"]["arm"] == "a"


def test_an_alarm_is_told_when_it_comes_up_and_the_end_is_status_4(tmp_path, watched):
    plays = plays_of([0.55, 0.5], 400, seed=3, since=200, then=[0.05, 0.5])
    more = text_of(plays_of([0.05, 0.5], 2000, seed=4), begin=400, header=False)
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays[:150]))
    report = ("--report", str(tmp_path / "out.html"))
    result = watched(path, text_of(plays[150:], begin=150, header=False), more, arguments=report)
    assert result.returncode == 4
    events, _, report = result.stdout.partition("\n\n")
    assert re.search(
        r"^Alarm, after [\d,]+ requests: Since request [\d,]+ \([^)]+ UTC\) 'a' works less often", events, re.MULTILINE
    )
    assert "b works most often" in report
    assert "decided, but with an alarm" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_watch_may_go_on_for_alarms_and_ends_with_ctrl_c(tmp_path, watched):
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays_of(*CLEAR)))
    worse = text_of(plays_of([0.2, 0.5, 0.3], 600, seed=4), begin=900, header=False)

    def ctrl_c():
        raise KeyboardInterrupt

    result = watched(path, lambda: None, worse, ctrl_c, arguments=["--go-on"])
    assert result.returncode == 130
    assert result.stderr == (
        "linkedbandits: interrupted; the log stays as it is, and the same command looks at it again\n"
    )
    said, _, after = result.stdout.partition("The watch goes on, for alarms; Ctrl-C ends it.\n")
    assert said.count("a works most often") == 1
    assert re.match(r"Alarm, after 1,500 requests: Since request \d+ \([^)]+ UTC\) 'a' works less often", after)
    assert "There is a verdict" not in after


def test_a_long_look_is_followed_by_a_longer_pause(tmp_path, monkeypatch, log):
    path = tmp_path / "attempts.csv"
    log(*CLOSE)
    ticks = iter(range(0, 1000, 5))
    clock = Clock(lambda: path.write_text(text_of(plays_of(*CLEAR), begin=10_000)))
    clock.monotonic = lambda: float(next(ticks))
    monkeypatch.setattr(module, "time", clock)
    assert run("verdict", str(path), "--watch", "--every", "7").returncode == 0
    assert clock.waited == [10.0]


def test_what_is_packed_cannot_be_watched(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(text_of(plays_of(*CLEAR)).encode()))
    assert "is none; leave --watch out" in refusal("verdict", str(path), "--watch")


def test_a_watched_file_that_cannot_be_used_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n1,2\n")
    said = refusal("verdict", str(path), "--watch")
    assert said.startswith(f"{path} has no column")


@pytest.mark.slow
def test_a_signal_ends_the_watch_with_a_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(text_of(plays_of(*CLOSE)))
    process = subprocess.Popen(
        [*COMMAND, "verdict", str(path), "--watch", "--every", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1", TMPDIR=str(tmp_path)),
        start_new_session=True,
    )
    with process, killed_in_the_end(process):
        until(lambda: catches(process.pid, signal.SIGTERM), "the command to listen")
        assert process.stdout.readline().startswith("60 requests of 2 options. Not yet: ")
        with path.open("a", encoding="utf-8") as file:
            file.write(text_of([(("a", "b", "new"), None)] * 3, begin=60, header=False))
        assert process.stdout.readline() == "new is a new option, after 63 requests.\n"
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=SECONDS)
    assert (process.returncode, said) == (130, "")
    assert complained == (
        "linkedbandits: interrupted; the log stays as it is, and the same command looks at it again\n"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["log.csv"]


def test_the_page_does_not_take_the_place_of_the_log(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("request,option,outcome\n1,a,ok\n2,b,failed\n", encoding="utf-8")
    assert "is the log itself" in refusal("verdict", str(log), "--report", str(log))
    assert log.read_text(encoding="utf-8").startswith("request,")


def test_what_cannot_be_read_leaves_no_page(tmp_path):
    refusal("verdict", str(tmp_path / "nowhere.csv"), "--report", str(tmp_path / "page.html"))
    assert not (tmp_path / "page.html").exists()


def test_since_reads_from_a_request_or_a_time_on(log):
    path = log(*CLEAR)
    whole, _ = data_of(path)
    part, status = data_of(path, "--since", "300")
    assert (part["requests"], status) == (600, 0)
    assert part["noticed"][0].startswith("Read from request 300 on, of 900")
    assert whole["requests"] == 900
    assert "no requests since 900" in refusal("verdict", path, "--since", "900")
    assert "neither a number of a request nor a time" in refusal("verdict", path, "--since", "yesterday")
