"""Ask and tell: a live experiment, one lane of the same loop that simulation runs.

``ask`` hands out the next play of the policy's current request, ``tell`` fills it in; when the request is
fulfilled the policy sees its counts and states the next.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from linkedbandits.answer import answer_of
from linkedbandits.answers import GIVEN_UP, NO_HIT, WAITING, Answers
from linkedbandits.checks import check_max_plays, check_whole
from linkedbandits.errors import (
    ConflictingTell,
    DamagedSave,
    ExperimentFinished,
    HitNotInPlay,
    TooManyInFlight,
    UnknownName,
    UnknownPlay,
)
from linkedbandits.experiment_content import content_of, fill, upgraded
from linkedbandits.labels import check_labels, listed
from linkedbandits.lane import Lane
from linkedbandits.linkage import Linkage, find_linkage
from linkedbandits.model import COUNT_LIMIT, IntArray, Label, Status, Verdict
from linkedbandits.policies import describe_policy, make_policy
from linkedbandits.policy import AnyPolicy, check_linkage, fitted
from linkedbandits.saving import seal, unseal
from linkedbandits.tickets import Estimate, Play, Receipt, Ticket
from linkedbandits.tuple_table import TupleTable

_WHOLE = (int, np.integer)


class Experiment:
    """Find the best of some labelled arms, by asking what to play and telling what happened.

    Labels are text, numbers or booleans. ``max_plays`` ends the experiment after so many answers in time if the policy
    has not stopped by then. ``seed`` is for policies that draw.

    Any number of plays may be out at once. Say how many with ``parallel``: the policy then asks for enough at a time to
    keep so many busy, and ``ask`` refuses to hand out more. Plays that are out steer what is asked next, and enter the
    evidence only when they are told.

    Any number of threads may use an experiment.

    >>> import linkedbandits as lb
    >>> exp = lb.Experiment(["north", "east"], lb.UniformSampling(samples=2))
    >>> exp.ask()
    Play(id=0, arms=('north', 'east'))
    >>> exp.tell(0, hit="north")
    'counted'
    >>> while not exp.done:
    ...     play = exp.ask()
    ...     _ = exp.tell(play.id, hit="north" if "north" in play.arms else None)
    >>> exp.recommend()
    Verdict(arm='north', status='budget', plays=4, error_bound=None)
    """

    def __init__(
        self,
        arms: Iterable[Label],
        policy: AnyPolicy,
        *,
        linkage: str | Linkage = "ordered",
        seed: int = 0,
        max_plays: int | None = None,
        parallel: int | None = None,
    ) -> None:
        self._labels = check_labels(arms)
        self._index = {label: index for index, label in enumerate(self._labels)}
        self._linkage = find_linkage(linkage)
        check_linkage(policy, self._linkage)
        if parallel is not None:
            check_whole("parallel", parallel)
        self._parallel = parallel
        self._policy = policy = fitted(policy, self._linkage, parallel)
        check_whole("seed", seed, least=0)
        self._seed = seed
        # A policy with a budget of its own is held to it, however many plays are out at once.
        self._max_plays = min(check_max_plays(max_plays), getattr(policy, "plays", None) or COUNT_LIMIT)

        self._lane = Lane(policy, self._linkage, len(self._labels), seed)
        self._answers = Answers()
        self._tickets: dict[int, Ticket] = {}
        self._given_up = TupleTable()  # what plays given up have tried, in case they are told all the same
        self._plays = 0
        self._late = 0
        self._verdict: Verdict | None = None
        self._lock = threading.Lock()
        self._shown: tuple[IntArray, tuple[Label, ...]] = (np.empty(0, dtype=np.int64), ())

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels, in order."""
        return self._labels

    @property
    def policy(self) -> AnyPolicy:
        """The policy that decides."""
        return self._policy

    @property
    def linkage(self) -> str:
        """The name of the linkage."""
        return self._linkage.name

    @property
    def plays(self) -> int:
        """Plays told so far, the late ones among them."""
        return self._plays

    @property
    def answers(self) -> Answers:
        """The answers to all plays, by play id."""
        return self._answers

    @property
    def in_flight(self) -> int:
        """Plays asked and neither told nor abandoned."""
        return len(self._tickets)

    @property
    def late(self) -> int:
        """Plays told after they could still count for the decision. They are part of the estimates."""
        return self._late

    @property
    def done(self) -> bool:
        """Is there a verdict?"""
        return self._verdict is not None

    def ask(self) -> Play:
        """The next play to make. Asking alone changes nothing that the policy sees."""
        with self._lock:
            if self._verdict is not None:
                raise ExperimentFinished(
                    f"the experiment is done after {self._verdict.plays} plays; recommend() has its verdict"
                )
            out = len(self._tickets)
            if self._in_time + out >= self._max_plays:
                raise TooManyInFlight(
                    f"all {self._max_plays} plays of the budget are out; tell() the {out} that are in flight"
                )
            if self._parallel is not None and out >= self._parallel:
                raise TooManyInFlight(
                    f"{out} plays are out, as many as parallel={self._parallel} allows; tell() or abandon() one"
                )
            play = self._answers.open_play()
            ticket = self._tickets[play] = self._lane.hand_out(play)
            return Play(play, self._labels_of(ticket.arms))

    def tell(self, play_id: int, hit: Label | None) -> Receipt:
        """Say how a play ended: the label of the arm that succeeded, or None.

        Returns what became of the answer: ``"counted"`` in the current request; ``"spare"``, kept for the requests
        that follow; ``"late"``, for an abandoned play or one told after the verdict, which enters the estimates but
        can no longer enter the decision; or ``"repeated"``, for the same answer told before.
        """
        with self._lock:
            answer = self._known(play_id)
            hit_arm = NO_HIT if hit is None else self._index_of(hit)
            if answer >= NO_HIT:
                return self._check_repeated(play_id, answer, hit, hit_arm)
            ticket = self._tickets.get(play_id)
            arms = self._given_up[GIVEN_UP - answer] if ticket is None else ticket.arms
            reached = arms.size if hit is None else self._reached(play_id, arms, hit_arm)

            self._answers.record(play_id, hit_arm)
            self._plays += 1
            if ticket is not None:
                del self._tickets[play_id]
            if ticket is None or self._verdict is not None:
                receipt: Receipt = "late"
                self._late += 1
                self._lane.add_late(arms[:reached], hit_arm)
            else:
                receipt = "spare" if ticket.role == "spare" else "counted"
                self._lane.bring(play_id, ticket, reached, hit_arm)
                if self._lane.request.fulfilled:
                    self._advance()
            if self._verdict is None and self._in_time >= self._max_plays:
                self._verdict = self._verdict_of(self._lane.leading(), "budget", None)
            return receipt

    def abandon(self, play_id: int) -> None:
        """Say that a play will not be answered, so that what it was asked for is asked again.

        An answer that comes all the same is ``"late"``: it enters the estimates, not the decision, because which
        plays are given up may depend on how they would have ended. For the same reason the guarantee holds only if
        plays are given up for reasons that have nothing to do with their outcome: give up failures, and only
        successes count. Abandoning twice, or a play already told, is harmless.
        """
        with self._lock:
            if self._known(play_id) != WAITING:
                return
            ticket = self._tickets.pop(play_id)
            self._answers.record(play_id, GIVEN_UP - self._given_up.number(ticket.arms))
            if self._verdict is None:
                self._lane.give_up(play_id, ticket)

    def recommend(self) -> Verdict:
        """The verdict; before there is one, the arm that leads, with status ``"budget"``."""
        with self._lock:
            return self._verdict or self._verdict_of(self._lane.leading(), "budget", None)

    def estimates(self) -> list[Estimate]:
        """Every arm's samples and successes in all plays told so far, and whether it can still be the answer."""
        with self._lock:
            samples, successes = self._lane.totals()
            still_in = self._lane.state.still_in[0].tolist()
            return [
                Estimate(label, seen, won, won / seen if seen else None, kept)
                for label, seen, won, kept in zip(
                    self._labels, samples.tolist(), successes.tolist(), still_in, strict=True
                )
            ]

    def evidence(self) -> list[float] | None:
        """Evidence against every arm as a power of ten, for policies that keep it; an arm is dropped at 1/delta."""
        with self._lock:
            weigh = getattr(self._policy, "log10_evidence", None)
            return None if weigh is None else weigh(self._lane.state)[0].tolist()

    def to_json(self) -> str:
        """Everything, as text that :meth:`from_json` goes on from exactly."""
        with self._lock:
            return seal({**content_of(self), "answers": self._answers.to_text()})

    def snapshot(self) -> dict[str, Any]:
        """Everything but the answers, as plain data whose size does not grow with the plays; see :meth:`restore`."""
        with self._lock:
            return content_of(self)

    @classmethod
    def restore(cls, snapshot: dict[str, Any], answers: Answers) -> Experiment:
        """The experiment of a :meth:`snapshot` and the answers of that moment."""
        return cls._read(snapshot, answers, None, None)

    @classmethod
    def from_json(
        cls, text: str | bytes, policy: AnyPolicy | None = None, linkage: Linkage | None = None
    ) -> Experiment:
        """The experiment that :meth:`to_json` saved.

        A policy or linkage that the library does not ship has to be passed again, a policy with the same parameters.
        """
        version, content = unseal(text)
        try:
            if version == 1:
                content = upgraded(content)
            return cls._read(content, Answers.from_text(content["answers"]), policy, linkage)
        except UnknownName as error:
            raise UnknownName(
                f"{error}; pass one of your own again, as from_json(text, policy=...) or linkage=..."
            ) from error
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            raise DamagedSave(f"the saved experiment cannot be read: {error!r}; restore a whole copy") from error

    @classmethod
    def _read(
        cls, content: dict[str, Any], answers: Answers, policy: AnyPolicy | None, linkage: Linkage | None
    ) -> Experiment:
        if policy is None:
            policy = make_policy(content["policy"]["name"], content["policy"]["parameters"])
        policy = fitted(policy, linkage or find_linkage(content["linkage"]), content["parallel"])
        if describe_policy(policy) != content["policy"]:
            raise DamagedSave(f"the experiment was saved with {content['policy']}, not {describe_policy(policy)}")
        exp = cls(
            content["labels"],
            policy,
            linkage=linkage or content["linkage"],
            seed=content["seed"],
            max_plays=content["max_plays"],
            parallel=content["parallel"],
        )
        fill(exp, content, answers)
        return exp

    @property
    def _in_time(self) -> int:
        """Plays told in time to count for the decision: those that a budget is about."""
        return self._plays - self._late

    def _advance(self) -> None:
        """The request is fulfilled: let the policy see it, and begin the next with what is already there."""
        lane = self._lane
        while lane.request.fulfilled:
            lane.observe(self._in_time)
            if lane.stopped:
                status = self._policy.status_at_stop
                bound = self._policy.error_bound if status == "confident" else None
                self._verdict = self._verdict_of(answer_of(lane.state)[0], status, bound)
                return
            for play, claimed in lane.begin_next():
                self._tickets[play] = Ticket(self._tickets[play].arms, "current", claimed)

    def _verdict_of(self, top: IntArray, status: Status, bound: float | None) -> Verdict:
        arms = tuple(self._labels[arm] for arm in top.tolist())
        return Verdict(arms[0], status, self._in_time, bound, top=arms if len(arms) > 1 else ())

    def _known(self, play_id: int) -> int:
        if not isinstance(play_id, _WHOLE) or not 0 <= play_id < len(self._answers):
            raise UnknownPlay(
                f"no play {play_id!r} was asked; ids run from 0 to {len(self._answers) - 1}"
                if len(self._answers)
                else f"no play {play_id!r} was asked, nor any other yet; ask() first"
            )
        return self._answers[play_id]

    def _check_repeated(self, play_id: int, answer: int, hit: Label | None, hit_arm: int) -> Receipt:
        if answer != hit_arm:
            known = None if answer == NO_HIT else self._labels[answer]
            raise ConflictingTell(
                f"play {play_id} was told hit={known!r} before and now hit={hit!r}; the first answer stands"
            )
        return "repeated"

    def _reached(self, play_id: int, arms: IntArray, hit_arm: int) -> int:
        """How many arms were tried, up to the one that succeeded."""
        positions = (arms == hit_arm).nonzero()[0]
        if not positions.size:
            raise HitNotInPlay(
                f"play {play_id} did not try {self._labels[hit_arm]!r}; its arms were "
                f"{listed(self._labels_of(arms))}, or tell hit=None if none succeeded"
            )
        return int(positions[0]) + 1

    def _index_of(self, label: Label) -> int:
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise HitNotInPlay(f"{label!r} is no arm; the arms are {listed(self._labels)}") from None

    def _labels_of(self, arms: IntArray) -> tuple[Label, ...]:
        known, labels = self._shown
        if arms is not known:
            chosen = itemgetter(*arms.tolist())(self._labels)
            labels = chosen if arms.size > 1 else (chosen,)
            self._shown = (arms, labels)
        return labels
