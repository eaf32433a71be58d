"""Fallback chains: try options in order until one works, and learn which should come first.

    chain = lb.Chain({"stripe": pay_stripe, "adyen": pay_adyen}, delta=0.05)
    result = chain(order)

Calls are served whatever happens to the experiment. Where that has a play at hand, the play says in which order the
call tries the options; else they are tried in the best order known. ``docs/fallback-chains.md`` has the whole story.
"""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

from linkedbandits.attempts.alarms import Alarm, watch
from linkedbandits.attempts.concerning import speaks_against
from linkedbandits.chain.attempting import NeedsAwaiting, Option, discard, is_awaited, needs_acall
from linkedbandits.chain.deadlines import timeouts_of
from linkedbandits.chain.expenses import Costs, Ledger, OptionEstimate, Spent, check_chain_costs, measured
from linkedbandits.chain.home import Home
from linkedbandits.chain.in_file import InFile
from linkedbandits.chain.in_memory import InMemory
from linkedbandits.chain.in_service import InService, Remote
from linkedbandits.chain.lookout import Lookout
from linkedbandits.chain.losses import LossAlarm, loss_alarms
from linkedbandits.chain.results import Attempt, Outcome, Result, Role
from linkedbandits.chain.tally import Counts, Ending, Tally
from linkedbandits.chain.tracing import CallTrace, Tracing
from linkedbandits.chain.troubles import Troubles
from linkedbandits.chain.watching import Watch
from linkedbandits.checks import check_costs_of_arms, check_positive, check_probability, check_share, check_whole
from linkedbandits.errors import (
    AttemptTimedOut,
    ChainFailed,
    DamagedSave,
    InvalidLabels,
    InvalidParameter,
    ValueRejected,
)
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.live import Experiment, Learning, Play
from linkedbandits.live.answer_log import joined
from linkedbandits.live.experiment import check_labels
from linkedbandits.model import Label, Verdict
from linkedbandits.policies import LinkedDuels, LinkedElimination, describe_policy
from linkedbandits.policy import AnyPolicy

Function = Callable[..., Any]
Failures = type[Exception] | tuple[type[Exception], ...]
ChainAlarm = Alarm | LossAlarm

DEFAULT_DELTA = 0.05
ALPHA = 0.01
"""The chance that alarms are raised though nothing is wrong, for all of them together."""


@dataclass(frozen=True)
class ChainStatus:
    """How a chain stands.

    Of the ``calls`` that are over, ``plays`` were plays of the experiment, ``plain`` were served in the best order
    known for lack of a play, ``served`` began with the option proved best, and ``watched`` with another one after the
    verdict. ``failed`` are those for which no option worked, ``lost`` those that ended with any other error;
    ``lost_of`` has the lost attempts of plays by option. ``in_flight`` are calls that are not over.

    ``attempts_above_best`` is the price of learning and of watching: how many attempts plays and watched calls took
    above what the best order would have taken, reckoned from estimates. ``cost_above_best`` is the same in costs, where
    they are known or measured, and ``spent`` what all attempts of this process have cost.

    ``waiting`` are answers that the experiment has not got yet, ``dropped`` those that it will never get, ``expired``
    plays that were out for longer than the lease. ``errors`` counts what went wrong beside the calls, ``last_error`` is
    the latest in words.
    """

    calls: int
    plays: int
    plain: int
    served: int
    watched: int
    failed: int
    lost: int
    in_flight: int
    lost_of: Mapping[Label, int]
    attempts_above_best: float | None
    cost_above_best: float | None
    spent: float | None
    waiting: int
    dropped: int
    expired: int
    errors: int
    last_error: str | None
    order: tuple[Label, ...]
    verdict: Verdict | None


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
            if saved is None or saved == given:
                raise
            raise InvalidParameter(
                f"the experiment in the file was begun with the policy {saved}, and not {given}; give the chain the "
                "same one, or another file"
            ) from error
        if sorted(map(repr, experiment.arms)) != sorted(map(repr, self.labels)):
            raise InvalidParameter(
                f"the options in the file are {', '.join(map(repr, experiment.arms))}, and not "
                f"{', '.join(map(repr, self.labels))}; give the chain the same ones, or another file"
            )
        if self.policy.goal.costs and experiment.arms != self.labels:
            raise InvalidParameter(
                f"the options in the file are in the order {', '.join(map(repr, experiment.arms))}, by which costs go; "
                "give the chain its options in that order, with their costs"
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
    ``on_attempt`` is called with every :class:`Attempt`, ``on_result`` with what each call came to, a :class:`Result`
    or a ``ChainFailed``, ``on_verdict`` with the verdict and ``on_alarm`` with each alarm, once. What they raise is
    logged, and changes nothing. ``tracing`` follows calls while they run, such as
    ``linkedbandits.adapters.opentelemetry.Spans()``.

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
        on_attempt: Callable[[Attempt], object] | None = None,
        on_result: Callable[[Result | ChainFailed], object] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        on_alarm: Callable[[ChainAlarm], object] | None = None,
        tracing: Tracing | None = None,
        state: str | os.PathLike[str] | Remote | None = None,
        lease: float = 60.0,
        seed: int = 0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._options = check_options(options, timeouts, deadline)
        labels = tuple(self._options)
        self._awaited = next((label for label, option in self._options.items() if option.awaited), None)
        self._failures: tuple[type[Exception], ...] = (*check_failures(failures), AttemptTimedOut, ValueRejected)
        self._worked = worked
        if worked is not None:
            check_plain_function("worked", worked)
        hooks = {"on_attempt": on_attempt, "on_result": on_result, "on_verdict": on_verdict, "on_alarm": on_alarm}
        for name, hook in hooks.items():
            if hook is not None:
                check_plain_function(name, hook)
        self._on_attempt, self._on_result, self._on_verdict, self._on_alarm = hooks.values()
        self._tracing = check_tracing(tracing)
        check_positive("lease", lease)
        check_whole("seed", seed, least=0)
        share = 0.0 if watch is None else watch
        check_share("watch", share)
        if share > 0.5:
            raise InvalidParameter(f"watch={watch!r} is more than half of all calls; try watch=0.05")
        self._watch = Watch.seeded(labels, share, seed)
        self._troubles = Troubles()
        self._costs = check_chain_costs(costs, labels)
        if callable(self._costs):
            check_plain_function("costs", self._costs)
        chosen = check_policy(delta, policy, self._costs)
        if policy is not None and policy.goal.costs and self._costs is None:
            check_costs_of_arms(policy.goal.costs, len(labels))
            self._costs = dict(zip(labels, policy.goal.costs, strict=True))
        longest = {label: option.timeout for label, option in self._options.items()}
        self._tally = Tally(labels, Ledger.opened(labels, self._costs, longest))
        by_cost = policy is None and isinstance(self._costs, Mapping)
        setup = Setup(check_labels(labels), chosen, linkage or ("single" if by_cost else "free"), seed, parallel)
        self._home: Home
        if state is None:
            self._home = InMemory(setup.begin(), lease, clock or time.monotonic, self._troubles)
        elif isinstance(state, str | os.PathLike):
            self._home = InFile(state, setup.begin, setup.reopen, lease, self._troubles, clock or time.time)
        else:
            known = costs if isinstance(costs, Mapping) else None
            given = {"delta": delta, "policy": policy, "linkage": linkage, "parallel": parallel, "costs": known}
            self._home = InService(check_remote(state, given), labels, lease, clock or time.monotonic, self._troubles)
        self._unannounced = [True]  # taken by the one call that announces the verdict
        heard = on_alarm is not None or tracing is not None
        self._lookout = Lookout(self.alarms, self._hear, self._troubles) if heard else None

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

    @property
    def options(self) -> tuple[Label, ...]:
        """The labels, in the order they were given in."""
        return tuple(self._options)

    @property
    def order(self) -> tuple[Label, ...]:
        """The best order known; after a verdict the option that it names comes first, unless costs are measured."""
        return self._tally.order or self._home.order

    @property
    def experiment(self) -> Experiment | None:
        """The experiment, where it lives in memory. Do not ask or tell it beside the chain."""
        return self._home.experiment if isinstance(self._home, InMemory) else None

    def verdict(self) -> Verdict | None:
        """The verdict, or None while there is none."""
        return self._home.verdict

    def estimates(self, confidence: float = 0.95) -> tuple[OptionEstimate, ...]:
        """How often each option works, what it costs and how long it takes, from the calls of this process.

        Each limit holds with this confidence, at all times together, where it is ``proved``:
        :class:`~linkedbandits.intervals.Estimated` says what that means.
        """
        check_probability("confidence", confidence)
        accounts = self._tally.counts().ledger.accounts
        return tuple(account.estimate(label, confidence) for label, account in accounts.items())

    def alarms(self, alpha: float = ALPHA) -> tuple[ChainAlarm, ...]:
        """What speaks against the verdict: in the plays and the watched calls on record, and in the attempts lost.

        If nothing is wrong there is one with probability at most ``alpha``, however often one looks; half of that is
        for losses. It takes time that grows with what is on record; calls go on meanwhile.
        """
        check_probability("alpha", alpha)
        counts = self._tally.counts()
        lost = loss_alarms(counts.attempts_of, counts.lost_of, alpha / 2)
        log = self._watch.attempts()
        played = self._home.attempts()
        seen = (*self._home.alarms(alpha / 2), *watch(log if played is None else joined(played, log), alpha / 2))
        return (*lost, *(alarm for alarm in seen if speaks_against(alarm, self._home.reads)))

    def status(self) -> ChainStatus:
        """How it stands."""
        counts, home = self._tally.counts(), self._home.condition()
        calls, attempts = counts.calls, counts.attempts
        learning = self._home.learning()
        above = None if learning is None else learning.above
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
            verdict=self.verdict(),
        )

    def _cost_above_best(self, counts: Counts, learning: Learning | None) -> float | None:
        """Of plays and of watched calls. What is measured is of this process alone."""
        calls, spent = counts.calls, counts.spent
        if isinstance(self._costs, Mapping) or self._costs is None:  # the experiment knows costs, if there are any
            above = None if learning is None else learning.cost_above
            if above is not None and calls["watched"] and calls["served"]:
                above += spent["watched"] - calls["watched"] * spent["served"] / calls["served"]
            return above
        of_best = counts.ledger.cost_of(self.order)
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
        self._notice()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _notice(self) -> None:
        """Announce the verdict, if it is new; look for alarms, if it is time."""
        verdict = self._home.verdict
        if verdict is not None and self._unannounced:
            try:
                self._unannounced.pop()
            except IndexError:  # another call was quicker
                return
            self._hook("on_verdict", self._on_verdict, verdict)
            if self._tracing is not None:
                self._hook("tracing", self._tracing.verdict, verdict)
        if self._lookout is not None:
            self._lookout.look_after(self._tally.ended)

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
        "_ending",
        "_order",
        "_play",
        "_recorded",
        "_role",
        "_spent",
        "_trace",
        "_tried",
    )

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._tried: list[Label] = []
        self._spent: list[Spent] = []
        self._causes: dict[Label, Exception] = {}
        self._play: Play | None = None
        self._recorded = False  # on the record of watched calls
        self._ending: Ending | None = None
        self._began = 0.0
        self._role: Role = "plain"
        chain._tally.begin()
        home = chain._home
        try:
            play = home.take()
        except Exception as error:
            chain._troubles.note("the experiment", error)
            play = None
        order = chain.order
        if play is not None:
            self._role, self._play, order = "play", play, play.arms + play.rest
        elif home.verdict is not None:
            self._role = "served"
            watched = chain._watch.order_for(order)
            if watched is not None:
                order, differs = watched
                self._recorded = True
                if differs:
                    self._role = "watched"
        self._order = order
        self._trace: CallTrace | None = None
        if chain._tracing is not None:
            try:
                self._trace = chain._tracing.call(self._role)
            except Exception as error:
                chain._troubles.note("tracing", error)

    def options(self) -> Iterator[Option]:
        """The options to try, in order; each is noted as tried when it comes."""
        known = self._chain._options
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
        # The frames in the tracebacks of the causes know this object: without this all would wait for the collector.
        self._causes = {}

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
        chain = self._chain
        try:
            if self._play is not None:
                if ending == "lost":
                    chain._home.lose(self._play)
                else:
                    chain._home.tell(self._play, hit)
            elif self._recorded and ending != "lost":
                chain._watch.add(self._order, hit)
        except Exception as error:
            chain._troubles.note("the experiment", error)
        chain._tally.end(self._role, tuple(self._tried), ending, tuple(self._spent))
        try:
            chain._notice()
        except Exception as error:
            chain._troubles.note("the experiment", error)


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
        raise InvalidLabels(
            "no options are given; a chain needs at least two"
            if not options
            else f"{next(iter(options))!r} is the only option; a chain needs at least two: call that one yourself"
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
    if delta is not None:
        raise InvalidParameter(f"delta={delta!r} and a policy are given; a policy has a delta of its own: give one")
    if isinstance(costs, Mapping):
        raise InvalidParameter(
            "costs and a policy are given, and known costs are for the policy to weigh; write them with it, as "
            f"LinkedElimination(0.05, costs={list(costs.values())}), or leave the policy out"
        )
    return policy
