"""``linkedbandits verdict``: which option is best, from a log of attempts."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from linkedbandits.checks import check_delta, check_positive, check_probability
from linkedbandits.cli import options as opt
from linkedbandits.cli.options import time_in
from linkedbandits.cli.tables import finite, progress_bar, standard_report
from linkedbandits.errors import CannotWrite, InvalidParameter, LinkedBanditError, why_not
from linkedbandits.signals import what_is_kept

if TYPE_CHECKING:
    from linkedbandits.attempts import Attempts
    from linkedbandits.attempts.log import BlankSeconds, Which
    from linkedbandits.attempts.orders import GivenCosts
    from linkedbandits.attempts.report import Report
    from linkedbandits.cli.verdict_watch import Event
    from linkedbandits.policy import AnyPolicy

STATUS = {"decided": 0, "not yet": 3, "unproved": 3, "doubted": 4}
"""What the command ends with. 2 is for input that cannot be used, as everywhere."""
WHICH = ("first", "duels", "all")
BLANK_SECONDS = ("late", "in-time")
STANDARD_INPUT = "standard input"
SAMPLE = 1 << 16
"""Bytes of a file from which the length of its rows is guessed, for the progress bar."""
PAUSE = 2.0
"""With --watch, a look is followed by a pause of at least this many times as long as it took."""

GOES_ON = "The watch goes on, for alarms; Ctrl-C ends it."

_PARAMETERS = (
    "request|option|outcome|position|time|cost|seconds|order|hit|options|separator|blank|blank_seconds|success|failure|"
    "attempts"
)
_AS_IN_PYTHON = re.compile(rf"\b({_PARAMETERS})=(?=['\"]|\.\.\.)")
_COLUMNS = "Columns, where the guess is wrong"


def _column(said: str) -> Any:
    return typer.Option(help=said, rich_help_panel=_COLUMNS, show_default=False)


def verdict(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="The log: CSV, TSV, JSON lines or Parquet, a row for each attempt or one for each request; also with "
            "gzip or zstd around it. Several files are one log, in the order given. - reads standard input; a pipe "
            "is read to its end.",
            show_default=False,
        ),
    ],
    attempts: Annotated[
        str,
        typer.Option(
            help="What may be read: first, the first attempt of each request; duels, the first two options as they "
            "were offered; or all, every attempt, if options are independent. The first two are fair even where "
            "options fail together.",
            autocompletion=opt.one_of(WHICH),
        ),
    ] = "first",
    delta: opt.Delta = 0.05,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent",
            help="With --attempts all: your word that options are independent, where the log has one order only and "
            "it cannot be checked.",
        ),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="The policy that reads the log, with parameters after a colon: linked-lead:lift=0.1 if the best "
            "option is ahead by that, or package.module:Class for one of your own. Unless given, "
            "the one best option is looked for with all that the log has.",
            show_default=False,
            autocompletion=opt.complete_policy,
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="What an attempt of each option costs, for most successes per cost: north=1,east=2.5; or 1,2.5 in "
            "the order in which options turn up; or seconds, for an order by the times that attempts took.",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            help="How long an attempt may take, in seconds or with a unit, as 800ms: a success that took longer counts "
            "as a failure.",
            show_default=False,
            parser=time_in("s"),
        ),
    ] = None,
    blank_seconds: Annotated[
        str | None,
        typer.Option(
            help="With --deadline: what a success is that does not say how long it took, late or in-time. Unless "
            "given, such successes are refused.",
            show_default=False,
            autocompletion=opt.one_of(BLANK_SECONDS),
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="The probability of any alarm, ever, if there is no reason for one.")
    ] = 0.01,
    since: Annotated[
        str | None,
        typer.Option(
            help="Read from there on: a time, 2024-05-01T13:30:00Z, or the number of a request. Chosen by what "
            "happened, it takes the guarantee away; behind the request at which an alarm was noticed it does not.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page with pictures: out.html", show_default=False)
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Follow the file as it grows, through rotations, until there is a verdict; print a line when "
            "something is new. Its status is that of the verdict. Keeps a copy of the log in the temporary folder, and "
            "reads it anew at each look.",
        ),
    ] = False,
    go_on: Annotated[
        bool,
        typer.Option(
            "--go-on",
            help="With --watch: say the verdict when there is one, and go on watching for alarms until Ctrl-C.",
        ),
    ] = False,
    every: Annotated[
        float,
        typer.Option(metavar="TIME", help="With --watch, seconds between looks, at least.", parser=time_in("s")),
    ] = 2.0,
    as_json: opt.Json = False,
    request: Annotated[str | None, _column("The request that an attempt belongs to.")] = None,
    option: Annotated[str | None, _column("The option that was tried.")] = None,
    outcome: Annotated[str | None, _column("Whether it worked: ok, failed, 0, 1, an HTTP status, an error.")] = None,
    position: Annotated[str | None, _column('Which attempt of its request it was; "" for none.')] = None,
    time: Annotated[str | None, _column('When it was; "" for none.')] = None,
    cost: Annotated[str | None, _column('What it has cost; "" for none.')] = None,
    seconds: Annotated[str | None, _column('How long it took; "" for none.')] = None,
    order: Annotated[str | None, _column("With a row a request: the options in the order they were offered.")] = None,
    hit: Annotated[str | None, _column("With a row a request: the option that worked, blank for none.")] = None,
    options: Annotated[
        str | None,
        typer.Option(
            help="All options, in the order they are to have: north,east. Unless given, those that turn up.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(help="What is between fields; guessed.", rich_help_panel=_COLUMNS, show_default=False),
    ] = None,
    success: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="A word of the outcomes that is a success, such as erledigt. May be repeated.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None,
    failure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="A word of the outcomes that is a failure. May be repeated.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None,
    ignore_case: Annotated[
        bool,
        typer.Option(
            "--ignore-case",
            help="Take OpenAI and openai for one option, called as it is written most often.",
            rich_help_panel=_COLUMNS,
        ),
    ] = False,
    blank: Annotated[
        str | None,
        typer.Option(
            help="What an attempt without an outcome is: failure, success, or aside to leave it out. Unless given, "
            "a few are left out, and many refused.",
            rich_help_panel=_COLUMNS,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Which option is best, from a log of attempts.

    It prints what was read and how, an estimate of each option, the
    verdict or what is missing for one, the best order to try options in,
    and alarms where the log denies what a verdict needs. Wrong with
    probability at most delta, for all looks at a growing log together.

    It ends with status 0 if there is a proved verdict, 3 if not yet or if
    the policy names an option without a proof, 4 if an alarm speaks against
    the verdict, and 2 if the input cannot be used.
    """
    columns = {
        "request": request,
        "option": option,
        "outcome": outcome,
        "position": position,
        "time": time,
        "cost": cost,
        "seconds": seconds,
        "order": order,
        "hit": hit,
    }
    names = None if options is None else [name.strip() for name in next(csv.reader([options]), [])]
    looking = _Looking(
        reading={
            **columns,
            "options": names,
            "separator": separator,
            "blank": blank,
            "ignore_case": ignore_case,
            "success": success or (),
            "failure": failure or (),
        },
        given={meaning for meaning, column in columns.items() if column is not None},
        attempts=_checked_which(attempts),
        delta=delta,
        independent=independent,
        policy=policy,
        costs=costs,
        deadline=deadline,
        blank_seconds=blank_seconds,
        alpha=alpha,
        since=since,
        page=report,
        as_json=as_json,
    )
    looking.check()
    _check_files(files, report)
    if go_on and not watch:
        raise InvalidParameter("--go-on is about --watch; give both, or leave it out")
    if watch:
        if len(files) > 1:
            raise InvalidParameter(f"--watch follows one file, and {len(files)} were given; name the one that grows")
        if files[0] == "-":
            raise InvalidParameter("--watch follows a file, and standard input is none; name one, or leave --watch out")
        if Path(files[0]).exists() and not Path(files[0]).is_file():
            raise InvalidParameter(f"--watch follows a file, and {files[0]} is none; name one, or leave --watch out")
        if not (math.isfinite(every) and every > 0):
            raise InvalidParameter(f"--every {every:g} is no time to wait; give seconds above 0")
        with what_is_kept("the log stays as it is, and the same command looks at it again"):
            status = _watch(Path(files[0]), looking, every, go_on)
    else:
        with ExitStack() as kept:
            look = looking.at([kept.enter_context(_as_a_file(file)) for file in files])
            looking.show(look)
            status = look.status
    raise typer.Exit(status)


def _check_files(files: list[str], page: Path | None) -> None:
    """Refuse to read one twice, or to write over it."""
    twice = next((file for number, file in enumerate(files) if file in files[:number]), None)
    if twice is not None:
        raise InvalidParameter(f"{twice} was given twice, and would be counted twice; name it once")
    for file in files:
        if page is not None and file != "-" and page.exists() and Path(file).exists() and page.samefile(file):
            raise InvalidParameter(f"--report {page} is the log itself; name another file for the page")


def _checked_which(attempts: str) -> Which:
    if attempts not in WHICH:
        raise InvalidParameter(f"--attempts {attempts!r} is unknown; choose first, duels or all")
    return cast("Which", attempts)


@dataclass(frozen=True)
class _Look:
    """A report, and what it was made of."""

    report: Report
    name: str
    rows: int

    @property
    def status(self) -> int:
        """What the command ends with."""
        from linkedbandits.attempts.concerning import standing

        return STATUS[standing(self.report)]


@dataclass(frozen=True)
class _Looking:
    """How to look at a log, as the options say, and where to show it."""

    reading: dict[str, Any]
    given: set[str]
    attempts: Which
    delta: float
    independent: bool
    policy: str | None
    costs: str | None
    deadline: float | None
    blank_seconds: str | None
    alpha: float
    since: str | None
    page: Path | None
    as_json: bool

    def check(self) -> None:
        """Refuse what is wrong before a long file is read."""
        check_delta(self.delta)
        check_probability("alpha", self.alpha)
        self._policy()
        if self.deadline is not None:
            check_positive("deadline", self.deadline)
        if self.blank_seconds is not None:
            if self.blank_seconds not in BLANK_SECONDS:
                raise InvalidParameter(
                    f"--blank-seconds {self.blank_seconds!r} is unknown; choose {' or '.join(BLANK_SECONDS)}"
                )
            if self.deadline is None:
                raise InvalidParameter("--blank-seconds is about --deadline; give both, or leave it out")
        if self.policy is not None and self.costs not in (None, "seconds"):
            raise InvalidParameter(
                f"both --policy {self.policy} and --costs {self.costs} were given; write the costs with the policy, as "
                "linked-elimination:costs=1/2.5, or leave one out"
            )
        if self.page is not None:
            opt.check_writable("--report", self.page)

    def _policy(self) -> AnyPolicy | None:
        return None if self.policy is None else opt.read_policy(self.policy, self.delta, None)

    def at(self, files: list[_File]) -> _Look:
        """Read files and judge them, as one log."""
        name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
        with _said_by_the_command(files):
            log, rows = _read(files, self.reading, bar=True)
            return self.judge(log, name, rows)

    def judge(self, log: Attempts, name: str, rows: int) -> _Look:
        """What a log says."""
        if self.since is not None:
            log = log.since(self.since)
        if self.deadline is not None:
            log = log.within(self.deadline, cast("BlankSeconds | None", self.blank_seconds))
        report = log.verdict(
            self._policy(),
            delta=self.delta,
            attempts=self.attempts,
            independent=self.independent,
            costs=read_costs(self.costs, log.options),
            alpha=self.alpha,
        )
        return _Look(report, name, rows)

    def show(self, look: _Look) -> None:
        """Print it, and write the page."""
        self.write_page(look)
        if self.as_json:
            typer.echo(json.dumps(_as_data(look)))
            return
        from linkedbandits.cli.verdict_text import WhatWasRead, print_report

        console = standard_report()
        print_report(console, look.report, WhatWasRead(look.name, look.rows, self.given))
        if self.page is not None:
            console.print()
            console.print(f"The page is in {self.page}.")

    def write_page(self, look: _Look) -> None:
        """The page, whole at any time."""
        if self.page is None:
            return
        from linkedbandits.attempts.page import Made, page_of

        made = Made(look.name, _command(), self.alpha, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
        beside = self.page.with_name(f".{self.page.name}.part")
        try:
            beside.write_text(page_of(look.report, made), encoding="utf-8")
            beside.replace(self.page)
        except OSError as error:
            raise CannotWrite(f"--report {self.page} cannot be written: {why_not(error)}; name another file") from error

    def tell(self, event: Event) -> None:
        """A line."""
        typer.echo(json.dumps(event.to_json()) if self.as_json else event.said)


def _watch(path: Path, looking: _Looking, every: float, go_on: bool) -> int:
    """Look until there is a verdict, or, to go on, until somebody ends it."""
    from linkedbandits.cli.verdict_watch import Event, Follower, news

    before: _Look | None = None
    waits = False
    with (
        tempfile.TemporaryDirectory(prefix="linkedbandits-") as folder,
        closing(Follower(path, Path(folder) / "log")) as follower,
    ):
        while True:
            began = time.monotonic()
            grew, happened = follower.look()
            for said in happened:
                looking.tell(Event("file", before.report.log.requests if before else 0, said))
            now = _look_at_copy(follower.copy, str(path), looking) if grew else None
            if now is None and before is None and not waits:
                waits = True
                looking.tell(Event("waits", 0, f"{path} has not two options yet; waiting for more."))
            if now is not None:
                for event in news(None if before is None else before.report, now.report):
                    looking.tell(event)
                is_first = now.report.verdict is not None and (before is None or before.report.verdict is None)
                if is_first:
                    if not looking.as_json:
                        typer.echo("")
                    looking.show(now)
                    if not go_on:
                        return now.status
                    looking.tell(Event("goes-on", now.report.log.requests, GOES_ON))
                else:
                    looking.write_page(now)
                before = now
            time.sleep(max(every, PAUSE * (time.monotonic() - began)))


def _look_at_copy(copy: Path, name: str, looking: _Looking) -> _Look | None:
    """None where there is too little to look at; what is wrong otherwise does not get better with more."""
    files = [_File(copy, name)]
    with _said_by_the_command(files):
        with copy.open("rb") as file:
            begin = file.read(SAMPLE)
        if not begin.strip() or (not begin.lstrip().startswith(b"{") and len(begin.strip().splitlines()) < 2):
            return None
        log, rows = _read(files, looking.reading, bar=False)
        # The second attempt of the last request may not be written yet, and duels are refused without it.
        unfinished = looking.attempts == "duels" and log.cut_off.tolist() == [log.requests - 1]
        return looking.judge(log, name, rows) if len(log.options) > 1 and not unfinished else None


class _File(NamedTuple):
    """Where a log, or a part of it, is, and what the user calls it."""

    path: Path
    name: str


@contextmanager
def _as_a_file(file: str) -> Iterator[_File]:
    """A log as a file, and its name for people.

    A log is read from its beginning more than once, which standard input and pipes do not allow: what comes from them
    is kept in a file for as long as it is read.
    """
    path = Path(file)
    if file != "-" and (path.is_file() or path.is_dir() or not path.exists()):
        yield _File(path, file)
        return
    with tempfile.NamedTemporaryFile(prefix="linkedbandits-") as kept:
        if file == "-":
            shutil.copyfileobj(sys.stdin.buffer, kept)
        else:
            from linkedbandits.attempts.opening import read_errors

            with read_errors(file), path.open("rb") as pipe:
                shutil.copyfileobj(pipe, kept)
        kept.flush()
        yield _File(Path(kept.name), STANDARD_INPUT if file == "-" else file)


@contextmanager
def _said_by_the_command(files: list[_File]) -> Iterator[None]:
    """Errors in one line, about the files that the user has named, with remedies as the command line writes them."""
    try:
        yield
    except LinkedBanditError as error:
        said = _AS_IN_PYTHON.sub(
            lambda found: f"--{found[1].replace('_', '-')} ", _in_the_users_words(str(error), files)
        )
        raise type(error)(re.sub(r"\s*\n\s*", " ", said).replace(" ...", " COLUMN").strip()) from error


def _in_the_users_words(said: str, files: list[_File]) -> str:
    for path, name in files:
        said = said.replace(str(path), name)
    return said


def _read(files: list[_File], reading: dict[str, Any], bar: bool) -> tuple[Attempts, int]:
    """The log, and how many rows were looked at."""
    from linkedbandits.attempts import read_attempts

    paths = [file.path for file in files]
    if not bar:
        log = read_attempts(paths, **reading)
        return log, log.rows or 0
    guesses = [about_how_many_rows(path) for path in paths]
    guess = None if None in guesses else sum(each or 0 for each in guesses)
    shown = 0
    with progress_bar(guess, "rows" if guess is None else None) as advance:  # a guess is shown in percent

        def show(seen: int) -> None:
            nonlocal shown
            advance(f"reading {files[0].name}{'...' if len(files) > 1 else ''}", seen - shown)
            shown = seen

        log = read_attempts(paths, **reading, progress=show)
    if all(file.name == str(file.path) for file in files):
        return log, log.rows or 0
    aside = tuple(
        replace(each, files=tuple(_in_the_users_words(file, files) for file in each.files)) for each in log.set_aside
    )
    noticed = tuple(_in_the_users_words(said, files) for said in log.noticed)
    return replace(log, set_aside=aside, noticed=noticed), log.rows or 0


def about_how_many_rows(path: Path) -> int | None:
    """A guess from the first rows; None where they are packed, or not to be read."""
    try:
        with path.open("rb") as file:
            begin = file.read(SAMPLE)
        size = path.stat().st_size
    except OSError:
        return None
    if b"\0" in begin or not begin.count(b"\n"):
        return None
    return max(1, round(size / (len(begin) / begin.count(b"\n"))))


def read_costs(text: str | None, options: tuple[Any, ...]) -> GivenCosts:
    """What an attempt of each option costs, by names or in their order, or the word seconds.

    >>> read_costs("east=2.5,north=1", ("north", "east")), read_costs("1,2.5", ("north", "east"))
    ((1.0, 2.5), (1.0, 2.5))
    """
    if text is None:
        return ()
    if text.strip() == "seconds":
        return "seconds"
    parts = next(csv.reader([text], skipinitialspace=True), [])
    named = [part.rpartition("=") for part in parts]
    try:
        numbers = [float(number) for _, _, number in named]
    except ValueError:
        raise InvalidParameter(f"--costs {text!r} are no numbers; write --costs north=1,east=2.5") from None
    if not any(equals for _, equals, _ in named):
        if len(numbers) != len(options):
            raise InvalidParameter(
                f"--costs {text} are {len(numbers)} for {len(options)} options; give one for each of "
                f"{', '.join(map(str, options))}"
            )
        return tuple(numbers)
    by_name = {name.strip(): number for (name, _, _), number in zip(named, numbers, strict=True)}
    unknown = [name for name in by_name if name not in map(str, options)]
    if unknown:
        raise InvalidParameter(
            f"--costs has {unknown[0]!r}, which is no option of this log; they are {', '.join(map(str, options))}"
        )
    lacking = [str(option) for option in options if str(option) not in by_name]
    if lacking:
        raise InvalidParameter(f"--costs {text} has nothing for {', '.join(lacking)}; give a cost for each option")
    return tuple(by_name[str(option)] for option in options)


def _as_data(look: _Look) -> dict[str, Any]:
    from linkedbandits.attempts.alarms import speaks_against

    report = look.report
    data = report.to_json()
    for alarm, written in zip(report.alarms, data["alarms"], strict=True):
        written["speaks_against_verdict"] = speaks_against(alarm, report.attempts)
    added = {
        "file": look.name,
        "rows": look.rows,
        "options": list(report.log.options),
        "columns": dict(report.log.columns),
        "costs": list(report.costs),
        "exit_status": look.status,
    }
    return cast("dict[str, Any]", finite({**added, **data}))


def _command() -> str:
    return shlex.join(["linkedbandits", *sys.argv[1:]])
