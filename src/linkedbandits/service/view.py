"""What people look at: the arms with their limits, the evidence, and what is still to come.

Reading an experiment happens in the desk's thread and has to be quick (:func:`read_standing`); everything that takes
time is computed from what was read, elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from linkedbandits.assumptions import Assumption
from linkedbandits.attempts.wording import noticed_in_words
from linkedbandits.intervals import anytime_intervals
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Estimate, FromLog, Learning, Upgrade, WarmStart
from linkedbandits.model import Label, Verdict
from linkedbandits.policies import describe_policy
from linkedbandits.policy import AnyPolicy
from linkedbandits.service.alarms import NOT_LOOKED_YET, Found
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import ExperimentRecord, HistoryPoint

MOST_HISTORY = 2_000
"""Points of history that a page is sent at once; more than a screen has columns."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an experiment stands, read in one go."""

    record: ExperimentRecord
    policy: AnyPolicy
    plays: int
    in_flight: int
    abandoned: int
    late: int
    waiting: int
    done: bool
    leading: Verdict
    order: tuple[Label, ...]
    learning: Learning | None
    successor: str | None
    estimates: list[Estimate]
    only_first_tries: bool
    evidence: list[float] | None
    upgrade: Upgrade | None
    assumptions: tuple[Assumption, ...]
    warm: WarmStart | None
    from_log: FromLog | None


def read_standing(hosted: HostedExperiment) -> Standing:
    """All that a view shows, as it is now."""
    exp = hosted.experiment
    return Standing(
        record=hosted.record,
        policy=exp.policy,
        plays=exp.plays,
        in_flight=exp.in_flight,
        abandoned=hosted.abandoned,
        late=exp.late,
        waiting=exp.waiting,
        done=exp.done,
        leading=exp.recommend(),
        order=exp.order,
        learning=exp.learning,
        successor=hosted.successor,
        estimates=exp.estimates(),
        only_first_tries=exp.run.only_first_tries,
        evidence=exp.evidence(),
        upgrade=exp.upgrade,
        assumptions=exp.assumptions,
        warm=exp.run.warm,
        from_log=exp.from_log,
    )


def view_of(
    standing: Standing, outlook: Outlook, found: Found = NOT_LOOKED_YET, expenses: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The view, ready for JSON, but for its history; ``expenses`` are ready already."""
    record = standing.record
    leading = verdict_data(standing.leading)
    total = outlook.estimate_total
    if standing.done or (total is not None and total <= standing.plays):
        # The estimate is behind what has happened since it was made, or else all that it takes is to wait.
        total = float(standing.plays) if total is not None and standing.waiting and not standing.done else None
    return {
        "id": record.id,
        "name": record.name,
        "status": record.status,
        "linkage": record.setup.linkage,
        "linkage_words": find_linkage(record.setup.linkage).words,
        "policy": describe_policy(standing.policy),
        "goal": asdict(standing.policy.goal),
        "assumptions": [asdict(assumption) for assumption in standing.assumptions],
        "created_at": record.created_at,
        "head": record.head,
        "plays": standing.plays,
        "in_flight": standing.in_flight,
        "abandoned": standing.abandoned,
        "late": standing.late,
        "waiting": standing.waiting,
        "max_plays": record.setup.max_plays,
        "from_log": _from_log(standing),
        "upgrade": None if standing.upgrade is None else standing.upgrade._asdict(),
        "done": standing.done,
        "verdict": leading if standing.done else None,
        "leading": leading,
        "order": list(standing.order),
        "learning": None if standing.learning is None else asdict(standing.learning),
        "before": None if record.setup.before is None else asdict(record.setup.before),
        "successor": standing.successor,
        "only_first_tries": standing.only_first_tries,
        "arms": _arms(standing.estimates, standing.evidence),
        "expenses": expenses,
        "outlook": {
            "lower_bound": outlook.lower_bound,
            "estimate_total": total,
            "estimate_left": None if total is None else total - standing.plays,
        },
        "alarms": [
            {**asdict(alarm), "evidence": noticed_in_words(alarm), "picture": picture}
            for alarm, picture in zip_longest(found.alarms, found.pictures)
        ],
        "alarms_after": found.plays,
    }


def upgrade_sentence(version: str, plays: int, others: int) -> str:
    """What is said of an experiment with which a version goes on that would have asked otherwise.

    >>> upgrade_sentence("0.2.0", 300, 0)
    'goes on with version 0.2.0; 300 plays before that are used as a log'
    """
    if plays:
        rest = f", {others} more {_are(others)} in the estimates alone" if others else ""
        said = f"{_plays(plays)} before that {_are(plays)} used as a log{rest}"
    elif others:
        said = f"its decision starts anew, and the {_plays(others)} before that {_are(others)} in the estimates alone"
    else:
        said = "nothing was told before that"
    return f"goes on with version {version}; {said}"


def _plays(count: int) -> str:
    return f"{count} play{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict, ready for JSON."""
    return {
        "arm": verdict.arm,
        "top": list(verdict.top),
        "settled": list(verdict.settled),
        "status": verdict.status,
        "plays": verdict.plays,
        "error_bound": verdict.error_bound,
        "assumes": list(verdict.assumes),
        "contradicted": list(verdict.contradicted),
    }


def summary_of(standing: Standing) -> dict[str, Any]:
    """What the list of experiments shows of one."""
    record = standing.record
    return {
        "id": record.id,
        "name": record.name,
        "status": record.status,
        "arms": len(record.setup.arms),
        "plays": standing.plays,
        "done": standing.done,
        "leading": verdict_data(standing.leading),
        "per_cost": bool(standing.policy.goal.costs),
        "created_at": record.created_at,
    }


def summary_of_damaged(record: ExperimentRecord) -> dict[str, Any]:
    """What the list shows of an experiment that cannot be opened: no figures."""
    return {
        "id": record.id,
        "name": record.name,
        "status": "damaged",
        "arms": len(record.setup.arms),
        "plays": None,
        "done": False,
        "leading": None,
        "per_cost": False,
        "created_at": record.created_at,
    }


def _from_log(standing: Standing) -> dict[str, Any] | None:
    if standing.from_log is None:
        return None
    log = standing.record.setup.log
    return {**standing.from_log._asdict(), "on_your_word": log is not None and log.on_your_word}


def _arms(estimates: Sequence[Estimate], evidence: list[float] | None) -> dict[str, Any]:
    samples = np.array([estimate.samples for estimate in estimates])
    successes = np.array([estimate.successes for estimate in estimates])
    low, high = anytime_intervals(successes, samples)
    return {
        "label": [estimate.arm for estimate in estimates],
        "samples": samples.tolist(),
        "successes": successes.tolist(),
        "mean": [estimate.mean for estimate in estimates],
        "low": low.tolist(),
        "high": high.tolist(),
        "still_in": [estimate.still_in for estimate in estimates],
        "log10_evidence": None if evidence is None else [value if math.isfinite(value) else None for value in evidence],
    }


def history_rows(points: Sequence[HistoryPoint], head: int, most: int = MOST_HISTORY) -> list[tuple[int, float, int]]:
    """The history up to journal number ``head`` as rows, evenly thinned where it is long; its ends always stay.

    What was written since ``head`` was read belongs to the next view: a viewer would be sent it twice.
    """
    shown = [point for point in points if point.seq <= head]
    if len(shown) > most:
        shown = [shown[index] for index in np.linspace(0, len(shown) - 1, most).round().astype(int)]
    return [(point.seq, point.at, point.plays) for point in shown]
