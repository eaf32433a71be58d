"""A live experiment in numbers: one lane of the loop that simulation runs, played by the caller.

:class:`Run` owns everything that changes during an experiment. Arms are numbers here;
:class:`linkedbandits.live.experiment.Experiment` adds labels and leases.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.errors import ConflictingTell, ExperimentFinished, InvalidParameter, TooManyInFlight, UnknownName
from linkedbandits.linkage import Linkage
from linkedbandits.live.answers import GIVEN_UP, NO_HIT, WAITING, AnswerLog, TupleTable
from linkedbandits.live.chain_record import ChainRecord, Learning, arms_of, order_of, ranked
from linkedbandits.live.future import Future
from linkedbandits.live.requests import RequestQueue, is_of, queue_for, resume
from linkedbandits.live.saving import Saved, asks_digest
from linkedbandits.live.warm_start import FromLog, WarmStart
from linkedbandits.loop import play_on
from linkedbandits.model import COUNT_LIMIT, Counts, IntArray, Request, Status, check_request
from linkedbandits.policies import describe_policy
from linkedbandits.policy import AnyPolicy, LaneState, best_guess
from linkedbandits.streams import LaneStreams
from linkedbandits.version import __version__

Receipt = Literal["counted", "spare", "late", "repeated"]

_WHOLE = (int, np.integer)
_CANNOT_READ = (KeyError, TypeError, IndexError, AttributeError, ValueError)

HANDS_OUT_BY = 1
"""The number of the rule by which plays are handed out, for replays. Raise it when the same policy would be given other
plays for the same answers: it then begins anew with the evidence that it had."""

LEAST_BEHIND = 32
"""An answer is overdue when this many plays were handed out after it,"""
TIMES_IN_FLIGHT = 3
"""or this many times as many as are out, if that is more: until then answers are on their way."""
MOST_ARMS_AHEAD = 64
"""With more arms, a future of the policy takes too long to follow."""


class Decision(NamedTuple):
    """A verdict in numbers: the arms named, best first."""

    top: tuple[int, ...]
    status: Status
    plays: int
    error_bound: float | None


class Upgrade(NamedTuple):
    """An experiment that a later version of the library goes on with, though its policy would have asked otherwise.

    ``version`` is the one that goes on, ``before`` the one that played until then (None if that is not known). The
    ``plays`` of that time are in the estimates and are not read again. ``evidence`` is what the policy had against
    every arm by then, as a power of ten, and goes on from; None where it begins from nothing, on new plays. Then what
    it might have been wrong with before is ``spent``, and is part of the bound of a later verdict.
    """

    version: str
    before: str | None
    plays: int
    evidence: tuple[float, ...] | None
    spent: float = 0.0

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Upgrade:
        """From what ``_asdict`` gives, also by way of JSON."""
        evidence = said["evidence"]
        return cls(**{**said, "evidence": None if evidence is None else tuple(evidence)})


class Run(Saved):
    """A policy's state, its request, the plays that are out or spare, and all that came back.

    Any number of threads may use it.

    ``plays`` counts the plays told, ``late`` those of them that came too late to count for the decision. ``names`` are
    what refusals call the arms. ``only_first_tries`` says that arms may fail together for all that the policy assumes:
    then what an arm does behind the failure of others is no sample of its mean.

    With ``whole_chains`` a play goes on with the rest of the arms when its own have failed; ``chains`` is the record of
    that.
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("plays", "late", "_plays_observed", "_samples", "_successes", "_late_samples", "_late_successes"),
        *("_first_samples", "_first_successes"),
    )

    def __init__(
        self,
        policy: AnyPolicy,
        linkage: Linkage,
        arms: int,
        *,
        seed: int = 0,
        max_plays: int = COUNT_LIMIT,
        parallel: int | None = None,
        names: Sequence[object] | None = None,
        whole_chains: bool = False,
    ) -> None:
        """Nothing has been played yet. The arguments are those of an experiment, checked."""
        self.policy = policy
        self.linkage_object = linkage
        self.seed = seed
        self.max_plays = max_plays
        self.parallel = parallel
        self.plays = 0
        self.late = 0
        self.answers = AnswerLog()
        self.decision: Decision | None = None
        self.upgrade: Upgrade | None = None
        self.warm: WarmStart | None = None
        self._lock = threading.RLock()
        self._names = range(arms) if names is None else names
        self._asks: str | None = None
        self._out: dict[int, IntArray] = {}  # plays as they were handed out
        self._given_up = TupleTable()  # what plays given up have tried, in case they are told all the same
        self._future: Future | None = None  # that spare plays are chosen by, while an answer is overdue
        self._oldest = 0  # no play before this one is out
        # Plays told behind one that is out, as they were handed out, and what they have brought to the estimates.
        self._behind: dict[int, IntArray] = {}
        self._samples_behind, self._successes_behind = np.zeros((2, arms), dtype=np.int64)
        self._log: Queues | None = None  # the log of others that it began with, and the pairs in it
        self._pairs: PairQueues | None = None
        # Samples that finished requests took, those told too late, and first tries, of plays and late ones alike.
        self._samples, self._successes, self._late_samples, self._late_successes = np.zeros((4, arms), dtype=np.int64)
        self._first_samples, self._first_successes = [0] * arms, [0] * arms  # one number changes with every play
        independent = INDEPENDENT_OPTIONS in policy.assumptions(linkage)
        self.only_first_tries = not independent and (whole_chains or not linkage.tries_one)
        self.chains = ChainRecord(arms, independent, policy.goal.costs) if whole_chains else None
        self._rest_counts = whole_chains and independent
        self._plays_observed = 0  # of which the policy has been told
        self._state = self._first_state()
        self._asked: Request = self._first_request()
        self._queue: RequestQueue = queue_for(self._asked, arms, linkage)
        self._begin(self._asked)

    def _first_state(self) -> LaneState:
        arms = self._samples.size
        state: LaneState = self.policy.start(1, arms, LaneStreams(self.seed, arms, range(1)).policy_seeds())
        return state

    def _first_request(self) -> Request:
        request = self.policy.request(self._state)
        check_request(request)
        return request

    def start_from(self, warm: WarmStart, *, read: bool = True) -> None:
        """Begin a new run with a log: what it decides is not played. There may be a verdict at once.

        Without ``read`` the log serves the estimates alone, for :meth:`begin_anew`.
        """
        warm.check_policy(self.policy, self._asked)
        self.warm = warm
        self._log, self._pairs = warm.queues(), warm.pairs()
        if read:
            self._begin(self._asked)
            self._go_on()

    @property
    def from_log(self) -> FromLog | None:
        """What was read so far of the log that the experiment began with; None if there was none."""
        if self.warm is None:
            return None
        read = self.warm.samples
        if self._pairs is not None:
            read = int(self._pairs.read.sum())
        elif self._log is not None:
            read -= int(self._log.left.sum())
        return FromLog(self.warm.attempts, self.warm.requests, self.warm.samples, read)

    @property
    def in_flight(self) -> int:
        """Plays asked and neither told nor abandoned."""
        return len(self._out)

    def plays_out(self) -> list[int]:
        """The plays asked and neither told nor abandoned, oldest first."""
        return list(self._out)

    @property
    def in_time(self) -> int:
        """Plays told in time to count for the decision: those that a budget is about."""
        return self.plays - self.late

    @property
    def waiting(self) -> int:
        """Plays told that the decision has not used yet: they wait until answers to plays before them have come."""
        with self._lock:
            return 0 if self.decision is not None else self._queue.untouched

    @property
    def done(self) -> bool:
        """True once there is a verdict."""
        return self.decision is not None

    @property
    def whole_chains(self) -> bool:
        """True if plays go on with the rest of the arms when their own have failed."""
        return self.chains is not None

    def hand_out(self) -> tuple[int, IntArray]:
        """The next play of the current request, or a spare one: its number, and what to try.

        That are its arms, and with whole chains the rest, in the form of :mod:`~linkedbandits.live.chain_record`. The
        same in a row is mostly the same array.
        """
        with self._lock:
            self._check_may_ask()
            arms = self._queue.hand_out()
            spare = arms is None
            if arms is None:
                arms = self._foreseen_play() if self._overdue else None
            if arms is None:
                arms = self._queue.spare_play()
            handed_out = arms if self.chains is None else self.chains.play(arms)
            play = self.follow(handed_out)
            self._queue.put(play, order_of(handed_out) if self._rest_counts else arms, spare)
            return play, handed_out

    def follow(self, handed_out: IntArray) -> int:
        """Number a play; called alone, of one that another version has handed out, which serves the estimates alone."""
        play = self.answers.open_play(handed_out)
        self._out[play] = handed_out
        return play

    def _check_may_ask(self) -> None:
        if self.decision is not None:
            raise ExperimentFinished(
                f"the experiment is done after {self.decision.plays} plays; recommend() has its verdict, and order "
                "what to try from now on"
            )
        out = len(self._out)
        if self.plays - self.late + out >= self.max_plays:
            raise TooManyInFlight(
                f"all {self.max_plays} plays of the budget are out; tell() the {out} that are in flight"
            )
        if self.parallel is not None and out >= self.parallel:
            raise TooManyInFlight(
                f"{out} plays are out, as many as parallel={self.parallel} allows; tell() or abandon() one"
            )

    def _foreseen_play(self) -> IntArray | None:
        """What the policy is likely to want next; None where that is not known."""
        goal = self.policy.goal
        if goal.delta is None or goal.budget is not None or self._samples.size > MOST_ARMS_AHEAD:
            return None  # a future of such a policy is long, or takes long
        if self._log is not None or self._pairs is not None:
            return None
        samples, successes = self.samples_of_means()
        means = (successes + 0.5) / (samples + 1.0)
        chance = np.random.default_rng([self.seed, len(self.answers)])
        if self._future is None:
            state = self._state.take(np.zeros(1, dtype=np.int64))
            self.policy.observe(state, self._queue.predicted(means, chance))
            self._future = Future(self.policy, self.linkage_object, state)
        return self._future.hand_out(self._queue, means, chance)

    @property
    def _overdue(self) -> bool:
        """True while an answer is missing for so long that the current request says little of what will be asked."""
        return len(self.answers) - self._oldest >= max(LEAST_BEHIND, TIMES_IN_FLIGHT * len(self._out))

    def bring(self, play: int, hit: int, late: bool = False) -> Receipt:
        """Say how a play ended: the arm that succeeded, or ``NO_HIT``. Returns what became of the answer.

        An answer is ``late`` if the play was given up, if there is a verdict, or if that is said.
        """
        with self._lock:
            return self._bring(play, hit, late)

    def _bring(self, play: int, hit: int, late: bool) -> Receipt:
        answer = self.answer_to(play)
        if answer >= NO_HIT:
            return self._check_repeated(play, answer, hit)
        handed_out = self._out.get(play)
        in_time = handed_out is not None and self.decision is None and not late
        if handed_out is None:
            handed_out = self._given_up[GIVEN_UP - answer]
        # Decisions may use what a play tries, but not the rest of a chain if arms may fail together.
        tried = order_of(handed_out) if self._rest_counts else arms_of(handed_out)
        reached, worked = tried.size, hit
        if hit != NO_HIT:
            reached = self._reached(play, order_of(handed_out), hit)
            if reached > tried.size:
                reached, worked = tried.size, NO_HIT

        self.plays += 1
        was_out = self._out.pop(play, None) is not None
        self.answers.record(play, hit, late=not in_time)
        if self.chains is not None:
            self.chains.add(handed_out, hit)
        if self.only_first_tries:
            first = handed_out.item(0)
            self._first_samples[first] += 1
            self._first_successes[first] += hit == first
        receipt: Receipt = "late"
        if in_time:
            receipt = "counted" if self._queue.come_back(play, tried, reached, worked) else "spare"
            self._go_on()
        else:
            self.late += 1
            self._late_samples[tried[:reached]] += 1
            if worked != NO_HIT:
                self._late_successes[worked] += 1
        if self.decision is None and self.plays - self.late >= self.max_plays:
            self.decision = self._leading("exhausted")
        if was_out and play != self._oldest:
            self._behind[play] = handed_out
            self._count_behind(play, handed_out, 1)
        self._find_oldest()
        return receipt

    def give_up(self, play: int) -> None:
        """A play will not be answered, or too late to count. One told or given up before does not matter."""
        with self._lock:
            if self.answer_to(play) != WAITING:
                return
            self.answers.record(play, GIVEN_UP - self._given_up.number(self._out.pop(play)))
            if self.decision is None:
                self._queue.give_up(play)
                self._future = None  # plays behind this one move up
                self._go_on()
            self._find_oldest()

    def _find_oldest(self) -> None:
        """Go on to the first play that is out."""
        asked = len(self.answers)
        while self._oldest < asked and self.answers.of(self._oldest) != WAITING:
            handed_out = self._behind.pop(self._oldest, None)
            if handed_out is not None:
                self._count_behind(self._oldest, handed_out, -1)
            self._oldest += 1

    def _count_behind(self, play: int, handed_out: IntArray, times: int) -> None:
        """A play that was told is behind one that is out, or not any more."""
        hit = self.answers[play]
        tried = order_of(handed_out) if self._rest_counts else arms_of(handed_out)
        if self.only_first_tries:
            tried = tried[:1]
        elif hit in tried:
            tried = tried[: self._reached(play, tried, hit)]
        self._samples_behind[tried] += times
        if hit in tried:
            self._successes_behind[hit] += times

    def answer_to(self, play: int) -> int:
        """What is on record for a play that was asked, or UnknownName."""
        answer = self.answers.of(play) if isinstance(play, _WHOLE) else None
        if answer is None:
            raise UnknownName(
                f"no play {play!r} was asked; ids run from 0 to {len(self.answers) - 1}"
                if len(self.answers)
                else f"no play {play!r} was asked, nor any other yet; ask() first",
                reason="unknown_play",
            )
        return answer

    def _check_repeated(self, play: int, answer: int, hit: int) -> Receipt:
        if answer != hit:
            known, now = (None if arm == NO_HIT else self._names[arm] for arm in (answer, hit))
            raise ConflictingTell(
                f"play {play} was told hit={known!r} before and now hit={now!r}; the first answer stands",
                on_record=known,
            )
        return "repeated"

    def _reached(self, play: int, arms: IntArray, hit: int) -> int:
        """How many arms were tried, up to the one that succeeded."""
        positions = (arms == hit).nonzero()[0]
        if not positions.size:
            raise InvalidParameter(
                f"play {play} did not try {self._names[hit]!r}; its arms were "
                f"{listed([self._names[arm] for arm in arms.tolist()])}. Tell hit=None if none of them succeeded; if "
                "others were tried after them, create the experiment with whole_chains=True, and plays say which",
                parameter="hit",
                reason="hit_not_in_play",
            )
        return int(positions[0]) + 1

    def _go_on(self) -> None:
        """Something has come back or was given up: the policy goes on where its request is fulfilled."""
        if self._queue.fulfilled:
            play_on(self.policy, self._state, self._fulfil, self._not_decided, self._asked)

    def _fulfil(self, request: Request) -> Counts | None:
        """What a request has brought; None until all of it is back. Another request than the last one begins."""
        if request is not self._asked:
            self._begin(request)
        return self._take_counts() if self._queue.fulfilled else None

    def _begin(self, request: Request) -> None:
        """Begin to play a request, with what the log and spare plays have of it."""
        self._asked = request
        self._future = None
        if not self._queue.serves(request):  # what the other kind of queue has serves the estimates alone
            samples, successes = self._queue.unused()
            self._samples += samples
            self._successes += successes
            self._queue = queue_for(request, self._samples.size, self.linkage_object)
        self._queue.begin(request, self._log, self._pairs)  # type: ignore[arg-type]
        if self._log is not None and not self._log.left.any():
            self._log = None

    def _take_counts(self) -> Counts:
        """What the request has brought, which is part of the totals from now on."""
        counts = self._queue.counts()
        self._samples += counts.samples[0]
        self._successes += counts.successes[0]
        # Spare plays count, too, so that they add up to those of the verdict.
        since = self.in_time - self._plays_observed
        if counts.plays is not None:
            since = min(int(counts.plays[0]), since)  # not all that was ever played at once
        self._plays_observed += since
        # A policy that shares out a budget of its own counts what others have played for it as well.
        made = since if self.warm is None else self._queue.plays_with_log(since)
        return Counts(counts.samples, counts.successes, np.array([made]), counts.hits)

    def _not_decided(self) -> bool:
        """False once the policy has stopped: there is a verdict then."""
        if self._state.stopped[0]:
            top, status = tuple(self.policy.answer(self._state)[0].tolist()), self.policy.status_at_stop
            self.decision = Decision(top, status, self.in_time, self._bound(status))
        return self.decision is None

    def _bound(self, status: Status) -> float | None:
        """That of the policy, with those of verdicts asked of its log before, and of versions that left no evidence."""
        bound = self.policy.error_bound if status == "confident" else None
        if bound is None:
            return None
        judged = 0.0 if self.warm is None else self.warm.judged
        return min(1.0, bound + judged + (0.0 if self.upgrade is None else self.upgrade.spent))

    def decide(self) -> Decision:
        """The verdict; before there is one, what leads, with status ``"running"``."""
        with self._lock:
            return self.decision or self._leading("running")

    def _leading(self, status: Status) -> Decision:
        """The best guess before the policy has decided; what came late has no say in it."""
        samples, successes = self._totals_in_time()
        top = best_guess(self.policy, self._state, samples[np.newaxis], successes[np.newaxis])[0]
        return Decision(tuple(top.tolist()), status, self.in_time, None)

    def _totals_in_time(self) -> tuple[IntArray, IntArray]:
        """Of finished requests, the current one, plays that no request has taken, and what the log has left."""
        samples, successes = self._queue.unused()
        samples, successes = samples + self._samples, successes + self._successes
        if self._log is not None:
            samples, successes = samples + self._log.left, successes + self._log.successes_left
        if not self._state.stopped[0]:
            counts = self._queue.counts()
            samples, successes = samples + counts.samples[0], successes + counts.successes[0]
        return samples, successes

    def totals(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm in all plays told so far, the late ones among them, and in the log."""
        samples, successes = self._totals_in_time()
        return samples + self._late_samples, successes + self._late_successes

    def samples_of_means(self) -> tuple[IntArray, IntArray]:
        """Of those, the samples and successes that are fair ones of every arm's mean: all, or its first tries alone."""
        if not self.only_first_tries:
            return self.totals()
        samples, successes = np.array(self._first_samples), np.array(self._first_successes)
        if self.warm is None:
            return samples, successes
        return samples + self.warm.first_tries[0], successes + self.warm.first_tries[1]

    def samples_in_order(self) -> tuple[IntArray, IntArray]:
        """Those of plays before the first that is out, and of plays told late.

        Answers that are quick come first, and slow ones are mostly failures. So estimates, and limits of them that hold
        at any time, leave out what was told behind a play that is out.
        """
        with self._lock:
            samples, successes = self.samples_of_means()
            return samples - self._samples_behind, successes - self._successes_behind

    def still_in(self) -> list[bool]:
        """For every arm, whether it can still be the answer."""
        marks: list[bool] = self._state.still_in[0].tolist()
        return marks

    def contradicted(self) -> bool:
        """True if what was seen speaks against what the policy was told."""
        with self._lock:
            contradicted = self.policy.contradicted(self._state, np.array(self.decide().top[:1]))
        return contradicted is not None and bool(contradicted[0])

    def ranking(self) -> IntArray:
        """All arms in the best order known: the answer or what leads, and behind it what does best there."""
        with self._lock:
            top = self.decide().top
            samples, successes = self.samples_of_means()
        means = (successes + 1.0) / (samples + 2.0)
        return ranked(top, means, self.policy.goal.costs) if self.chains is None else self.chains.rank(top, means)

    @property
    def learning(self) -> Learning | None:
        """What the plays told so far have cost, against the best order known; None without whole chains."""
        if self.chains is None:
            return None
        with self._lock:
            order = self.ranking()
            samples, successes = (counts[order[0]] for counts in self.samples_of_means())
            return self.chains.learning(order, (successes + 1.0) / (samples + 2.0))

    def evidence(self) -> list[float] | None:
        """Evidence against every arm as a power of ten, for policies that keep it; an arm is dropped at 1/delta."""
        with self._lock:
            evidence = self.policy.log10_evidence(self._state)
        return None if evidence is None else evidence[0].tolist()

    def _evidence_to_keep(self) -> list[float] | None:
        """What a later version goes on from: an arm that is out has enough against it, whatever was seen since."""
        evidence, delta = self.evidence(), self.policy.goal.delta
        if evidence is None or delta is None:
            return evidence
        enough = math.log10(1 / delta) + 1e-12
        return [value if kept else max(value, enough) for value, kept in zip(evidence, self.still_in(), strict=True)]

    def asks(self) -> str:
        """What tells this policy from one that asks otherwise; see :func:`~linkedbandits.live.saving.asks_digest`."""
        if self._asks is None:
            self._asks = asks_digest(self.policy, self.linkage_object, self._samples.size)
        return self._asks

    def state_as_json(self) -> dict[str, Any]:
        """The policy's state, to check that something has not changed it."""
        state: dict[str, Any] = self._state.to_json()
        return state

    def content(self) -> dict[str, Any]:
        """All of it but the answers, ready for ``json.dumps``; :meth:`fill_from` goes on exactly from there.

        Its size depends on the arms, the plays that are out, and those told behind the first of these.
        """
        tuples = TupleTable()
        return {
            **super().to_json(),
            "written_by": {"version": __version__, "asks": self.asks()},
            "upgrade": None if self.upgrade is None else self.upgrade._asdict(),
            "policy": describe_policy(self.policy),
            "linkage": self.linkage_object.name,
            "seed": self.seed,
            "max_plays": self.max_plays,
            "parallel": self.parallel,
            "chains": None if self.chains is None else self.chains.to_json(),
            "out": [[play, tuples.number(handed_out)] for play, handed_out in self._out.items()],
            "behind": [[play, tuples.number(handed_out)] for play, handed_out in self._behind.items()],
            "tuples": tuples.to_json(),
            "future": None if self._future is None else self._future.to_json(),
            "given_up": self._given_up.to_json(),
            "verdict": None if self.decision is None else list(self.decision[:3]),
            "evidence": self._evidence_to_keep(),
            "state": self._state.to_json(),
            "request": self._queue.to_json(),
            "warm": None if self.warm is None else self.warm.to_json(),
            "log_read": None if self._log is None else self._log.read.tolist(),
            "pairs_read": None if self._pairs is None else self._pairs.read.tolist(),
        }

    def fill_from(self, content: dict[str, Any], answers: AnswerLog) -> None:
        """Make a new run, with the same policy and as many arms, into the one whose :meth:`content` this is.

        Where the policy would have asked otherwise it begins anew with the evidence that it had; see
        :meth:`begin_anew`. A verdict that was given stands.
        """
        super().fill(content)
        self.answers = answers
        self.upgrade = None if content["upgrade"] is None else Upgrade.from_json(content["upgrade"])
        if self.chains is not None:
            self.chains.fill(content["chains"])
        tuples = TupleTable(content["tuples"])
        self._out = {play: tuples[number] for play, number in content["out"]}
        self._given_up = TupleTable(content["given_up"])
        if content["warm"] is not None:
            self.warm = WarmStart.from_json(content["warm"])
            if content["log_read"] is not None:
                self._log = self.warm.queues()
                self._log.read = np.array(content["log_read"], dtype=np.int64)
            if content["pairs_read"] is not None:
                self._pairs = self.warm.pairs()
                if self._pairs is not None:
                    self._pairs.read = np.array(content["pairs_read"], dtype=np.int64)
        self._queue = resume(content["request"], self._samples.size, self.linkage_object)
        if content["verdict"] is None and not self._asks_as_in(content):
            self.begin_anew(content["written_by"]["version"], content["evidence"])
            return
        self._oldest = min(self._out, default=len(answers))
        self._behind = {play: tuples[number] for play, number in content["behind"]}
        for play, handed_out in self._behind.items():
            self._count_behind(play, handed_out, 1)
        if content["verdict"] is not None:
            top, status, plays = content["verdict"]
            self.decision = Decision(tuple(top), status, plays, self._bound(status))
        self._state = self._state_in(content)
        if self.decision is None:
            self._asked = self.policy.request(self._state)
        if content["future"] is not None:
            kind = type(self._state)
            self._future = Future.from_json(content["future"], self.policy, self.linkage_object, kind)

    def _asks_as_in(self, content: dict[str, Any]) -> bool:
        """True if the policy can go on from the state in this content, and would have asked the same."""
        saved, asked = content["state"], content["request"]
        if content["written_by"]["asks"] != self.asks():
            return False
        try:
            return is_of(asked, self.policy.request(type(self._state).from_json(saved)))
        except _CANNOT_READ:
            return False

    def _state_in(self, content: dict[str, Any]) -> LaneState:
        """The policy's state; under a verdict, if its form is another one by now, what all states have in common."""
        try:
            state: LaneState = type(self._state).from_json(content["state"])
        except _CANNOT_READ:
            if self.decision is None:
                raise
            shared = LaneState.from_json(content["state"])
            state = self._state
            state.still_in, state.stopped, state.arm = shared.still_in, shared.stopped, shared.arm
        return state

    def begin_anew(self, before: str | None, evidence: Sequence[float] | None) -> None:
        """Go on where another version of the policy has stopped, with the ``evidence`` it had by then.

        What was played is in the estimates. Nothing of it is read again: each option's evidence is a capital that goes
        on growing or shrinking on new plays, so delta stays whole. A policy that cannot take evidence over begins from
        nothing, and the bound of its verdict is the sum of what each of the two may be wrong with. Which plays are
        still out may depend on how they go, so these are given up: their answers are late.
        """
        for play, tried in self._out.items():
            self.answers.record(play, GIVEN_UP - self._given_up.number(tried))
        self._out.clear()
        self._samples, self._successes = self._totals_in_time()
        self._oldest = len(self.answers)
        self._log, self._pairs, self.decision = None, None, None
        self._plays_observed = self.in_time
        self._state = self._first_state()
        carried = evidence is not None and self.policy.carry_over(self._state, np.power(10.0, np.array([evidence])))
        spent = 0.0 if self.upgrade is None else self.upgrade.spent
        has_read = self.in_time > self.upgrade.plays if self.upgrade else self.in_time or self.warm is not None
        if has_read and not carried:
            spent += self.policy.error_bound or 0.0
        kept = tuple(evidence) if carried and evidence is not None else None
        self.upgrade = Upgrade(__version__, before, self.in_time, kept, spent)
        request = self._first_request()
        self._queue = queue_for(request, self._samples.size, self.linkage_object)
        self._begin(request)
        if self.in_time >= self.max_plays:
            self.decision = self._leading("exhausted")


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names in a sentence, the first few if there are many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
