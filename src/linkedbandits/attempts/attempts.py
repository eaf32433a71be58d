"""A log of attempts as its users hold it: read from rows, and asked for a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, Unpack

from linkedbandits.attempts.cells import Blank, Words
from linkedbandits.attempts.columns import ColumnNames
from linkedbandits.attempts.gathering import gather
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.attempts.orders import GivenCosts
from linkedbandits.attempts.report import Report, report_on
from linkedbandits.attempts.sources import source_of
from linkedbandits.policy import AnyPolicy


class Attempts(AttemptLog):
    """A log of attempts; :class:`linkedbandits.attempts.log.AttemptLog` says what is in it.

    >>> log = Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)])
    >>> print(log.verdict(delta=0.05).verdict)
    None
    """

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        *,
        columns: Sequence[str] | None = None,
        options: Sequence[str] | None = None,
        blank: Blank | None = None,
        ignore_case: bool = False,
        success: Words = (),
        failure: Words = (),
        **meant: Unpack[ColumnNames],
    ) -> Self:
        """From a polars or pandas frame, or an iterable of dicts or of tuples, read like a file by ``read_attempts``.

        Tuples have names for their entries, or ``columns`` names them; ``options``, ``blank``, ``ignore_case``,
        ``success`` and ``failure`` are as there. All other parameters say which column is which.

        >>> rows = [{"trace_id": 7, "model": "a", "ok": False}, {"trace_id": 7, "model": "b", "ok": True}]
        >>> Attempts.from_rows(rows).success.tolist()
        [False, True]
        """
        source = source_of(rows, columns)
        return cls(**gather(source, meant, options, None, blank, ignore_case, success, failure))

    def verdict(
        self,
        policy: AnyPolicy | None = None,
        *,
        delta: float = 0.05,
        attempts: Which = "first",
        independent: bool = False,
        costs: GivenCosts = (),
        alpha: float = 0.01,
    ) -> Report:
        """Which option is best, as far as the log can tell; see :class:`linkedbandits.attempts.report.Report`.

        Without a policy the one best option is looked for, with all that the log has, and wrong with probability at
        most ``delta``, however often one looks as the log grows. ``attempts`` says what may be read: the first attempt
        of each request, the first two (``"duels"``), or ``"all"``, for independent options. In a log with one fixed
        order independence cannot be checked: there ``"all"`` gives a verdict only if ``independent`` is your word for
        it. With ``costs``, one for each option, the best one has most successes per cost. Costs on record, or with
        ``costs="seconds"`` the times that attempts took, are for the order and the estimates alone: what is measured is
        no number that a verdict could go by. ``alpha`` is how likely any alarm is if there is no reason for one.
        """
        return report_on(
            self, policy, delta=delta, attempts=attempts, independent=independent, costs=costs, alpha=alpha
        )
