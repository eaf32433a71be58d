"""Ask and tell: a live experiment as its users hold it, with labels, leases and verdicts.

``ask`` hands out the next play of the policy's current request, ``tell`` fills it in; when the request is fulfilled the
policy sees its counts and states the next. All of that happens in :class:`~linkedbandits.live.run.Run`, in numbers.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, TOLD_DIFFERENCE, Assumption
from linkedbandits.attempts.log import AttemptLog, Rule, Which, joined
from linkedbandits.checks import check_max_plays, check_positive, check_whole
from linkedbandits.display import counted, paragraph
from linkedbandits.errors import DamagedSave, InvalidParameter, TooManyInFlight, UnknownName
from linkedbandits.figures.options import draw_known, height_for
from linkedbandits.figures.style import beside_axes, new_figure
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.live.answers import NO_HIT, WAITING, AnswerLog
from linkedbandits.live.chain_record import arms_of, rest_of
from linkedbandits.live.defaults import DEFAULT_DELTA, policy_and_linkage
from linkedbandits.live.estimates import Estimate, Estimates
from linkedbandits.live.run import Receipt, Run, listed
from linkedbandits.live.saving import VERSION, check_version, seal, unseal, upgraded
from linkedbandits.live.warm_start import Others, WarmStart, check_attempts, may_read
from linkedbandits.model import COUNT_LIMIT, IntArray, Label, Status, Verdict
from linkedbandits.policies import describe_policy, make_policy
from linkedbandits.policy import AnyPolicy, check_is_policy, check_linkage

if TYPE_CHECKING:
    from linkedbandits.attempts.alarms import Alarm

LONGEST_WAIT_FOR_A_TEXT = 1.0
"""Seconds."""


class Play(NamedTuple):
    """A play to make: try the arms from left to right until the first success, then tell.

    With whole chains go on with the ``rest`` if all of them fail, until something works.
    """

    id: int
    arms: tuple[Label, ...]
    rest: tuple[Label, ...] = ()


class Before(NamedTuple):
    """The experiment that another one goes on from, and why: its arms, its plays told, and what it came to.

    ``arm`` is that of its verdict, or what led. ``kept`` is how many of its plays are a log for the one that goes on.
    """

    why: str
    arms: tuple[Label, ...]
    plays: int
    arm: Label
    status: Status
    kept: int


class Experiment(Run):
    """Find the best of some labelled arms, by asking what to play and telling what happened.

    Without a policy :class:`~linkedbandits.LinkedDuels` decides, with a delta of 0.05, under the linkage ``free``: a
    play is then two arms in an order that is handed out, and nothing is assumed of how arms depend on each other. With
    ``linkage="single"`` and no policy it is :class:`~linkedbandits.LinkedElimination`. A policy without a linkage plays
    under ``ordered``, or under ``free`` if it asks for tuples in any order.

    Labels are text, numbers or booleans. ``max_plays`` ends it after that many answers in time if the policy has not
    stopped by then. ``seed`` is for policies that draw.

    Any number of plays may be out at once. Say how many with ``parallel``: the policy then asks for enough at a time
    to keep that many busy, and ``ask`` refuses to hand out more. Plays that are out steer what is asked next, and enter
    the evidence only when they are told.

    An experiment can go on from a ``log`` of attempts: what that decides is not played again. Options of the log are
    matched to arms by their labels; one that is no arm is refused, unless ``log_others="ignore"`` says to leave out
    what was tried of it. ``log_attempts`` is what may be read, in the words of :meth:`linkedbandits.Attempts.verdict`:
    ``"first"`` attempts of requests, ``"all"`` attempts, for independent options, or ``"duels"``, for ``LinkedDuels``.
    Requests of the policy are answered from the log as far as it goes, and the rest is played. If the log decides
    everything there is a verdict at once, without a play. ``plays`` and ``max_plays`` are about what is played;
    :attr:`from_log` says what was read, and estimates include it. A policy with a budget of its own counts the plays
    that it would have taken for what it read.

    *The guarantee holds as without a log, if whoever chose what to try in the log used the past alone*, and nothing of
    the request itself, and if means are what they were then. The log is data from before: do not give it what was
    played in another experiment that goes on, and do not pick it by how it ended. If the log was asked for a verdict
    before, and did not decide, the experiment is a second look at it: its ``error_bound`` is then its policy's with
    that of the verdict added, for both together. What was asked of the same log object in this process is known; of a
    file that the command line has judged, say it with ``log_judged``, which is the delta of that command. The same
    policy with the same ``log_attempts``, arms and seed goes on with the same look, and nothing is added.

    A play has some of the arms. Whoever serves customers with it would fail those whom another arm could have helped.
    With ``whole_chains=True`` a play has all arms: ``play.arms``, and behind them ``play.rest``, in the best order
    known. Try all of it until something works, and tell that, or None if nothing did. Then a customer fails only if all
    arms do. What the rest did is used for decisions where the policy takes arms to be independent, and otherwise for
    the order of the rest alone, so the guarantee is that of the policy. :attr:`order` is what to serve after the
    verdict, :attr:`learning` what the experiment has cost.

    With a ``lease`` a play that is out for longer than so many seconds, by the ``clock``, is given up at the next
    ``ask`` or ``tell``: its answer is late if it comes at all. Without one the experiment waits for ever, and
    :meth:`abandon` gives a play up by hand. Choose a lease well above the slowest answer.

    Any number of threads may use an experiment. What it is in numbers, it has from :class:`Run`.

    >>> import linkedbandits as lb
    >>> exp = lb.Experiment(["north", "east"], lb.UniformSampling(samples=2))
    >>> exp.ask()
    Play(id=0, arms=('north', 'east'), rest=())
    >>> exp.tell(0, hit="north")
    'counted'
    >>> while not exp.done:
    ...     play = exp.ask()
    ...     _ = exp.tell(play.id, hit="north" if "north" in play.arms else None)
    >>> exp.recommend()
    Verdict(arm='north', status='exhausted', plays=4, error_bound=None, assumes=('independent options',))

    Whole chains, for customers:

    >>> exp = lb.Experiment(["north", "east", "south"], lb.LinkedDuels(0.05), whole_chains=True)
    >>> play = exp.ask()
    >>> sorted(play.arms + play.rest)
    ['east', 'north', 'south']
    >>> exp.tell(play.id, hit=play.rest[0])
    'counted'

    With a log:

    >>> log = lb.Attempts.from_plays([(("north", "east"), "north"), (("east", "north"), None)] * 2)
    >>> exp = lb.Experiment(["north", "east"], lb.UniformSampling(samples=3), linkage="single", log=log)
    >>> exp.from_log
    FromLog(attempts='first', requests=4, samples=4, read=4)
    >>> exp.ask(), exp.ask()
    (Play(id=0, arms=('north',), rest=()), Play(id=1, arms=('east',), rest=()))
    """

    def __init__(
        self,
        arms: Iterable[Label],
        policy: AnyPolicy | None = None,
        *,
        linkage: str | Linkage | None = None,
        seed: int = 0,
        max_plays: int | None = None,
        parallel: int | None = None,
        lease: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        whole_chains: bool = False,
        log: AttemptLog | None = None,
        log_attempts: Which = "first",
        log_others: Others = "refuse",
        log_independent: bool = False,
        log_judged: float | None = None,
    ) -> None:
        labels = check_labels(arms)
        check_attempts(log_attempts)
        policy, found = policy_and_linkage(policy, linkage)
        check_linkage(policy, found)
        if parallel is not None:
            check_whole("parallel", parallel)
        if lease is not None:
            check_positive("lease", lease)
        check_whole("seed", seed, least=0)
        policy = policy.fitted_to(found, parallel)
        super().__init__(
            policy,
            found,
            len(labels),
            seed=seed,
            # A policy with a budget of its own is held to it, however many plays are out at once.
            max_plays=min(check_max_plays(max_plays), policy.goal.budget or COUNT_LIMIT),
            parallel=parallel,
            names=labels,
            whole_chains=whole_chains,
        )
        self.arms = labels
        self.lease = lease
        self.before: Before | None = None
        self._clock = clock
        self._asked_at: dict[int, float] = {}  # plays that a lease runs for, with the time of their asks, oldest first
        self._labels_in_an_array = np.fromiter(labels, dtype=object, count=len(labels))
        self._index = {label: index for index, label in enumerate(labels)}
        # What was handed out last, with the labels of its arms and of its rest.
        self._shown: tuple[IntArray, tuple[Label, ...], tuple[Label, ...]] = (np.empty(0, dtype=np.int64), (), ())
        # The experiment that its log is still to be read of, up to which play, and what was asked of that before.
        self._previous: tuple[Experiment, int | None, float] | None = None
        if log is not None:
            if log_judged is None and isinstance(log, AttemptLog):
                log_judged = log.judged(but=self._rule(log_attempts))
            self.start_from(
                WarmStart.of(log, labels, log_attempts, log_others, log_independent, judged=log_judged or 0.0)
            )

    @property
    def linkage(self) -> str:
        """The name of the linkage."""
        return self.linkage_object.name

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the policy takes for granted here, with what to use where that does not hold.

        If all attempts of a log may be read, that options are independent is among it, whatever is played.
        """
        reads_all = self.warm is not None and self.warm.assumes_independence
        return assumed(self.policy.assumptions(self.linkage_object), reads_all)

    @property
    def order(self) -> tuple[Label, ...]:
        """All arms in the best order known: the verdict's, or what leads before there is one, then the others.

        Behind the first, arms come by the share of their tries that worked. Where arms may fail together that is of
        their tries behind failures, so far as there are whole chains, with what they do on their own as some tries
        more. Only what the verdict names is proved.
        """
        return tuple(self.arms[arm] for arm in self.ranking().tolist())

    def ask(self) -> Play:
        """The next play to make. Asking alone changes nothing that the policy sees."""
        if self._previous is not None:
            self._need_whole_log()
        if self.lease is None:
            return self.labelled(*self.hand_out())
        with self._lock:
            self._give_up_overdue()
            play = self.labelled(*self.hand_out())
            self._asked_at[play.id] = self._clock()
            return play

    def _give_up_overdue(self) -> None:
        """Give up the plays whose lease has ended."""
        if self.lease is not None:
            before = self._clock() - self.lease
            while self._asked_at and next(iter(self._asked_at.values())) <= before:
                play = next(iter(self._asked_at))
                del self._asked_at[play]
                self.give_up(play)

    def tell(self, play_id: int, hit: Label | None) -> Receipt:
        """Say how a play ended: the label of the arm that succeeded, or None.

        Returns what became of the answer: ``"counted"`` in the current request; ``"spare"``, kept for the requests
        that follow; ``"late"``, for an abandoned play or one told after the verdict, which enters the estimates but
        can no longer enter the decision; or ``"repeated"``, for the same answer told before.
        """
        arm = self.number_of(play_id, hit)
        if self.lease is None:
            return self.bring(play_id, arm)
        with self._lock:
            self._give_up_overdue()
            self._asked_at.pop(play_id, None)
            return self.bring(play_id, arm)

    def abandon(self, play_id: int) -> None:
        """Say that a play will not be answered, so that others serve for what it was asked for. There may be a verdict.

        An answer that comes all the same is ``"late"``: it enters the estimates, not the decision, because which
        plays are given up may depend on how they would have ended. The guarantee holds only if whether a play is given
        up does not depend on how it went: give up failures, and only successes count. Give up what is slow, as a
        killed worker does, and it is mostly failures. Tell a time-out as a failure. Abandoning twice, or a play already
        told, is harmless.
        """
        with self._lock:
            self._asked_at.pop(play_id, None)
            self.give_up(play_id)

    def recommend(self) -> Verdict:
        """The verdict; before there is one, the arm that leads, with status ``"running"``."""
        with self._lock:
            top, status, plays, bound = self.decide()
            contradicted = self.contradicted()
        arms = tuple(self.arms[arm] for arm in top)
        return Verdict(
            arms[0],
            status,
            plays,
            bound,
            top=arms if len(arms) > 1 else (),
            assumes=tuple(assumption.name for assumption in self.assumptions),
            contradicted=(TOLD_DIFFERENCE,) if contradicted else (),
        )

    def successor(
        self,
        arms: Iterable[Label] | None = None,
        *,
        keep: bool = True,
        why: str = "",
        policy: AnyPolicy | None = None,
    ) -> Experiment:
        """A new experiment that goes on from this one: with other arms, or because things have changed.

        With ``keep`` what was told in time is a log for it, up to the first play that is still out and with that one,
        so it is not played again; arms that are no longer there are left out, new ones are played. If a play is out,
        the new experiment refuses to be asked or saved until that play is told to this one, or given up: its slow
        answer is most often a failure, and a log without it would be one of too many successes.

        Without ``keep`` it begins anew: that is for a drift, after which what was told before says nothing any more.
        ``why`` is for the record, :attr:`before`.
        A policy of the same kind decides, or the ``policy`` that is given: one with a cost for every arm has to be, if
        arms change.

        *Its verdict is wrong with probability at most its delta, like any other.* Without ``keep`` that holds of the
        options as they are from now on, whenever it is begun, and whatever made you begin it: plays from now on are
        independent of what was seen. With ``keep`` it holds if which arms there are was not chosen by looking at
        outcomes. The verdict of this experiment, if there was one, has its own error beside it; with another ``policy``
        the ``error_bound`` is for both together, because two rules have read the same plays.

        >>> import linkedbandits as lb
        >>> exp = lb.Experiment(["north", "east"], lb.LinkedElimination(0.05))
        >>> for _ in range(3):
        ...     _ = exp.tell(exp.ask().id, hit="east")
        >>> wider = exp.successor(["north", "east", "south"], why="a new provider")
        >>> wider.from_log.samples, wider.before.why
        (6, 'a new provider')
        """
        labels = self.arms if arms is None else check_labels(arms)
        chosen = self.policy if policy is None else policy
        if policy is None and chosen.goal.costs:
            chosen = replace(chosen, costs=costs_of_successor(chosen.goal.costs, self.arms, labels))  # type: ignore[type-var]
        new = Experiment(
            labels,
            chosen,
            linkage=self.linkage_object,
            # Orders drawn by a coin have to be drawn anew: those of this experiment are known by now.
            seed=self.seed + 1,
            max_plays=self.max_plays,
            parallel=self.parallel,
            lease=self.lease,
            clock=self._clock,
            whole_chains=self.whole_chains,
        )
        said = self.recommend()
        new.before = Before(why, self.arms, self.plays, said.arm, said.status, 0)
        if keep:
            another = policy is not None and policy.fitted_to(self.linkage_object, self.parallel) != self.policy
            spent = 0.0 if self.upgrade is None else self.upgrade.spent
            judged = (self.policy.error_bound or 0.0) + spent if another else 0.0
            new.go_on_from(self, self.answers.first_out, judged)
        return new

    def go_on_from(self, previous: Experiment, first_out: int | None, judged: float = 0.0) -> None:
        """Read the plays of another experiment as a log, up to ``first_out`` and with it, as soon as it is not out.

        It has to be the first play that was out at some time. Then where the log ends depends on the plays in it
        alone, and the plays behind are as new. ``judged`` is what another policy may have been wrong with on it.
        """
        self._previous = (previous, first_out, judged)
        self.read_log()

    def read_log(self) -> bool:
        """Read the log that is left by the experiment before, if it is complete; False while it is not."""
        with self._lock:
            if self._previous is None:
                return True
            previous, last, judged = self._previous
            if not previous.read_log() or (last is not None and previous.answers[last] == WAITING):
                return False
            log = previous.attempts(None if last is None else last + 1)
            self._previous = None
            if len(log):
                attempts = may_read(self.policy, self.linkage_object, len(self.arms))
                judged += 0.0 if previous.warm is None else previous.warm.judged
                warm = WarmStart.of(
                    log,
                    self.arms,
                    attempts,
                    "ignore",
                    independent=attempts == "all",
                    of_plays=True,
                    judged=judged,
                )
                self.start_from(warm)
                if self.before is not None:
                    self.before = self.before._replace(kept=log.requests)
        return True

    def _need_whole_log(self) -> None:
        if not self.read_log():
            raise TooManyInFlight(
                "a play of the experiment that this one goes on from is still out, and belongs to its log; tell it "
                "there, or give it up with abandon"
            )

    def estimates(self) -> Estimates:
        """Every arm's samples and successes, and whether it can still be the answer.

        They are of the plays before the first that is still out, and of late ones: answers that are quick come first,
        and slow ones are mostly failures. Samples are first tries alone where the policy does not take arms to be
        independent; see :class:`Estimate`.
        """
        with self._lock:
            samples, successes = self.samples_in_order()
            still_in = self.still_in()
        return Estimates(
            Estimate(label, seen, won, won / seen if seen else None, kept)
            for label, seen, won, kept in zip(self.arms, samples.tolist(), successes.tolist(), still_in, strict=True)
        )

    def plot(self, ax: Any = None) -> Any:
        """Every arm's estimate between its limits of 95 %, which hold at all times together, and who is still in.

        Returns the matplotlib figure, on white ground: ``savefig`` writes it, a notebook shows it. With ``ax`` it is
        drawn there, and ``ax`` is returned.
        """
        known = self.estimates().known()
        if ax is not None:
            draw_known(ax, known)
            return ax
        with new_figure(6.4, height_for(len(known))) as (figure, axes):
            draw_known(axes, known)
            axes.set_title(self._standing(beside_axes), loc="left", fontsize="medium", pad=22)
        return figure

    def __repr__(self) -> str:
        what = f"{counted(len(self.arms), 'arm')}, {self.policy.name}, {self.linkage}"
        # A debugger may show it where the thread that it has stopped holds the lock.
        if not self._lock.acquire(timeout=LONGEST_WAIT_FOR_A_TEXT):
            return f"Experiment({what}: busy)"
        self._lock.release()
        return f"Experiment({what}: {self._standing(repr)})"

    def _repr_html_(self) -> str:
        title = f"Experiment: {counted(len(self.arms), 'arm')}, {self.policy.name}, {self.linkage}"
        return self.estimates().as_html(title, paragraph(f"{self._standing(str)}."))

    def _standing(self, name: Callable[[Any], str]) -> str:
        """What is known by now, in a few words."""
        said = self.recommend()
        after = f"after {counted(said.plays, 'play')}"
        if self.done:
            named = ", ".join(name(arm) for arm in said.top or (said.arm,))
            return f"{named} {after}, {said.status}, {said.guarantee}"
        if not said.plays:
            return "nothing played yet" if self.from_log is None else f"{name(said.arm)} leads, by its log alone"
        left = sum(each.still_in for each in self.estimates())
        return f"{name(said.arm)} leads {after}, {left} still in"

    def attempts(self, end: int | None = None) -> AttemptLog:
        """What is on record, as a log: that which the experiment began with, and behind it its plays by their ids.

        ``end`` is the id of the first play to leave out.

        Plays given up or told late are left out. So are those from the first on that is still out, until it is told or
        given up: else answers that are quick would come first, and slow ones tend to be the failures.
        """
        with self._lock:
            played = self.answers.attempts(self.arms, end)
            warm = self.warm
        log = played if warm is None else joined(warm.as_log(self.arms), played)
        # What reads it as a log of its own is a look after this one.
        bound = self.policy.error_bound
        if bound is not None:
            log.note_look(self._rule(may_read(self.policy, self.linkage_object, len(self.arms))), bound)
        if warm is not None and warm.judged:
            log.note_look(("before this experiment",), warm.judged)
        if self.upgrade is not None and self.upgrade.spent:
            log.note_look(("versions before",), self.upgrade.spent)
        return log

    def _rule(self, attempts: Which) -> Rule:
        """All that a decision from a log depends on: the same again goes on with the same look."""
        return (self.policy, self.linkage, self.parallel, attempts, self.arms, self.seed)

    def alarms(self, alpha: float = 0.01) -> tuple[Alarm, ...]:
        """What is on record that a verdict could not bear: drift, dependence, effects of position, and memory.

        If nothing is wrong there is one with probability at most ``alpha``, however often one looks. Requests have
        their numbers in :meth:`attempts`, whose docstring says what is in it. It takes time that grows with what is on
        record, about a second for a million attempts; other threads can ask and tell meanwhile.
        """
        from linkedbandits.attempts.alarms import watch  # most experiments never ask

        return watch(self.attempts(), alpha)

    def to_json(self) -> str:  # type: ignore[override]
        """Everything, as text that :meth:`from_json` goes on from exactly."""
        self._need_whole_log()
        with self._lock:
            return seal({**self.content(), **self.answers.to_json()})

    def snapshot(self) -> dict[str, Any]:
        """Everything but the answers, for ``json.dumps`` and :meth:`restore`; its size does not grow with plays."""
        self._need_whole_log()
        with self._lock:
            return {"format": VERSION, **self.content()}

    @classmethod
    def restore(cls, snapshot: dict[str, Any], answers: AnswerLog) -> Self:
        """The experiment of a :meth:`snapshot` and the answers of that moment."""
        version = check_version(snapshot.get("format"), snapshot)
        return cls._read(upgraded(snapshot, version), answers, None, None)

    @classmethod
    def from_json(cls, text: str | bytes, policy: AnyPolicy | None = None, linkage: Linkage | None = None) -> Self:
        """The experiment that :meth:`to_json` saved, with this version of the library or an earlier one.

        A policy or linkage that the library does not ship has to be passed again, a policy with the same parameters.
        Where a policy would have asked otherwise than the version that saved the experiment, the experiment goes on all
        the same, with the same estimates and the evidence that there was. Nothing is read again, so delta stays whole;
        :attr:`upgrade` says so.
        """
        if policy is not None:
            check_is_policy(policy)
        content = unseal(text)
        try:
            return cls._read(content, AnswerLog.from_json(content), policy, linkage)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            if isinstance(error, UnknownName) and error.reason is None:
                raise UnknownName(
                    f"{error}; pass one of your own again, as from_json(text, policy=...) or linkage=..."
                ) from error
            raise DamagedSave(f"the saved experiment cannot be read: {error!r}; restore a whole copy") from error

    def labelled(self, play: int, arms: IntArray) -> Play:
        """A play of the run with the labels of its arms. The same arms in a row give the same tuples."""
        shown = self._shown
        if arms is not shown[0]:
            rest = () if self.chains is None else self._labels_of(rest_of(arms))
            shown = self._shown = (arms, self._labels_of(arms_of(arms)), rest)
        return Play(play, shown[1], shown[2])

    def number_of(self, play: int, hit: Label | None) -> int:
        """The arm with this label, as the answer to a play; ``NO_HIT`` for None."""
        if hit is None:
            return NO_HIT
        try:
            return self._index[hit]
        except (KeyError, TypeError):
            self.answer_to(play)  # a play that was never asked is the greater mistake
            raise InvalidParameter(
                f"{hit!r} is no arm; the arms are {listed(self.arms)}", parameter="hit", reason="hit_not_in_play"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # a copy, for what is returned is read when the lock is free again
            return copy.deepcopy({name: value for name, value in self.__dict__.items() if name != "_lock"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._asked_at = dict.fromkeys(self._asked_at, self._clock())  # clocks of two processes differ

    def _labels_of(self, arms: IntArray) -> tuple[Label, ...]:
        return tuple(self._labels_in_an_array[arms].tolist())

    def content(self) -> dict[str, Any]:
        """All of it but the answers, ready for ``json.dumps``."""
        before = None if self.before is None else {**self.before._asdict(), "arms": list(self.before.arms)}
        return {"labels": list(self.arms), "before": before, "lease": self.lease, **super().content()}

    @classmethod
    def _read(
        cls, content: dict[str, Any], answers: AnswerLog, policy: AnyPolicy | None, linkage: Linkage | None
    ) -> Self:
        if policy is None:
            policy = make_policy(content["policy"]["name"], content["policy"]["parameters"])
        policy = policy.fitted_to(linkage or find_linkage(content["linkage"]), content["parallel"])
        if describe_policy(policy) != content["policy"]:
            raise DamagedSave(f"the experiment was saved with {content['policy']}, not {describe_policy(policy)}")
        exp = cls(
            content["labels"],
            policy,
            linkage=linkage or content["linkage"],
            seed=content["seed"],
            max_plays=content["max_plays"],
            parallel=content["parallel"],
            lease=content["lease"],
            whole_chains=content["chains"] is not None,
        )
        if content["before"] is not None:
            exp.before = Before(**{**content["before"], "arms": tuple(content["before"]["arms"])})
        exp.fill_from(content, answers)
        if exp.lease is not None:  # each play that is out has a whole lease from now on
            exp._asked_at = dict.fromkeys(exp.plays_out(), exp._clock())
        return exp


def identify(
    play_function: Callable[[tuple[Label, ...]], Label | None],
    arms: Iterable[Label],
    delta: float | None = None,
    *,
    policy: AnyPolicy | None = None,
    linkage: str | Linkage | None = None,
    max_plays: int | None = None,
    seed: int = 0,
    progress: Callable[[Experiment], object] | None = None,
) -> Verdict:
    """Find the best of some arms by playing them, and return the verdict.

    ``play_function`` gets a tuple of arms. It tries them from left to right until one works, and returns that arm, or
    None if none did. It is called until there is a verdict, or ``max_plays`` times: then the verdict has the status
    ``"exhausted"`` and names what leads. Arms that are equally good are never told apart, so give ``max_plays`` if
    yours may be.

    The verdict is wrong with probability at most ``delta``, 0.05 unless given, whatever depends on what: without a
    ``policy`` it is :class:`~linkedbandits.LinkedDuels` under the linkage ``free`` that decides, or, with
    ``linkage="single"``, one arm a play, :class:`~linkedbandits.LinkedElimination`. A ``policy`` of yours has its own
    delta, and plays under the linkage that it asks for if you do not say otherwise. ``seed`` is for policies that draw.

    Ctrl-C (a KeyboardInterrupt) ends the loop and *returns* what is known by then, with the status ``"running"`` if
    nothing is proved: plays may have been dear. The play that was interrupted does not count. Any other error of
    ``play_function`` goes to the caller, and what was played is lost; use an :class:`~linkedbandits.Experiment` where
    that may happen, or keep ``experiment.to_json()`` in ``progress``, which is called with the experiment after every
    play.

    >>> import random
    >>> import linkedbandits as lb
    >>> works, draw = {"north": 0.2, "east": 0.7, "south": 0.3}, random.Random(1)
    >>> def play(arms):
    ...     return next((arm for arm in arms if draw.random() < works[arm]), None)
    >>> verdict = lb.identify(play, works, delta=0.05)
    >>> verdict.arm, verdict.status, verdict.error_bound, verdict.assumes
    ('east', 'confident', 0.05, ())
    """
    if not callable(play_function):
        raise InvalidParameter(f"{play_function!r} is no function; give one that plays a tuple of arms")
    if policy is not None and delta is not None:
        raise InvalidParameter(f"delta={delta!r} and a policy are given; a policy has a delta of its own: give one")
    chosen, found = policy_and_linkage(policy, linkage, DEFAULT_DELTA if delta is None else delta)
    experiment = Experiment(arms, chosen, linkage=found, seed=seed, max_plays=max_plays)
    try:
        while not experiment.done:
            play = experiment.ask()
            experiment.tell(play.id, play_function(play.arms))
            if progress is not None:
                progress(experiment)
    except KeyboardInterrupt:
        pass  # the play that was out is not told
    return experiment.recommend()


def assumed(by_policy: tuple[Assumption, ...], reads_behind_failures: bool) -> tuple[Assumption, ...]:
    """What is taken for granted by a policy, and by reading attempts of a log that others had failed before."""
    if not reads_behind_failures or INDEPENDENT_OPTIONS in by_policy:
        return by_policy
    return (INDEPENDENT_OPTIONS, *by_policy)


def costs_of_successor(costs: Sequence[float], before: Sequence[Label], after: Sequence[Label]) -> tuple[float, ...]:
    """The costs of the same arms in another order; InvalidParameter if they are not the same.

    >>> costs_of_successor([1.0, 2.0], ["north", "east"], ["east", "north"])
    (2.0, 1.0)
    """
    known = dict(zip(before, costs, strict=True))
    if known.keys() != set(after):
        raise InvalidParameter(
            f"costs are known of {listed(before)} alone; give the successor a policy with a cost for each of its arms"
        )
    return tuple(known[arm] for arm in after)


def check_labels(arms: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels, or say which cannot be told apart or saved.

    >>> check_labels(["north", "east", "north"])
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: label 'north' stands for 2 arms; give every arm its own
    """
    try:
        labels = tuple(arms)
    except TypeError:
        raise InvalidParameter(
            f"{arms!r} is no list of labels; give the arms as a list, such as ['a', 'b']",
            parameter="labels",
            reason="invalid_labels",
        ) from None
    if len(labels) < 2:
        raise InvalidParameter(
            f"{len(labels)} arm(s) given; a choice needs at least two", parameter="labels", reason="invalid_labels"
        )
    for label in labels:
        if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
            raise InvalidParameter(
                f"label {label!r} is no text, number or boolean; use one that JSON can hold",
                parameter="labels",
                reason="invalid_labels",
            )
    most_common, times = Counter(labels).most_common(1)[0]
    if times > 1:
        raise InvalidParameter(
            f"label {most_common!r} stands for {times} arms; give every arm its own",
            parameter="labels",
            reason="invalid_labels",
        )
    return labels
