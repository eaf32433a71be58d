"""What people look at: the arms with their limits, the evidence, and what is still to come.

Reading an experiment happens in the desk's thread and has to be quick (:func:`read_standing`); everything that takes
time is computed from what was read, elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

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
from linkedbandits.service.leaders import names_a_leader
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import (
    DamagedExperiment,
    ExperimentRecord,
    HistoryPoint,
    ListedExperiment,
    damaged_sentence,
)
from linkedbandits.service.webhooks import verdict_data

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
    tags: tuple[str, ...]
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
        tags=hosted.tags,
        estimates=exp.estimates(),
        only_first_tries=exp.only_first_tries,
        evidence=exp.evidence(),
        upgrade=exp.upgrade,
        assumptions=exp.assumptions,
        warm=exp.warm,
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
        "leads": _leads(standing),
        "order": list(standing.order),
        "learning": None if standing.learning is None else asdict(standing.learning),
        "before": None if record.setup.before is None else asdict(record.setup.before),
        "successor": standing.successor,
        "tags": list(standing.tags),
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


def upgrade_sentence(version: str, plays: int, keeps_evidence: bool) -> str:
    """What is said of an experiment with which a version goes on that would have asked otherwise.

    >>> upgrade_sentence("0.2.0", 300, keeps_evidence=True)
    'goes on with version 0.2.0, with the evidence of 300 plays before that'
    """
    if not plays:
        return f"goes on with version {version}; nothing was told before that"
    before = f"{plays} play{'' if plays == 1 else 's'} before that"
    if keeps_evidence:
        return f"goes on with version {version}, with the evidence of {before}"
    return f"goes on with version {version}; its decision begins anew, and {before} count in the estimates alone"


class Summary(NamedTuple):
    """What the list of experiments shows of one, as of journal number ``head``."""

    head: int
    arms: int
    plays: int
    done: bool
    leading: Verdict
    leads: bool
    per_cost: bool


def read_summary(hosted: HostedExperiment) -> Summary:
    """All that the list shows, as it is now; quicker to read than :func:`read_standing`."""
    exp = hosted.experiment
    samples, _ = exp.samples_in_order()
    return Summary(
        head=hosted.head,
        arms=len(hosted.record.setup.arms),
        plays=exp.plays,
        done=exp.done,
        leading=exp.recommend(),
        leads=names_a_leader(samples.tolist(), exp.still_in(), exp.done),
        per_cost=bool(exp.policy.goal.costs),
    )


def summary_data(listed: ListedExperiment, summary: Summary | DamagedExperiment | None) -> dict[str, Any]:
    """A row of the list, ready for JSON; with what the store has alone, before the experiment was opened.

    An experiment that cannot be opened is damaged: it has no figures, but ``detail`` says what to do.
    """
    known = {"id": listed.id, "name": listed.name, "tags": list(listed.tags), "created_at": listed.created_at}
    if summary is None or isinstance(summary, DamagedExperiment):
        damaged = summary is not None
        verdict = "" if damaged else listed.verdict or ""
        return {
            **known,
            "status": "damaged" if damaged else listed.status,
            **({"detail": damaged_sentence(listed.id)} if damaged else {}),
            "arms": None if summary is None else summary.arms,
            "plays": None if damaged else listed.plays,
            "done": bool(verdict),
            "verdict": verdict,
            "leading": None,
            "leads": False,
            "per_cost": False,
        }
    return {
        **known,
        "status": listed.status,
        "arms": summary.arms,
        "plays": summary.plays,
        "done": summary.done,
        "verdict": summary.leading.status if summary.done else "",
        "leading": verdict_data(summary.leading),
        "leads": summary.leads,
        "per_cost": summary.per_cost,
    }


def _leads(standing: Standing) -> bool:
    samples = [estimate.samples for estimate in standing.estimates]
    return names_a_leader(samples, [estimate.still_in for estimate in standing.estimates], standing.done)


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
