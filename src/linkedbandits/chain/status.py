"""How a chain stands, in numbers and in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linkedbandits.display import counted, shown
from linkedbandits.model import Label, Verdict

OF_ALL = "by plays of all processes"
WIDEST = 76
"""Letters of a line behind its four blanks."""


@dataclass(frozen=True)
class ChainStatus:
    """How a chain stands.

    It is ``shared`` where the experiment is in a file or in the service. Then some numbers are of this process alone,
    since it began: those of calls, ``lost_of``, ``spent``, ``waiting``, ``dropped``, ``expired`` and ``errors``. Others
    are of the experiment, with the plays of all processes: ``order``, ``proved``, ``verdict``, ``reopened``, ``since``
    and, watched calls apart, which are those of this process, ``attempts_above_best``.

    Of the ``calls`` that are over, ``plays`` were plays of the experiment, ``plain`` were served in the best order
    known for lack of a play, ``served`` began with the option of the verdict, and ``watched`` with another one
    after it. ``failed`` are those for which no option worked, ``lost`` those that ended with any other error;
    ``lost_of`` has the lost attempts of plays by option. ``in_flight`` are calls that are not over.

    ``attempts_above_best`` is the price of learning and of watching: how many attempts plays and watched calls took
    above what the best order would have taken, reckoned from estimates. ``cost_above_best`` is the same in costs, where
    they are known; where they are ``costs_measured`` it is of this process alone. ``spent`` is what all attempts of
    this process have cost.

    ``order`` is what calls are served in. Its first ``proved`` places are what the verdict proves, mostly one; those
    behind are estimates, which get better with calls that the first option fails.

    ``reopened`` is how often the verdict was reopened, or the experiment begun anew, because of a change; ``since`` is
    when the present experiment began, in seconds since 1970.

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
    proved: int
    verdict: Verdict | None
    reopened: int
    since: float | None
    shared: bool = False
    costs_measured: bool = False

    def __repr__(self) -> str:
        """What is worth a look, in a few short lines; what is none or nothing is left out."""
        lines = [line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..." for line in self._lines()]
        return "\n    ".join(["ChainStatus(", *lines]) + "\n)"

    def _lines(self) -> Iterator[str]:
        kinds = {
            "play" if self.plays == 1 else "plays": self.plays,
            "plain": self.plain,
            "served": self.served,
            "watched": self.watched,
        }
        yield _listed(f"{counted(self.calls, 'call')}{' of this process' if self.shared else ''} over", kinds)
        endings = {"failed": self.failed, "lost": self.lost, "in flight": self.in_flight}
        if any(endings.values()):
            yield _listed("", endings)
        places = "none of it" if not self.proved else "the first" if self.proved == 1 else f"the first {self.proved}"
        yield f"order {shown(self.order)}, {places} proved"
        yield self._verdict_in_words()
        if self.reopened:
            yield f"reopened {counted(self.reopened, 'time')}"
        if self.attempts_above_best:
            than = "above" if self.attempts_above_best > 0 else "below"
            attempts = f"{shown(abs(self.attempts_above_best))} attempts {than} the best order"
            yield f"{attempts}, {OF_ALL}" if self.shared else f"learning and watching took {attempts}"
        if self.spent is not None:
            above = "" if self.cost_above_best is None else f"{shown(self.cost_above_best)} above the best order"
            if self.shared:
                yield f"cost of this process {shown(self.spent)}" + (
                    f", {above}" if above and self.costs_measured else ""
                )
                if above and not self.costs_measured:
                    yield f"cost {above}, {OF_ALL}"
            else:
                yield f"cost {shown(self.spent)}" + (f", {above}" if above else "")
        behind = {"waiting": self.waiting, "dropped": self.dropped, "expired": self.expired}
        if any(behind.values()):
            yield _listed("answers", behind)
        if self.errors:
            yield f"{counted(self.errors, 'error')} beside the calls, the last: {self.last_error}"

    def _verdict_in_words(self) -> str:
        verdict = self.verdict
        if verdict is None:
            return "no verdict yet"
        named = shown(verdict.top) if verdict.top else shown(verdict.arm)
        return f"verdict {named} after {counted(verdict.plays, 'play')}, {verdict.guarantee}"


def _listed(what: str, numbers: Mapping[str, int]) -> str:
    """Those of the numbers that are above 0.

    >>> _listed("3 calls", {"plays": 2, "plain": 0, "served": 1})
    '3 calls: 2 plays, 1 served'
    """
    above = [f"{number:,} {name}" for name, number in numbers.items() if number]
    return ": ".join(part for part in (what, ", ".join(above)) if part)
