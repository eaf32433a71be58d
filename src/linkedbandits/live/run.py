"""A live experiment in numbers: one lane of the loop that simulation runs, played by the caller.

:class:`Run` owns everything that changes during an experiment. Arms are numbers; labels are the business of
:class:`linkedbandits.live.experiment.Experiment`, leases and the journal of the service's. It is not guarded against
several threads; both of these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.errors import ConflictingTell, ExperimentFinished, InvalidParameter, TooManyInFlight, UnknownName
from linkedbandits.linkage import Linkage
from linkedbandits.live.answer_log import GIVEN_UP, NO_HIT, WAITING, AnswerLog, TupleTable
from linkedbandits.live.first_tries import FirstTries
from linkedbandits.live.future import Future
from linkedbandits.live.pair_log import PairLog
from linkedbandits.live.requests import NeedsInProgress, RequestInProgress, begin, counts_in, is_of, resume
from linkedbandits.live.saving import asks_digest
from linkedbandits.live.spares import ClaimedSpares, Spares
from linkedbandits.live.warm_start import FromLog, WarmStart
from linkedbandits.live.whole_chains import ChainRecord, Learning, arms_of, order_of, ranked, rest_of
from linkedbandits.loop import play_on
from linkedbandits.model import COUNT_LIMIT, Counts, IntArray, Request, Status, check_request
from linkedbandits.policies import describe_policy
from linkedbandits.policy import AnyPolicy, LaneState, best_guess
from linkedbandits.streams import LaneStreams
from linkedbandits.version import __version__
from linkedbandits.world import LogWorld

Receipt = Literal["counted", "spare", "late", "repeated"]

_WHOLE = (int, np.integer)

HANDS_OUT_BY = 1
"""The number of the rule by which plays are handed out, for replays. Raise it when the same policy would be given other
plays for the same answers: it then begins anew with the evidence that it had."""

LEAST_BEHIND = 32
"""An answer is overdue when this many plays were handed out after it,"""
TIMES_IN_FLIGHT = 3
"""or this many times as many as are out, if that is more: until then answers are on their way."""
MOST_ARMS_AHEAD = 64
"""With more arms, a future of the policy takes too long to follow."""


class Ticket(NamedTuple):
    """A play that is out, for the current request or spare.

    ``claimed`` are the arms it speaks for, if these are some of its arms only: of a play that was spare, or of one that
    has to try more arms than are needed, those that are. ``play`` is what was handed out: the arms, with the rest of a
    whole chain.
    """

    arms: IntArray
    role: Literal["current", "spare"]
    claimed: IntArray | None
    play: IntArray


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


class Run:
    """A policy's state, the request that is being played, the plays that are out or spare, and all that came back.

    ``plays`` counts the plays told, ``late`` those of them that came too late to count for the decision. ``names`` are
    what refusals call the arms. ``only_first_tries`` says that arms may fail together for all that the policy assumes:
    then what an arm does behind the failure of others is no sample of its mean.

    With ``whole_chains`` a play goes on with the rest of the arms when its own have failed; ``chains`` is the record of
    that.
    """

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
        keeps_tuples: bool = True,
        whole_chains: bool = False,
    ) -> None:
        """Nothing has been played yet. The arguments are those of an experiment, checked.

        ``keeps_tuples`` is for those who have no other record of which play tried what.
        """
        self.policy = policy
        self.linkage = linkage
        self.plays = 0
        self.late = 0
        self.answers = AnswerLog(keeps_tuples)
        self.decision: Decision | None = None
        self.upgrade: Upgrade | None = None
        self._asks: str | None = None
        self._seed = seed
        self._max_plays = max_plays
        self._parallel = parallel
        self._names = range(arms) if names is None else names
        self._tickets: dict[int, Ticket] = {}
        self._given_up = TupleTable()  # what plays given up have tried, in case they are told all the same
        self._spares = Spares(arms)
        nothing = np.empty(0, dtype=np.int64)
        self._ticket = Ticket(nothing, "current", None, nothing)  # the last one handed out for a request
        self._future: Future | None = None  # that spare plays are chosen by, while an answer is overdue
        self._oldest = 0  # no play before this one is out
        # Plays told behind one that is out, as they were handed out, and what they have brought to the estimates.
        self._behind: dict[int, IntArray] = {}
        self._samples_behind, self._successes_behind = np.zeros((2, arms), dtype=np.int64)
        self.warm: WarmStart | None = None  # the log of others that it began with
        self._log: LogWorld | None = None  # what requests have not read of it yet
        self._pairs: PairLog | None = None
        # Samples of finished requests and of plays that no request has used; the current request has the rest.
        # What came too late for the decision is apart.
        self._samples = np.zeros(arms, dtype=np.int64)
        self._successes = np.zeros(arms, dtype=np.int64)
        self._late_samples = np.zeros(arms, dtype=np.int64)
        self._late_successes = np.zeros(arms, dtype=np.int64)
        independent = INDEPENDENT_OPTIONS in policy.assumptions(linkage)
        self.only_first_tries = not independent and (whole_chains or not linkage.tries_one)
        self.chains = ChainRecord(arms, independent, policy.goal.costs) if whole_chains else None
        self._rest_counts = whole_chains and independent
        self._first_tries = FirstTries(arms) if self.only_first_tries else None  # for no one else: it takes time
        self._plays_observed = 0  # of which the policy has been told
        self._state = self._first_state()
        self._asked: Request
        self._request: RequestInProgress
        self._begin(self._next_request())

    def start_from(self, warm: WarmStart) -> None:
        """Begin a new run with a log: what it decides is not played. There may be a verdict at once."""
        warm.check_policy(self.policy, self._asked)
        self.warm = warm
        self._log, self._pairs = warm.queues(), warm.pairs()
        self._begin(self._asked)
        self._go_on()

    @property
    def from_log(self) -> FromLog | None:
        """What was read of the log that it began with; None without one."""
        warm = self.warm
        if warm is None:
            return None
        if self._pairs is not None:
            return FromLog(warm.attempts, warm.requests, warm.samples, self._pairs.read)
        left = 0 if self._log is None else int(self._log.left.sum())
        return FromLog(warm.attempts, warm.requests, warm.samples, warm.samples - left)

    @property
    def seed(self) -> int:
        """For policies that draw."""
        return self._seed

    @property
    def limits(self) -> tuple[int, int | None]:
        """How many plays it ends after, and how many may be out."""
        return self._max_plays, self._parallel

    @property
    def in_flight(self) -> int:
        """Plays asked and neither told nor abandoned."""
        return len(self._tickets)

    def plays_out(self) -> list[int]:
        """The plays asked and neither told nor abandoned, oldest first."""
        return list(self._tickets)

    @property
    def in_time(self) -> int:
        """Plays told in time to count for the decision: those that a budget is about."""
        return self.plays - self.late

    @property
    def waiting(self) -> int:
        """Plays told of which no request has used anything yet."""
        return 0 if self.decision is not None else self._spares.untouched

    def ask(self) -> tuple[int, IntArray]:
        """The next play of the current request, or a spare one: its number, and what to try.

        That are its arms, and with whole chains the rest, in the form of :mod:`~linkedbandits.live.whole_chains`. The
        same in a row is mostly the same array.
        """
        if self.decision is not None:
            raise ExperimentFinished(
                f"the experiment is done after {self.decision.plays} plays; recommend() has its verdict, and order "
                "what to try from now on"
            )
        out = len(self._tickets)
        if self.plays - self.late + out >= self._max_plays:
            raise TooManyInFlight(
                f"all {self._max_plays} plays of the budget are out; tell() the {out} that are in flight"
            )
        if self._parallel is not None and out >= self._parallel:
            raise TooManyInFlight(
                f"{out} plays are out, as many as parallel={self._parallel} allows; tell() or abandon() one"
            )
        arms = self._request.hand_out()
        if arms is None:
            return self._ask_spare()
        claimed = self._request.claimed
        handed_out = arms if self.chains is None else self.chains.play(arms)
        play = self.answers.open_play(handed_out)
        if handed_out is not self._ticket.play or claimed is not self._ticket.claimed:
            self._ticket = Ticket(arms, "current", claimed, handed_out)
        self._tickets[play] = self._ticket
        if self._rest_counts:
            self._spares.put(play, order_of(handed_out), arms, spoken_for=True)
            if isinstance(self._request, NeedsInProgress) and self._request.wants(rest_of(handed_out)):
                self._claim_spares()
        return play, handed_out

    def _ask_spare(self) -> tuple[int, IntArray]:
        """A play beyond what the current request needs."""
        arms = self._foreseen_play() if self._overdue else None
        if arms is None:
            arms = self._request.spare_play()
        handed_out = arms if self.chains is None else self.chains.play(arms)
        play = self.answers.open_play(handed_out)
        ticket = self._tickets[play] = Ticket(arms, "spare", None, handed_out)
        self._spares.put(play, self._may_count(ticket), arms)
        return play, handed_out

    def _foreseen_play(self) -> IntArray | None:
        """What the policy is likely to want next; None where that is not known."""
        goal = self.policy.goal
        if goal.delta is None or goal.budget is not None or self._samples.size > MOST_ARMS_AHEAD:
            return None  # a future of such a policy is long, or takes long
        if self._log is not None or self._pairs is not None:
            return None
        samples, successes = self.samples_of_means()
        means = (successes + 0.5) / (samples + 1.0)
        chance = np.random.default_rng([self._seed, len(self.answers)])
        if self._future is None:
            state = self._state.take(np.zeros(1, dtype=np.int64))
            self.policy.observe(state, self._request.predicted(means, chance))
            self._future = Future(self.policy, self.linkage, self._samples.size, state)
        return self._future.hand_out(self._spares, means, chance)

    @property
    def _overdue(self) -> bool:
        """True while an answer is missing for so long that the current request says little of what will be asked."""
        return len(self.answers) - self._oldest >= max(LEAST_BEHIND, TIMES_IN_FLIGHT * len(self._tickets))

    def _may_count(self, ticket: Ticket) -> IntArray:
        """What a play tries, as far as decisions may use it: not the rest of a chain, if arms may fail together."""
        return order_of(ticket.play) if self._rest_counts else ticket.arms

    def tell(self, play: int, hit: int) -> Receipt:
        """Say how a play ended: the arm that succeeded, or ``NO_HIT``. Returns what became of the answer."""
        answer = self.answer_to(play)
        if answer >= NO_HIT:
            return self._check_repeated(play, answer, hit)
        ticket = self._tickets.get(play)
        known = self._ticket_of(self._given_up[GIVEN_UP - answer], "spare") if ticket is None else ticket
        tried = self._may_count(known)
        reached, worked = tried.size, hit
        if hit != NO_HIT:
            reached = self._reached(play, order_of(known.play), hit)
            if reached > tried.size:
                reached, worked = tried.size, NO_HIT

        self.plays += 1
        if self.chains is not None:
            self.chains.add(known.play, hit)
        if self._first_tries is not None:
            self._first_tries.add(known.arms, hit)
        if ticket is not None:
            del self._tickets[play]
        if ticket is None or self.decision is not None:
            receipt: Receipt = "late"
            self.answers.record_late(play, hit)
            self.late += 1
            self._late_samples[tried[:reached]] += 1
            if worked != NO_HIT:
                self._late_successes[worked] += 1
        else:
            self.answers.record(play, hit)
            receipt = self._bring(play, ticket, tried, reached, worked)
            self._go_on()
        if self.decision is None and self.plays - self.late >= self._max_plays:
            self.decision = self._leading("exhausted")
        if ticket is not None and play != self._oldest:
            self._behind[play] = known.play
            self._count_behind(play, known.play, 1)
        self._find_oldest()
        return receipt

    def abandon(self, play: int) -> None:
        """A play will not be answered, or too late to count. One told or given up before does not matter."""
        if self.answer_to(play) != WAITING:
            return
        ticket = self._tickets.pop(play)
        self.answers.record(play, GIVEN_UP - self._given_up.number(ticket.play))
        if self.decision is None:
            self._spares.give_up(play)
            if ticket.role == "current":
                given_up = ticket.arms if ticket.claimed is None else ticket.claimed
                claim = self._request.replace(given_up, self._spares)
                if claim is not None:
                    self._take_over(claim)
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

    def recommend(self) -> Decision:
        """The verdict; before there is one, what leads, with status ``"running"``."""
        return self.decision or self._leading("running")

    def totals(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm in all plays told so far, the late ones among them, and in the log."""
        samples, successes = self._totals_in_time()
        return samples + self._late_samples, successes + self._late_successes

    def samples_of_means(self) -> tuple[IntArray, IntArray]:
        """Of those, the samples and successes that are fair ones of every arm's mean: all, or its first tries alone."""
        if self._first_tries is None:
            return self.totals()
        samples, successes = self._first_tries.counts()
        if self.warm is None:
            return samples, successes
        return samples + self.warm.first_tries[0], successes + self.warm.first_tries[1]

    def samples_in_order(self) -> tuple[IntArray, IntArray]:
        """Those of plays before the first that is out, and of plays told late.

        Answers that are quick come first, and slow ones are mostly failures. So estimates, and limits of them that hold
        at any time, leave out what was told behind a play that is out.
        """
        samples, successes = self.samples_of_means()
        return samples - self._samples_behind, successes - self._successes_behind

    def still_in(self) -> list[bool]:
        """Which arms can still be the answer?"""
        marks: list[bool] = self._state.still_in[0].tolist()
        return marks

    def contradicted(self) -> bool:
        """Does what was seen speak against what the policy was told?"""
        contradicted = self.policy.contradicted(self._state, np.array(self.recommend().top[:1]))
        return contradicted is not None and bool(contradicted[0])

    def order(self) -> IntArray:
        """All arms in the best order known: the answer or what leads, and behind it what does best there."""
        top = self.recommend().top
        samples, successes = self.samples_of_means()
        means = (successes + 1.0) / (samples + 2.0)
        return ranked(top, means, self.policy.goal.costs) if self.chains is None else self.chains.rank(top, means)

    def learning(self) -> Learning | None:
        """What whole chains have cost so far; None without them."""
        if self.chains is None:
            return None
        order = self.order()
        samples, successes = (counts[order[0]] for counts in self.samples_of_means())
        return self.chains.learning(order, (successes + 1.0) / (samples + 2.0))

    def evidence(self) -> list[float] | None:
        """Evidence against every arm as a power of ten, for policies that keep it."""
        evidence = self.policy.log10_evidence(self._state)
        return None if evidence is None else evidence[0].tolist()

    def _evidence_to_keep(self) -> list[float] | None:
        """What a later version goes on from: an arm that is out has enough against it, whatever was seen since."""
        evidence, delta = self.evidence(), self.policy.goal.delta
        if evidence is None or delta is None:
            return evidence
        enough = math.log10(1 / delta) + 1e-12
        return [value if kept else max(value, enough) for value, kept in zip(evidence, self.still_in(), strict=True)]

    def content(self) -> dict[str, Any]:
        """All of it but the answers, ready for ``json.dumps``; :meth:`fill` goes on exactly from there.

        Its size depends on the arms, the plays that are out, and those told behind the first of these.
        """
        tuples = TupleTable()
        return {
            "written_by": {"version": __version__, "asks": self.asks()},
            "upgrade": None if self.upgrade is None else self.upgrade._asdict(),
            "policy": describe_policy(self.policy),
            "linkage": self.linkage.name,
            "seed": self._seed,
            "max_plays": self._max_plays,
            "parallel": self._parallel,
            "whole_chains": self.chains is not None,
            "chains": None if self.chains is None else self.chains.to_json(),
            "tickets": [
                [
                    play,
                    tuples.number(ticket.play),
                    ticket.role,
                    None if ticket.claimed is None else ticket.claimed.tolist(),
                ]
                for play, ticket in self._tickets.items()
            ],
            "behind": [[play, tuples.number(handed_out)] for play, handed_out in self._behind.items()],
            "spares": self._spares.to_json(tuples),
            "future": None if self._future is None else self._future.to_json(),
            "tuples": tuples.to_json(),
            "given_up": self._given_up.to_json(),
            "plays": self.plays,
            "plays_observed": self._plays_observed,
            "late": self.late,
            "samples": self._samples.tolist(),
            "successes": self._successes.tolist(),
            "late_samples": self._late_samples.tolist(),
            "late_successes": self._late_successes.tolist(),
            "first_tries": None if self._first_tries is None else self._first_tries.to_json(),
            "verdict": None
            if self.decision is None
            else [list(self.decision.top), self.decision.status, self.decision.plays],
            "evidence": self._evidence_to_keep(),
            "state": self._state.to_json(),
            "request": self._request.to_json(),
            "log": None if self._log is None else self._log.to_json(),
            "warm": None
            if self.warm is None
            else {
                "log": self.warm.to_json(),
                "pairs_read": None if self._pairs is None else self._pairs.positions(),
            },
        }

    def asks(self) -> str:
        """What tells this policy from one that asks otherwise; see :func:`~linkedbandits.live.saving.asks_digest`."""
        if self._asks is None:
            self._asks = asks_digest(self.policy, self.linkage, self._samples.size)
        return self._asks

    def fill(self, content: dict[str, Any], answers: AnswerLog) -> None:
        """Make a new run, with the same policy and as many arms, into the one whose :meth:`content` this is.

        Where the policy would have asked otherwise it begins anew with the evidence that it had; see :meth:`go_on`. A
        verdict that was given stands.
        """
        self.upgrade = None if content["upgrade"] is None else Upgrade.from_json(content["upgrade"])
        self.warm = None if content["warm"] is None else WarmStart.from_json(content["warm"]["log"])
        if self.chains is not None:
            self.chains = ChainRecord.from_json(content["chains"], self.policy.goal.costs)
        tuples = TupleTable(content["tuples"])
        self.answers = answers
        self._given_up = TupleTable(content["given_up"])
        self.plays = content["plays"]
        self.late = content["late"]
        self._samples = np.array(content["samples"], dtype=np.int64)
        self._successes = np.array(content["successes"], dtype=np.int64)
        self._late_samples = np.array(content["late_samples"], dtype=np.int64)
        self._late_successes = np.array(content["late_successes"], dtype=np.int64)
        if self.only_first_tries:
            self._first_tries = FirstTries.from_json(content["first_tries"])
        self._log = None if content["log"] is None else LogWorld.from_json(content["log"])
        if content["verdict"] is None and not self._asks_as_in(content):
            samples, successes = counts_in(content["request"])
            self._samples += samples + (0 if self._log is None else self._log.left)
            self._successes += successes + (0 if self._log is None else self._log.successes_left)
            out = {play: tuples[number] for play, number, *_ in content["tickets"]}
            self._begin_anew(out, content["written_by"]["version"], content["evidence"])
            return
        self._tickets = {
            play: self._ticket_of(tuples[number], role, None if claimed is None else np.array(claimed))
            for play, number, role, claimed in content["tickets"]
        }
        self._oldest = min(self._tickets, default=len(answers))
        self._behind = {play: tuples[number] for play, number in content["behind"]}
        for play, handed_out in self._behind.items():
            self._count_behind(play, handed_out, 1)
        self._spares = Spares.from_json(content["spares"], self._samples.size, tuples)
        self._plays_observed = content["plays_observed"]
        if self.warm is not None and content["warm"]["pairs_read"] is not None:  # which an upgrade reads no more
            self._pairs = self.warm.pairs(content["warm"]["pairs_read"])
        self._request = resume(content["request"], self.linkage)
        if content["verdict"] is not None:
            top, status, plays = content["verdict"]
            self.decision = Decision(tuple(top), status, plays, self._bound(status))
        self._state = self._state_in(content)
        if self.decision is None:
            self._asked = self.policy.request(self._state)
        if content["future"] is not None:
            arms, kind = self._samples.size, type(self._state)
            self._future = Future.from_json(content["future"], self.policy, self.linkage, arms, kind)

    def go_on(self, played: Played, before: str | None, evidence: Sequence[float] | None) -> None:
        """Make a new run go on where another version of its policy has stopped, with the ``evidence`` it had by then.

        What was played is in the estimates. Nothing of it is read again: each option's evidence is a capital that goes
        on growing or shrinking on new plays, so delta stays whole. A policy that cannot take evidence over begins from
        nothing, and the bound of its verdict is the sum of what each of the two may be wrong with. Which plays are
        still out may depend on how they go, so these are given up: their answers are late.
        """
        self.answers = played.answers
        self.plays, self.late = played.plays, played.late
        self._given_up = played.given_up
        self._late_samples, self._late_successes = played.late_samples, played.late_successes
        self._samples, self._successes = played.samples, played.successes
        if self.warm is not None:
            self._samples = self._samples + self.warm.totals[0]
            self._successes = self._successes + self.warm.totals[1]
        if played.chains is not None:
            self.chains = played.chains
        if self.only_first_tries:
            self._first_tries = played.first_tries
        self._begin_anew(played.out, before, evidence)

    def _begin_anew(self, out: dict[int, IntArray], before: str | None, evidence: Sequence[float] | None) -> None:
        for play, tried in out.items():
            self.answers.record(play, GIVEN_UP - self._given_up.number(tried))
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
        self._begin(self._next_request())
        if self.in_time >= self._max_plays:
            self.decision = self._leading("exhausted")

    def nothing_played(self) -> Played:
        """To follow what was played in such a run without its policy."""
        costs = self.policy.goal.costs
        chains = None if self.chains is None else ChainRecord(self._samples.size, self._rest_counts, costs)
        return Played(self._samples.size, chains, self._rest_counts)

    def _asks_as_in(self, content: dict[str, Any]) -> bool:
        """Can the policy go on from the state in this content, and would it have asked the same?"""
        saved, asked = content["state"], content["request"]
        if content["written_by"]["asks"] != self.asks():
            return False
        try:
            return is_of(asked, self.policy.request(type(self._state).from_json(saved)))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError):
            return False

    def _state_in(self, content: dict[str, Any]) -> LaneState:
        """The policy's state; under a verdict, if its form is another one by now, what all states have in common."""
        try:
            state: LaneState = type(self._state).from_json(content["state"])
        except (KeyError, TypeError, IndexError, AttributeError, ValueError):
            if self.decision is None:
                raise
            shared = LaneState.from_json(content["state"])
            state = self._state
            state.still_in, state.stopped, state.arm = shared.still_in, shared.stopped, shared.arm
        return state

    def state_as_json(self) -> dict[str, Any]:
        """The policy's state, for those who check that something has not changed it."""
        state: dict[str, Any] = self._state.to_json()
        return state

    def _bring(self, play: int, ticket: Ticket, tried: IntArray, reached: int, hit: int) -> Receipt:
        """A play is back in time: the first ``reached`` of ``tried`` were tried, the last of them the hit, if any."""
        arms, role, claimed, _ = ticket
        if role == "spare":
            self._spares.come_back(play, reached, hit)
            self._add(tried[:reached], hit)
            return "spare"
        if claimed is not None:
            # The request counts the arms it claimed; samples of the others wait in their place for a later one.
            others = tried[:reached]
            others = others[~np.isin(others, claimed)]
            self._add(others, hit if hit in others else NO_HIT)
            self._request.bring_claimed(claimed, tried, reached, hit != NO_HIT)
            self._spares.come_back(play, reached, hit)
            return "counted"
        came_to_rest = reached > arms.size
        self._request.bring(arms, arms.size if came_to_rest else reached, hit != NO_HIT and not came_to_rest)
        if self._rest_counts:
            self._add(tried[arms.size : reached], hit if came_to_rest else NO_HIT)
            self._spares.come_back(play, reached, hit)
        return "counted"

    def _ticket_of(self, play: IntArray, role: Literal["current", "spare"], claimed: IntArray | None = None) -> Ticket:
        """For a play that was handed out before."""
        return Ticket(arms_of(play), role, claimed, play)

    def _add(self, tried: IntArray, hit: int) -> None:
        """Samples beside any request."""
        self._samples[tried] += 1
        if hit != NO_HIT:
            self._successes[hit] += 1

    def _go_on(self) -> None:
        """Something has come back or was given up: the policy goes on where its request is fulfilled."""
        if self._request.freed and self._spares:
            self._claim_spares()
        if self._request.fulfilled:
            play_on(self.policy, self._state, self._fulfil, self._not_decided, self._asked)

    def _fulfil(self, request: Request) -> Counts | None:
        """What a request has brought; None until all of it is back. Another request than the last one begins."""
        if request is not self._asked:
            self._spares.begin_request()
            self._begin(request)
        return self._take_counts() if self._request.fulfilled else None

    def _not_decided(self) -> bool:
        """False once the policy has stopped: there is a verdict then."""
        if self._state.stopped[0]:
            self._decide(tuple(self.policy.answer(self._state)[0].tolist()))
        return self.decision is None

    def _decide(self, top: tuple[int, ...]) -> None:
        status = self.policy.status_at_stop
        self.decision = Decision(top, status, self.in_time, self._bound(status))

    def _begin(self, request: Request) -> None:
        """Begin to play a request, with what the log and spare plays have of it."""
        self._asked = request
        self._request = begin(request, self._samples.size, self.linkage, self._log, self._pairs)
        self._future = None
        if self._spares:
            self._claim_spares()
        if self._log is not None and not self._log.left.any():
            self._log = None

    def _take_counts(self) -> Counts:
        """What the request has brought, which is part of the totals from now on."""
        counts = self._request.counts()
        self._samples += counts.samples[0]
        self._successes += counts.successes[0]
        # Spare plays count, too, so that they add up to those of the verdict.
        since = self.in_time - self._plays_observed
        if counts.plays is not None:
            since = min(int(counts.plays[0]), since)  # read from the log: not all that was ever played at once
        self._plays_observed += since
        # A policy that shares out a budget of its own counts what others have played for it as well.
        made = since if self.warm is None else self._request.plays_with_log(since)
        return Counts(counts.samples, counts.successes, np.array([made]), counts.hits)

    def _first_state(self) -> LaneState:
        arms = self._samples.size
        state: LaneState = self.policy.start(1, arms, LaneStreams(self._seed, arms, range(1)).policy_seeds())
        return state

    def _next_request(self) -> Request:
        request = self.policy.request(self._state)
        check_request(request)
        return request

    def _claim_spares(self) -> None:
        """Let the request claim what spare plays have brought or will bring."""
        self._take_over(self._request.claim(self._spares))

    def _take_over(self, claim: ClaimedSpares) -> None:
        # What the request took over is its own to count; it was in the totals since it was told.
        self._samples -= claim.samples
        self._successes -= claim.successes
        for play, taken in claim.out:
            ticket, claimed = self._tickets[play], taken
            if ticket.role == "current" and taken is not None:  # it spoke for others of its arms before
                claimed = np.concatenate([ticket.arms if ticket.claimed is None else ticket.claimed, taken])
            self._tickets[play] = ticket._replace(role="current", claimed=claimed)

    def _totals_in_time(self) -> tuple[IntArray, IntArray]:
        samples, successes = self._samples, self._successes
        if self._log is not None:
            samples, successes = samples + self._log.left, successes + self._log.successes_left
        if self._state.stopped[0]:
            return samples, successes
        counts = self._request.counts()
        return samples + counts.samples[0], successes + counts.successes[0]

    def _leading(self, status: Status) -> Decision:
        """The best guess before the policy has decided; what came late has no say in it."""
        samples, successes = self._totals_in_time()
        top = best_guess(self.policy, self._state, samples[np.newaxis], successes[np.newaxis])[0]
        return Decision(tuple(top.tolist()), status, self.in_time, None)

    def _bound(self, status: Status) -> float | None:
        """That of the policy, with those of verdicts asked of its log before, and of versions that left no evidence."""
        bound = self.policy.error_bound if status == "confident" else None
        if bound is None:
            return None
        judged = 0.0 if self.warm is None else self.warm.judged
        return min(1.0, bound + judged + (0.0 if self.upgrade is None else self.upgrade.spent))

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
        if hit == NO_HIT:
            return arms.size
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


class Played:
    """What was asked, told and given up, whatever the policy was: all that a later version of it needs to go on.

    ``out`` has the plays that are out, as they were handed out. Samples and successes are those of plays told in time,
    first tries those of all plays told. What the rest of a whole chain did is among the samples if ``rest_counts``.
    """

    def __init__(self, arms: int, chains: ChainRecord | None = None, rest_counts: bool = False) -> None:
        """Nothing was played yet; :meth:`ask`, :meth:`tell` and :meth:`abandon` say what was."""
        self.chains = chains
        self._rest_counts = rest_counts
        self.answers = AnswerLog()
        self.out: dict[int, IntArray] = {}
        self.given_up = TupleTable()
        self.plays = 0
        self.late = 0
        self.samples, self.successes, self.late_samples, self.late_successes = np.zeros((4, arms), dtype=np.int64)
        self.first_tries = FirstTries(arms)

    def ask(self, arms: IntArray) -> int:
        """A play was handed out."""
        play = self.answers.open_play(arms)
        self.out[play] = arms
        return play

    def tell(self, play: int, hit: int, late: bool) -> None:
        """A play was told, in time or not; KeyError or ValueError if that cannot be."""
        arms = self.out.pop(play, None)
        if arms is None:
            answer = self.answers[play]
            if not late or answer > GIVEN_UP:
                raise KeyError(play)
            arms = self.given_up[GIVEN_UP - answer]
        order = order_of(arms)
        tried = order if hit == NO_HIT else order[: order.tolist().index(hit) + 1]
        if not self._rest_counts:
            tried = tried[: arms_of(arms).size]
        samples, successes = (self.late_samples, self.late_successes) if late else (self.samples, self.successes)
        samples[tried] += 1
        if hit in tried:
            successes[hit] += 1
        self.first_tries.add(arms, hit)
        if self.chains is not None:
            self.chains.add(arms, hit)
        self.plays += 1
        self.late += late
        (self.answers.record_late if late else self.answers.record)(play, hit)

    def abandon(self, play: int) -> None:
        """A play was given up; KeyError if it was not out."""
        self.answers.record(play, GIVEN_UP - self.given_up.number(self.out.pop(play)))


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names in a sentence, the first few if there are many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
