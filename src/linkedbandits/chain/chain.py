"""Fallback chains: try options in order until one works, and learn which should come first.

    chain = lb.Chain({"stripe": pay_stripe, "adyen": pay_adyen}, delta=0.05)
    result = chain(order)

Calls are served whatever happens to the experiment. Where that has a play at hand, the play says in which order the
call tries the options; else they are tried in the best order known. ``docs/fallback-chains.md`` has the whole story.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

from linkedbandits.attempts.alarms import Alarm, level_of, speaks_against, watch
from linkedbandits.attempts.losses import LossAlarm, loss_alarms
from linkedbandits.chain import forks
from linkedbandits.chain.attempting import NeedsAwaiting, Option, discard, is_awaited, needs_acall
from linkedbandits.chain.behind import OthersSecond
from linkedbandits.chain.chapter import Chapter, Watching, missing_from, proved_places
from linkedbandits.chain.deadlines import timeouts_of
from linkedbandits.chain.drift import DriftAlarm
from linkedbandits.chain.expenses import Costs, Ledger, Spent, check_chain_costs, measured, nothing_tried
from linkedbandits.chain.history import Era, Move, options_changed, same_options
from linkedbandits.chain.home import LONGEST_WAIT, Home
from linkedbandits.chain.in_file import InFile
from linkedbandits.chain.in_memory import InMemory
from linkedbandits.chain.in_order import InOrder
from linkedbandits.chain.in_service import InService, Remote
from linkedbandits.chain.lookout import Lookout, in_a_thread
from linkedbandits.chain.results import Attempt, Outcome, Result, Role
from linkedbandits.chain.status import ChainStatus
from linkedbandits.chain.tally import Counts, Ending, Tally
from linkedbandits.chain.tracing import CallTrace, Tracing
from linkedbandits.chain.troubles import Troubles
from linkedbandits.chain.watching import Watch
from linkedbandits.checks import check_costs_of_arms, check_positive, check_probability, check_share, check_whole
from linkedbandits.display import counted, shown
from linkedbandits.errors import (
    AttemptTimedOut,
    ChainFailed,
    DamagedSave,
    InvalidParameter,
    StoreUnavailable,
    ValueRejected,
)
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.live import Experiment, Learning, Play
from linkedbandits.live.experiment import check_labels
from linkedbandits.model import Label, Verdict
from linkedbandits.option_estimates import OptionEstimates
from linkedbandits.policies import LinkedDuels, LinkedElimination, describe_policy
from linkedbandits.policy import AnyPolicy, check_is_policy

Function = Callable[..., Any]
Failures = type[Exception] | tuple[type[Exception], ...]
ChainAlarm = Alarm | LossAlarm | DriftAlarm

DEFAULT_DELTA = 0.05
SECOND_FOR_WATCHED = 2
"""After the verdict another option is second in this many calls for one that begins with another: they cost less."""
ALPHA = 0.01
"""The chance that alarms are raised though nothing is wrong, for all of them together."""


class Setup(NamedTuple):
    """What the experiment of a chain is made of."""

    labels: tuple[Label, ...]
    policy: AnyPolicy
    linkage: str | Linkage
    seed: int
    parallel: int | None

    def begin(self) -> Experiment:
        """A new experiment."""
        return Experiment(
            self.labels,
            self.policy,
            linkage=self.linkage,
            seed=self.seed,
            parallel=self.parallel,
            whole_chains=True,
        )

    def reopen(self, text: str) -> Experiment:
        """One that was saved, or an error that says how it differs."""
        linkage = find_linkage(self.linkage)
        try:
            experiment = Experiment.from_json(text, policy=self.policy, linkage=linkage)
        except DamagedSave as error:
            saved, given = policy_in(text), describe_policy(self.begin().policy)
            if error.reason == "newer_save" or saved is None or saved == given:
                raise
            raise InvalidParameter(
                f"the experiment in the file was begun with the policy {saved}, and not {given}; give the chain the "
                "same one, or another file"
            ) from error
        if self.policy.goal.costs and experiment.arms != self.labels:
            raise InvalidParameter(
                f"the options in the file are {', '.join(map(repr, experiment.arms))}, by which costs go; give the "
                "chain the same ones in that order, with their costs, or another file"
            )
        return experiment


class Chain:
    """Options that are tried until one works, in an order that is learned from the calls.

    ``chain(...)`` and ``await chain.acall(...)`` call the options with what they are given, one after the other, and
    return a :class:`Result` with the value of the first that works. If none does they raise
    :class:`~linkedbandits.errors.ChainFailed`. Any number of threads and tasks may call one chain.

    ``delta`` is the chance that the verdict is wrong, under :class:`~linkedbandits.LinkedDuels`, which holds where
    options fail together; or give a ``policy`` of your own, and the ``linkage`` it is to have. Where hundreds of calls
    are in flight at once, say so with ``parallel``: the policy then asks for as many plays at a time, which is quicker
    than to ask for few and be given many. Calls beyond that number are served without a play.

    An option fails if it raises one of ``failures``, if it takes longer than its timeout in seconds (``timeouts`` is
    one for all, or a mapping by option), or if ``worked`` is given and says no to its value. Any other error ends the
    call at once, and goes to the caller; the play is then lost to the experiment. So it is with a call that is
    cancelled or interrupted. ``deadline`` is the time in seconds within which every call ends: options without a
    timeout share evenly what the timeouts of the others leave of it, and have as much in whatever place.

    With ``costs`` options come in the order of success per cost. They are what an attempt of each option costs, a
    mapping: then the verdict is about success per cost, too, under :class:`~linkedbandits.LinkedElimination`, which
    reads what calls begin with and holds whatever depends on what. Or they are measured: ``"seconds"``, or a function
    that is given each :class:`Attempt` and the value it returned (None if it failed) and says what it has cost. Then
    the verdict is about success alone, and the order is an estimate by what this process has measured.

    ``watch`` is the share of calls that begin with another option after the verdict, to see whether it still holds.
    If it does not, because an option has changed, a new experiment begins, and comes to a new verdict. ``reopen`` is
    the chance that this happens ever though nothing has changed; None is for never. ``on_reopen`` is called with the
    :class:`Era` that has ended. :meth:`add` and :meth:`remove` change options, and so does a chain that is opened with
    others than its file or its experiment has, if it says ``change_options=True``.

    ``on_attempt`` is called with every :class:`Attempt`, ``on_result`` with what each call came to, a :class:`Result`
    or a ``ChainFailed``, ``on_verdict`` with the verdict and ``on_alarm`` with each alarm, once for each chain that is
    made: every process has its own, and a restart makes another. What they raise is logged, and changes nothing.
    ``tracing`` follows calls while they run, such as ``linkedbandits.adapters.opentelemetry.Spans()``.

    ``state`` is where the experiment lives: in memory if it is None; in the file with this path, which survives
    restarts and is shared by all processes of the machine that name it; or in the service, if it is an experiment of a
    client, such as ``client.create("payments", ["stripe", "adyen"], lb.LinkedDuels(0.05), linkage="free",
    whole_chains=True)``, which then has the policy. A play that is out for longer than ``lease`` seconds is given up;
    in the service its own lease counts.

    >>> import linkedbandits as lb
    >>> def north(text): raise ConnectionError("no route")
    >>> def east(text): return text.upper()
    >>> chain = lb.Chain({"north": north, "east": east}, delta=0.05)
    >>> chain("hello").value, chain("hello").option
    ('HELLO', 'east')
    >>> while chain.verdict() is None:
    ...     _ = chain("hello")
    >>> chain.verdict().arm, chain.order
    ('east', ('east', 'north'))
    """

    def __init__(
        self,
        options: Mapping[Label, Function],
        *,
        delta: float | None = None,
        policy: AnyPolicy | None = None,
        linkage: str | Linkage | None = None,
        parallel: int | None = None,
        failures: Failures = Exception,
        worked: Callable[[Any], object] | None = None,
        timeouts: float | Mapping[Label, float] | None = None,
        deadline: float | None = None,
        costs: Costs | None = None,
        watch: float | None = 0.05,
        reopen: float | None = 0.01,
        change_options: bool = False,
        on_attempt: Callable[[Attempt], object] | None = None,
        on_result: Callable[[Result | ChainFailed], object] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        on_alarm: Callable[[ChainAlarm], object] | None = None,
        on_reopen: Callable[[Era], object] | None = None,
        tracing: Tracing | None = None,
        state: str | os.PathLike[str] | Remote | None = None,
        lease: float = 60.0,
        seed: int = 0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._known = check_options(options, timeouts, deadline)  # by label, those that were removed among them
        self._deadline = deadline
        labels = tuple(self._known)
        self._failures: tuple[type[Exception], ...] = (*check_failures(failures), AttemptTimedOut, ValueRejected)
        self._worked = worked
        if worked is not None:
            check_plain_function("worked", worked)
        self._on_attempt, self._on_result = on_attempt, on_result
        self._on_verdict, self._on_alarm, self._on_reopen = on_verdict, on_alarm, on_reopen
        for name in ("on_attempt", "on_result", "on_verdict", "on_alarm", "on_reopen"):
            if getattr(self, f"_{name}") is not None:
                check_plain_function(name, getattr(self, f"_{name}"))
        self._tracing = check_tracing(tracing)
        check_positive("lease", lease)
        check_whole("seed", seed, least=0)
        if reopen is not None:
            check_probability("reopen", reopen)
        self._reopen, self._share, self._seed = reopen, check_watch(watch), seed
        self._lease, self._clock = lease, clock or time.monotonic
        self._troubles = Troubles()
        self._costs = check_chain_costs(costs, labels)
        if callable(self._costs):
            check_plain_function("costs", self._costs)
        chosen = check_policy(delta, policy, self._costs)
        self._costs = self._costs or costs_of(policy, labels)
        self._tally = Tally(labels)
        self._calls: InOrder[Call] = InOrder(self._read, lease, self._clock)
        by_cost = policy is None and isinstance(self._costs, Mapping)
        setup = Setup(check_labels(labels), chosen, linkage or ("single" if by_cost else "free"), seed, parallel)
        home: Home
        if state is None:
            home = InMemory(setup.begin(), lease, clock or time.monotonic, self._troubles)
        elif isinstance(state, str | os.PathLike):
            home = InFile(state, setup.begin, setup.reopen, lease, self._troubles, clock or time.time)
        else:
            known = costs if isinstance(costs, Mapping) else None
            given = {"delta": delta, "policy": policy, "linkage": linkage, "parallel": parallel, "costs": known}
            remote = check_remote(state, given)
            home = InService(
                remote,
                labels,
                lease,
                clock or time.monotonic,
                self._troubles,
                change_options=change_options,
                nothing_tried=lambda label: nothing_tried(self._costs, self._known[label].timeout),
            )
        self._turning = threading.Lock()  # held by whoever goes on with another chapter
        self._changing = threading.Lock()  # held by whoever adds or removes an option
        self._earlier: list[Home] = []  # of which answers may still come
        # Attempts above the best order, and costs above its cost, in experiments that this one goes on from.
        self._above_before = self._cost_above_before = 0.0
        self._chapter = self._first_chapter(home, labels, change_options)
        forks.call_in_child(self._be_in_a_child)
        self._lookout = None if on_alarm is None and tracing is None else self._look_out()

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        """Try the options until one works."""
        if self._awaited is not None:
            raise NeedsAwaiting(needs_acall(self._awaited))
        arguments = (args, kwargs)
        call = Call(self)
        try:
            for option in call.options():
                try:
                    value = option.run(arguments)
                    call.check(option, value)
                except BaseException as error:
                    if not call.is_failure(option, error):
                        raise
                else:
                    return call.succeed(value)
            call.fail()
        finally:
            call.end()

    async def acall(self, *args: Any, **kwargs: Any) -> Result:
        """Try the options until one works, and await those that have to be. Plain functions run in threads."""
        arguments = (args, kwargs)
        call = Call(self)
        try:
            for option in call.options():
                try:
                    value = await option.arun(arguments)
                    call.check(option, value)
                except BaseException as error:
                    if not call.is_failure(option, error):
                        raise
                else:
                    return call.succeed(value)
            call.fail()
        finally:
            call.end()

    def __repr__(self) -> str:
        order = shown(self.order)
        calls = counted(self._tally.ended, "call")  # without waiting for those that end just now
        verdict = self._home.verdict
        if verdict is None:
            return f"Chain({calls}, no verdict yet: tries {order})"
        said = "is best" if verdict.proved else "is named"
        best = f"{verdict.arm!r} {said} after {counted(verdict.plays, 'play')}, {verdict.guarantee}"
        return f"Chain({calls}, {best}: tries {order})"

    @property
    def options(self) -> tuple[Label, ...]:
        """The labels, in the order they were given in."""
        return tuple(self._chapter.options)

    @property
    def history(self) -> tuple[Era, ...]:
        """The experiments of the chain, the first one first: what each came to, when, and why it ended."""
        home = self._home
        return (*home.eras, home.era)

    def add(self, label: Label, function: Function, timeout: float | None = None, *, keep: bool = True) -> None:
        """Add an option. An experiment with it goes on from this one, with what was told as its log.

        If the choice of what to add or remove comes from looking at outcomes, say ``keep=False``: it begins anew.
        Calls in flight end as they began. It is for the process that has the function: others with the same file or
        experiment serve their own options from then on, and learn again when they have it too.
        """
        before = self.options
        if label in before:
            raise InvalidParameter(
                f"{label!r} is an option already; remove it first, or give another label",
                parameter="labels",
                reason="invalid_labels",
            )
        if timeout is not None:
            check_positive(f"the timeout of {label!r}", timeout)
        check_labels((*before, label))
        self._check_may_change(f"{label!r} cannot be added")
        option = Option(label, function, timeout)
        with self._changing:
            self._known = {**self._known, label: option}
            self._go_on_with(lambda arms: arms if label in arms else (*arms, label), keep)

    def remove(self, label: Label, *, keep: bool = True) -> None:
        """Remove an option. An experiment without it goes on from this one, with what was told as its log.

        If the choice of what to add or remove comes from looking at outcomes, say ``keep=False``: it begins anew.
        Calls in flight end as they began, with the option if they have it before them.
        """
        before = self.options
        if label not in before:
            raise InvalidParameter(
                f"{label!r} is no option; the options are {', '.join(map(repr, before))}",
                parameter="labels",
                reason="invalid_labels",
            )
        if len(before) == 2:
            raise InvalidParameter(
                f"without {label!r} one option is left; a chain needs at least two: add another first",
                parameter="labels",
                reason="invalid_labels",
            )
        self._check_may_change(f"{label!r} cannot be removed")
        with self._changing:
            self._go_on_with(lambda arms: tuple(arm for arm in arms if arm != label), keep)

    @property
    def order(self) -> tuple[Label, ...]:
        """The best order known; after a verdict the option that it names comes first, unless costs are measured.

        ``status().proved`` says how many of its places are proved. The others are estimates: those of the experiment,
        until this process has seen behind failures of the first option that another does better there.
        """
        return self._order_in(self._chapter)

    @property
    def experiment(self) -> Experiment | None:
        """The experiment, where it lives in memory. Do not ask or tell it beside the chain."""
        return self._home.experiment if isinstance(self._home, InMemory) else None

    def verdict(self) -> Verdict | None:
        """The verdict, or None while there is none."""
        return self._home.verdict

    def estimates(self, confidence: float = 0.95) -> OptionEstimates:
        """How often each option works, what it costs and how long it takes, from the calls of this process.

        A tuple with an entry for each option, which prints as a table. Calls are read in the order in which they began,
        up to the first that is still running.

        It never waits for the service; what first attempts of all processes say has ``option_estimates`` of the
        experiment there.

        Each limit holds with this confidence, at all times together, where it is ``proved``:
        :class:`~linkedbandits.intervals.Estimated` says what that means.
        """
        check_probability("confidence", confidence)
        chapter = self._chapter
        with self._calls.up_to_now():
            accounts = copy.deepcopy(chapter.ledger.accounts)
        return OptionEstimates(accounts[label].estimate(label, confidence) for label in chapter.options)

    def alarms(self, alpha: float = ALPHA) -> tuple[ChainAlarm, ...]:
        """What speaks against the verdict: in the plays on record, in the attempts lost, and in changes of options.

        If nothing is wrong there is one with probability at most ``alpha`` (in the service at the service's own level,
        0.01), however often one looks and however often the experiment begins anew, and one of a change with
        probability ``reopen`` (0.01 where that is None). It takes time that grows with what is on record; calls go on
        meanwhile.
        """
        watching = self._chapter.watching
        found = self._alarms_of_plays(alpha)
        return found if watching is None or watching.alarm is None else (watching.alarm, *found)

    def _alarms_of_plays(self, alpha: float = ALPHA) -> tuple[ChainAlarm, ...]:
        """Of what is lost, and of all kinds but drift, which is for what watches every call."""
        check_probability("alpha", alpha)
        chapter = self._chapter
        home = chapter.home
        level = level_of(alpha / 2, len(home.eras))
        of_all, what = home.losses(), "Plays that begin with"
        if of_all is None:
            with self._calls.up_to_now():
                of_all, what = (chapter.losses.attempts.copy(), chapter.losses.lost.copy()), "Attempts of"
        played = home.attempts()
        seen = (*home.alarms(), *(() if played is None else watch(played, level)))
        speaking = (alarm for alarm in seen if alarm.kind != "drift" and speaks_against(alarm, home.reads))
        return (*loss_alarms(*of_all, level, what), *speaking)

    def status(self) -> ChainStatus:
        """How it stands."""
        counts, home = self._tally.counts(), self._home.condition()
        calls, attempts = counts.calls, counts.attempts
        learning = self._home.learning()
        above = None if learning is None else learning.above + self._above_before
        if above is not None and calls["watched"] and calls["served"]:
            above += attempts["watched"] - calls["watched"] * attempts["served"] / calls["served"]
        return ChainStatus(
            cost_above_best=self._cost_above_best(counts, learning),
            spent=None if self._costs is None else sum(counts.spent.values()),
            calls=counts.ended,
            plays=calls["play"],
            plain=calls["plain"],
            served=calls["served"],
            watched=calls["watched"],
            failed=counts.endings["failed"],
            lost=counts.endings["lost"],
            in_flight=counts.began - counts.ended,
            lost_of=counts.lost_of,
            attempts_above_best=above,
            waiting=home.waiting,
            dropped=home.dropped,
            expired=home.expired,
            errors=self._troubles.count,
            last_error=self._troubles.last,
            order=self.order,
            proved=0 if self._order_by_cost(self._chapter) else proved_places(self.verdict()),
            verdict=self.verdict(),
            reopened=sum(era.reason == "drift" for era in self._home.eras),
            since=self._home.era.began,
            shared=not isinstance(self._home, InMemory),
            costs_measured=self._costs is not None and not isinstance(self._costs, Mapping),
        )

    def _cost_above_best(self, counts: Counts, learning: Learning | None) -> float | None:
        """Of plays and of watched calls. What is measured is of this process alone."""
        calls, spent = counts.calls, counts.spent
        if isinstance(self._costs, Mapping) or self._costs is None:  # the experiment knows costs, if there are any
            above = None if learning is None else learning.cost_above
            if above is not None:
                above += self._cost_above_before
            if above is not None and calls["watched"] and calls["served"]:
                above += spent["watched"] - calls["watched"] * spent["served"] / calls["served"]
            return above
        with self._calls.up_to_now():
            of_best = self._chapter.ledger.cost_of(self.order)
        if of_best is None:
            return None
        return spent["play"] + spent["watched"] - (calls["play"] + calls["watched"]) * of_best

    def settle(self) -> None:
        """Wait until the experiment has all answers of calls that are over, for some seconds at most."""
        self._home.settle()
        self._notice()

    def close(self) -> None:
        """Let go of files, threads and connections; what was learned is kept. Calls are served all the same."""
        self._home.close()
        for home in tuple(self._earlier):
            self._forget(home)
        self._notice()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _home(self) -> Home:
        return self._chapter.home

    def _notice(self) -> None:
        """Announce the verdict, if it is new; go on where it does not hold; look for alarms, if it is time."""
        chapter = self._chapter
        home = chapter.home
        verdict = home.verdict
        if verdict is not None and chapter.unannounced:
            try:
                chapter.unannounced.pop()
            except IndexError:  # another call was quicker
                return
            self._hook("on_verdict", self._on_verdict, verdict)
            if self._tracing is not None:
                self._hook("tracing", self._tracing.verdict, verdict)
        watching = chapter.watching
        if watching is None:
            self._watch_over(chapter, at_once=False)
        elif watching.alarm is not None and home.successor is None:
            self._say_that_one_changed(chapter, watching, watching.alarm)
        if home.successor is not None:
            self._follow()
        if self._lookout is not None:
            self._lookout.look_after(self._tally.ended)

    def _say_that_one_changed(self, chapter: Chapter, watching: Watching, alarm: DriftAlarm) -> None:
        """Say that an option has changed, once, and have a new experiment begin, if the chain reopens verdicts."""
        if chapter.unheard:
            try:
                chapter.unheard.pop()
            except IndexError:  # another call was quicker
                return
            self._hear(alarm)
        if self._reopen is not None:
            chapter.home.go_on(watching.move(alarm))

    def _read(self, call: Call, in_time: bool) -> None:
        """What a call shows. Calls come in the order in which they began; one past its lease may still be running."""
        chapter, spent = call._chapter, tuple(call._spent) if in_time else call.spent_within(self._lease)
        try:
            if call._role == "play":
                chapter.losses.add(tuple(call._tried), lost=not in_time or call._ending == "lost")
            if not spent:
                return
            chapter.ledger.add(spent)
            chapter.home.spend(spent[0])
            if call._watching is not None:
                call._watching.add(spent[0].option, spent[0].worked)
        except Exception as error:
            self._troubles.note("the experiment", error)

    def _open(
        self, home: Home, labels: tuple[Label, ...], at_once: bool = True, ledger: Ledger | None = None
    ) -> Chapter:
        """A chapter with the experiment that lives there; calls before it have told what is in the ``ledger``."""
        chapter = Chapter(
            home,
            {label: self._known[label] for label in labels},
            Watch.seeded(self._share, self._seed + len(home.eras)),
            OthersSecond.seeded(min(SECOND_FOR_WATCHED * self._share, 1.0), self._seed + len(home.eras)),
            ledger or Ledger.opened(labels, self._costs, self._timeouts(labels)),
        )
        self._watch_over(chapter, at_once)
        self._awaited = next((label for label, option in chapter.options.items() if option.awaited), None)
        return chapter

    def _first_chapter(self, home: Home, labels: tuple[Label, ...], change_options: bool) -> Chapter:
        """With the last of the experiments that go on from the one that the chain was opened with."""
        while home.successor is not None:
            self._earlier.append(home)
            home = home.successor
        if not same_options(home.arms, labels):
            had = any(same_options(era.arms, labels) for era in home.eras)
            if had and not change_options and not missing_from(self._known, home.arms):
                labels = tuple(label for label in labels if label in home.arms)  # some were removed since
            else:
                home = self._with_other_options(home, labels, change_options)
        return self._open(home, labels)

    def _with_other_options(self, home: Home, labels: tuple[Label, ...], allowed: bool) -> Home:
        """The experiment in a file goes on with other options, if that is what is wanted."""
        if allowed:
            self._check_may_change("other options than those on record cannot be taken")
            deadline = time.monotonic() + LONGEST_WAIT + self._lease
            home.go_on(move_to(home.arms, labels, keep=True), LONGEST_WAIT)
            while home.successor is None and time.monotonic() < deadline:  # it may be waiting for its own log
                time.sleep(0.01)
                home.go_on(move_to(home.arms, labels, keep=True), LONGEST_WAIT)
        if allowed and home.successor is not None:
            self._earlier.append(home)
            return home.successor
        for opened in (*self._earlier, home):
            opened.close()
        raise InvalidParameter(
            f"the options in the file are {', '.join(map(repr, home.arms))}, and not {', '.join(map(repr, labels))}; "
            "give the chain the same ones, say change_options=True to go on with these, or give another file"
        )

    def _watch_over(self, chapter: Chapter, at_once: bool) -> None:
        """Watch for changes, once it is known with which part of the level. To read what is on record takes time."""
        level = ALPHA if self._reopen is None else self._reopen
        if not chapter.home.share or not chapter.unwatched:
            return
        try:
            chapter.unwatched.pop()
        except IndexError:  # another call was quicker
            return

        def begin() -> None:
            try:
                chapter.watching = Watching(chapter.home, level, lambda: self._order_in(chapter))
            except Exception as error:
                self._troubles.note("watching for changes", error)

        if at_once:
            begin()
        else:
            in_a_thread(begin)

    def _follow(self) -> bool:
        """Go on with the experiment that goes on from the present one; did this call do so?"""
        if not self._turning.acquire(blocking=False):
            return False
        try:
            home = self._chapter.home
            new = home.successor
            if new is None:
                return False
            passed = [home]
            while new.successor is not None:
                passed.append(new)
                new = new.successor
            missing = missing_from(self._known, new.arms)
            if missing:
                self._troubles.once(
                    f"no function for {missing}",
                    f"others went on with {', '.join(map(repr, missing))}, but this chain has no function for it: "
                    "its calls are served in the last order known, and nothing is learned from them. Make the chain "
                    "with the same options as the others",
                )
                return False
            labels = tuple(label for label in self._known if label in new.arms)
            ledger = None  # after a change what calls have shown says nothing any more
            if not any(era.reason == "drift" for era in new.eras[-len(passed) :]):
                ledger = self._chapter.ledger
                with self._calls.up_to_now():
                    ledger.go_on_with(labels, self._timeouts(labels))
            self._chapter = self._open(new, labels, isinstance(new, InMemory), ledger)
            self._leave(passed)
            if self._lookout is not None:
                self._lookout = self._look_out()  # what was heard was about other times
        finally:
            self._turning.release()
        self._hook("on_reopen", self._on_reopen, new.eras[-1])
        return True

    def _order_in(self, chapter: Chapter) -> tuple[Label, ...]:
        """The best order known of the options of a chapter."""
        by_cost = self._order_by_cost(chapter)
        if by_cost is not None:
            return by_cost
        home = chapter.home
        verdict, order = home.verdict, home.order
        # A verdict that names several has the places behind the first as well.
        return order if verdict is None or verdict.top else chapter.ledger.order_behind(order)

    def _order_by_cost(self, chapter: Chapter) -> tuple[Label, ...] | None:
        """The order by measured costs; None if there is none of the options of a chapter."""
        by_cost = chapter.ledger.order
        # One of other options is from before some were added or removed.
        return by_cost if by_cost is not None and set(by_cost) == chapter.options.keys() else None

    def _check_may_change(self, refused: str) -> None:
        """Refuse other options where what was told would be about something else with them."""
        if self._deadline is not None:
            raise InvalidParameter(
                f"{refused}: the deadline is shared out among the options, so the others would have another time and "
                "work another share of times; make a new chain, with a new file if it has one"
            )
        if isinstance(self._costs, Mapping):
            raise InvalidParameter(
                f"{refused}: costs are of the options that the chain was made with; make a new chain with the costs of "
                "all, and a new file if it has one"
            )

    def _timeouts(self, labels: Iterable[Label]) -> dict[Label, float | None]:
        return {label: self._known[label].timeout for label in labels}

    def _go_on_with(self, wanted_of: Callable[[tuple[Label, ...]], tuple[Label, ...]], keep: bool) -> None:
        """Go on with other options; wait until that is done.

        What is wanted is said of the options that there are: another process may have changed them meanwhile.
        """
        longest = LONGEST_WAIT + (self._lease if keep else 0.0)  # in the service a play that is out may be waited for
        deadline = time.monotonic() + longest
        while not same_options(self._home.arms, wanted := wanted_of(self._home.arms)):
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"the experiment could not go on with other options within {longest:g} s: "
                    f"{self._troubles.last or 'it is in use'}; try again"
                )
            self._home.go_on(move_to(self._home.arms, wanted, keep), LONGEST_WAIT)
            if not self._follow():
                time.sleep(0.002)

    def _leave(self, homes: list[Home]) -> None:
        """Close the homes of experiments that others go on from, when calls in flight have had time to end."""
        for home in homes:
            learning = home.learning()
            self._above_before += 0.0 if learning is None else learning.above
            self._cost_above_before += 0.0 if learning is None else learning.cost_above or 0.0
            if not isinstance(home, InMemory):
                self._earlier.append(home)
                closing = threading.Timer(self._lease, self._forget, [home])
                closing.daemon = True
                closing.start()

    def _forget(self, home: Home) -> None:
        home.close()
        if home in self._earlier:
            self._earlier.remove(home)

    def _be_in_a_child(self) -> None:
        """After a fork: watch with a part of the level of one's own, where processes share one."""
        self._turning, self._changing = threading.Lock(), threading.Lock()
        if not isinstance(self._home, InMemory):
            self._chapter.watching, self._chapter.unwatched = None, [True]

    def _look_out(self) -> Lookout:
        return Lookout(self._alarms_of_plays, self._hear, self._troubles)

    def _hear(self, alarm: Any) -> None:
        self._hook("on_alarm", self._on_alarm, alarm)
        if self._tracing is not None:
            self._hook("tracing", self._tracing.alarm, alarm)

    def _hook(self, name: str, hook: Callable[[Any], object] | None, given: Any) -> None:
        if hook is None:
            return
        try:
            hook(given)
        except Exception as error:
            self._troubles.note(name, error)


class Call:
    """One call of a chain: the order in which it tries options, and what came of it. It knows nothing of awaiting."""

    __slots__ = (
        "_began",
        "_causes",
        "_chain",
        "_chapter",
        "_ending",
        "_order",
        "_play",
        "_role",
        "_spent",
        "_ticket",
        "_trace",
        "_tried",
        "_watching",
    )

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        chapter = self._chapter = chain._chapter
        self._tried: list[Label] = []
        self._spent: list[Spent] = []
        self._causes: dict[Label, Exception] = {}
        self._play: Play | None = None
        self._ending: Ending | None = None
        self._began = 0.0
        self._role: Role = "plain"
        chain._tally.begin()
        home = chapter.home
        try:
            play = home.take()
        except Exception as error:
            chain._troubles.note("the experiment", error)
            play = None
        order = chain._order_in(chapter)
        if play is not None:
            self._role, self._play, order = "play", play, play.arms + play.rest
        elif home.verdict is not None:
            self._role = "served"
            watched = chapter.watch.order_for(order)
            if watched is not None:
                self._role, order = "watched", watched
            elif not home.verdict.top:  # places that the verdict names are kept
                order = chapter.others_second.order_for(order)
        self._order = order
        self._watching = chapter.watching
        self._ticket = chain._calls.begin(self)
        self._trace: CallTrace | None = None
        if chain._tracing is not None:
            try:
                self._trace = chain._tracing.call(self._role)
            except Exception as error:
                chain._troubles.note("tracing", error)

    def options(self) -> Iterator[Option]:
        """The options to try, in order; each is noted as tried when it comes."""
        known = self._chapter.options
        for label in self._order:
            self._tried.append(label)
            if self._trace is not None:
                self._chain._hook("tracing", self._trace.attempt, label)
            self._began = time.perf_counter()
            yield known[label]

    def is_failure(self, option: Option, error: BaseException) -> bool:
        """Is what an option raised a failure of it? Then the next is tried; else the call ends with it."""
        if isinstance(error, NeedsAwaiting):
            return False
        if isinstance(error, self._chain._failures):
            self._causes[option.label] = error
            self._attempted("failed", error)
            return True
        out_of_time = option.timeout is not None and time.perf_counter() - self._began >= option.timeout
        if out_of_time and not isinstance(error, Exception):
            # Cancelled or interrupted when its time was up: a failure, which ends the call all the same.
            self._attempted("failed", error)
            if len(self._tried) == len(self._order):  # else the play has no answer, as others were not tried
                self._end("failed", None)
        else:
            self._attempted("lost", error)
        return False

    def check(self, option: Option, value: Any) -> None:
        """Raise an error if what an option returned is no success."""
        chain = self._chain
        if chain._worked is None:
            if value is None:
                chain._troubles.once(
                    f"None of {option.label!r}",
                    f"option {option.label!r} returned None, which counts as a success as nothing was raised; if it is "
                    "none, say so with worked=lambda value: value is not None",
                )
            return
        said = chain._worked(value)
        if hasattr(said, "__await__"):
            discard(said)
            raise NeedsAwaiting("worked= has to say at once whether a value is a success; give a plain function")
        if not said:
            raise ValueRejected(f"worked() said no to what {option.label!r} returned", value)

    def succeed(self, value: Any) -> Result:
        """The last option tried has worked."""
        self._attempted("worked", None, value)
        option = self._tried[-1]
        self._end("worked", option)
        result = Result(value, option, tuple(self._tried), self._causes, self._role)
        self._chain._hook("on_result", self._chain._on_result, result)
        return result

    def fail(self) -> NoReturn:
        """All options have failed: raise that."""
        self._end("failed", None)
        tried = tuple(self._tried)
        try:
            raise ChainFailed(f"none of {', '.join(map(repr, tried))} worked", tried, self._causes) from self._causes[
                tried[-1]
            ]
        except ChainFailed as failed:
            self._chain._hook("on_result", self._chain._on_result, failed)
            raise

    def end(self) -> None:
        """The call is over. If it has come to nothing by now it is lost."""
        if self._ending is None:
            self._end("lost", None)
        if self._trace is not None:
            self._chain._hook("tracing", self._trace.end, self._ending)
        # The frames in the tracebacks of the causes know this object, and so does its ticket: without this all would
        # wait for the collector.
        self._causes = {}
        self._ticket = None

    def spent_within(self, lease: float) -> tuple[Spent, ...]:
        """The attempts of a call that outlasted its lease: the attempt under way then counts as a failure.

        What it came to later does not count: slow answers are mostly failures, and whether a call is read as it ended
        must not depend on how it ended.
        """
        spent, tried, left = tuple(self._spent), tuple(self._tried), lease
        over = 0
        while over < min(len(spent), len(tried) - 1) and spent[over].seconds <= left:
            left -= spent[over].seconds
            over += 1
        if not tried:
            return ()
        seconds = spent[over].seconds if over < len(spent) else left
        costs = self._chain._costs
        cost = costs[tried[over]] if isinstance(costs, Mapping) else seconds if costs == "seconds" else None
        return (*spent[:over], Spent(tried[over], False, seconds, cost))

    def _attempted(self, outcome: Outcome, error: BaseException | None, value: Any = None) -> None:
        chain, option = self._chain, self._tried[-1]
        seconds = time.perf_counter() - self._began
        attempt = None
        if chain._on_attempt is not None or self._trace is not None or callable(chain._costs):
            place = len(self._tried) - 1
            attempt = Attempt(option, place, outcome, time.time() - seconds, seconds, error, self._role)
        if outcome != "lost":
            self._spent.append(Spent(option, outcome == "worked", seconds, self._cost(option, seconds, attempt, value)))
        if self._trace is not None:
            chain._hook("tracing", self._trace.attempted, attempt)
        chain._hook("on_attempt", chain._on_attempt, attempt)

    def _cost(self, option: Label, seconds: float, attempt: Attempt | None, value: Any) -> float | None:
        costs = self._chain._costs
        if costs is None:
            return None
        if isinstance(costs, Mapping):
            return costs[option]
        if costs == "seconds":
            return seconds
        assert attempt is not None  # as there is a function to give it to
        try:
            return measured(costs(attempt, value))
        except Exception as error:
            self._chain._troubles.note("costs", error)
            return None

    def _end(self, ending: Ending, hit: Label | None) -> None:
        self._ending = ending
        chain, chapter = self._chain, self._chapter
        try:
            if self._play is not None:
                if ending == "lost":
                    chapter.home.lose(self._play)
                else:
                    chapter.home.tell(self._play, hit)
        except Exception as error:
            chain._troubles.note("the experiment", error)
        try:
            chain._calls.end(self._ticket)
            chain._tally.end(self._role, tuple(self._tried), ending, tuple(self._spent))
            chain._notice()
        except Exception as error:
            chain._troubles.note("the experiment", error)


def move_to(arms: tuple[Label, ...], wanted: tuple[Label, ...], keep: bool) -> Move:
    """From an experiment with these arms to one with the options that are wanted; those that stay keep their order."""
    kept = [label for label in arms if label in wanted]
    return Move((*kept, *(new for new in wanted if new not in arms)), keep, "options", options_changed(arms, wanted))


def check_watch(watch: float | None) -> float:
    """The share of calls that are watched."""
    share = 0.0 if watch is None else watch
    check_share("watch", share)
    if share > 0.5:
        raise InvalidParameter(f"watch={watch!r} is more than half of all calls; try watch=0.05")
    return share


def costs_of(policy: AnyPolicy | None, labels: tuple[Label, ...]) -> dict[Label, float] | None:
    """The costs that a policy has been given for these options, if it has."""
    if policy is None or not policy.goal.costs:
        return None
    check_costs_of_arms(policy.goal.costs, len(labels))
    return dict(zip(labels, policy.goal.costs, strict=True))


def policy_in(text: str) -> Any:
    """The policy that a saved experiment says it has; None if it says nothing."""
    try:
        return json.loads(text)["content"]["policy"]
    except (ValueError, KeyError, TypeError):
        return None


def check_options(
    options: Mapping[Label, Function], timeouts: float | Mapping[Label, float] | None, deadline: float | None = None
) -> dict[Label, Option]:
    """The options by label, or an error that says what is wrong with them."""
    if not isinstance(options, Mapping):
        raise InvalidParameter(
            f"{options!r} is no mapping; give options as a dict of labels and functions, such as "
            "lb.Chain({'stripe': pay_stripe, 'adyen': pay_adyen})"
        )
    if len(options) < 2:
        raise InvalidParameter(
            "no options are given; a chain needs at least two"
            if not options
            else f"{next(iter(options))!r} is the only option; a chain needs at least two: call that one yourself",
            parameter="labels",
            reason="invalid_labels",
        )
    limits = timeouts_of(options, timeouts, deadline)
    return {label: Option(label, function, limits[label]) for label, function in options.items()}


def check_failures(failures: Failures) -> tuple[type[Exception], ...]:
    """The types of failures as a tuple, or an error that says which is none."""
    kinds = failures if isinstance(failures, tuple) else (failures,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise InvalidParameter(
                f"failures has {kind!r}, which is no type of Exception; give types such as (TimeoutError, OSError). "
                "What is no Exception, such as a KeyboardInterrupt, always ends a call"
            )
    return kinds


def check_plain_function(name: str, function: Function) -> None:
    """Refuse what cannot be called, or has to be awaited."""
    if not callable(function):
        raise InvalidParameter(f"{name}={function!r} cannot be called; give a function")
    if is_awaited(function):
        raise InvalidParameter(f"{name} would have to be awaited; give a plain function")


def check_tracing(tracing: Tracing | None) -> Tracing | None:
    """What follows calls, or an error that says what it lacks."""
    if tracing is not None and (isinstance(tracing, type) or not isinstance(tracing, Tracing)):
        raise InvalidParameter(
            f"tracing={tracing!r} cannot follow calls; give linkedbandits.adapters.opentelemetry.Spans(), or an object "
            "with its methods"
        )
    return tracing


def check_remote(experiment: Any, given: Mapping[str, object]) -> Remote:
    """The experiment in the service, or an error that says what else was meant."""
    ask = getattr(experiment, "ask_many", None)
    if inspect.iscoroutinefunction(ask):
        raise InvalidParameter(
            "state is an experiment of an AsyncClient; give one of a Client, which is used in a thread of its own"
        )
    if ask is None:
        raise InvalidParameter(
            f"state={experiment!r} is neither a path nor an experiment of a client; give one, such as "
            "client.experiment(identifier), or None"
        )
    for name, value in given.items():
        if value is not None:
            raise InvalidParameter(
                f"{name}={value!r} is given, but the experiment in the service has its own; leave it out"
            )
    remote: Remote = experiment
    return remote


def check_policy(delta: float | None, policy: AnyPolicy | None, costs: Costs | None = None) -> AnyPolicy:
    """The policy that decides."""
    if policy is None:
        chosen = DEFAULT_DELTA if delta is None else delta
        if isinstance(costs, Mapping):
            return LinkedElimination(chosen, costs=tuple(costs.values()))
        return LinkedDuels(chosen)
    check_is_policy(policy, "LinkedDuels(0.05)")
    if delta is not None:
        raise InvalidParameter(f"delta={delta!r} and a policy are given; a policy has a delta of its own: give one")
    if isinstance(costs, Mapping):
        raise InvalidParameter(
            "costs and a policy are given, and known costs are for the policy to weigh; write them with it, as "
            f"LinkedElimination(0.05, costs={list(costs.values())}), or leave the policy out"
        )
    return policy
