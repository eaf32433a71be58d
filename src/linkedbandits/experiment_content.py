"""The content of a saved experiment: everything that a live experiment is made of, as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.answers import Answers
from linkedbandits.live import Spare, resume
from linkedbandits.policies import describe_policy
from linkedbandits.tickets import Ticket

if TYPE_CHECKING:
    from linkedbandits.experiment import Experiment


def content_of(exp: Experiment) -> dict[str, Any]:
    """All of an experiment, for :func:`fill` to go on from exactly."""
    return {
        "labels": list(exp._labels),
        "policy": describe_policy(exp._policy),
        "linkage": exp._linkage.name,
        "seed": exp._seed,
        "max_plays": exp._max_plays,
        "parallel": exp._parallel,
        "answers": exp._answers.to_text(),
        "tickets": [
            [
                play,
                ticket.arms.tolist(),
                ticket.role,
                None if ticket.claimed is None else ticket.claimed.tolist(),
            ]
            for play, ticket in exp._tickets.items()
        ],
        "spares": [
            [play, spare.arms, spare.reached, spare.hit, sorted(spare.unclaimed)] for play, spare in exp._spares.items()
        ],
        "plays": exp._plays,
        "plays_observed": exp._plays_observed,
        "late": exp._late,
        "samples": exp._samples.tolist(),
        "successes": exp._successes.tolist(),
        "verdict": None
        if exp._verdict is None
        else [
            [exp._index[arm] for arm in exp._verdict.top or (exp._verdict.arm,)],
            exp._verdict.status,
            exp._verdict.plays,
        ],
        "state": exp._state.to_json(),
        "request": exp._request.to_json(),
    }


def fill(exp: Experiment, content: dict[str, Any]) -> None:
    """Make a new experiment, with the same arms and policy, into the one that was saved."""
    exp._answers = Answers.from_text(content["answers"])
    exp._tickets = {
        play: Ticket(np.array(arms, dtype=np.int64), role, None if claimed is None else np.array(claimed))
        for play, arms, role, claimed in content["tickets"]
    }
    exp._abandoned = sum(ticket.role == "abandoned" for ticket in exp._tickets.values())
    exp._spares = {
        play: Spare(arms, reached, hit, set(unclaimed)) for play, arms, reached, hit, unclaimed in content["spares"]
    }
    exp._plays = content["plays"]
    exp._plays_observed = content["plays_observed"]
    exp._late = content["late"]
    exp._samples = np.array(content["samples"], dtype=np.int64)
    exp._successes = np.array(content["successes"], dtype=np.int64)
    exp._state = type(exp._state).from_json(content["state"])
    exp._request = resume(content["request"], exp._linkage)
    if content["verdict"] is not None:
        top, status, plays = content["verdict"]
        bound = exp._policy.error_bound if status == "confident" else None
        exp._verdict = replace(exp._verdict_of(np.array([top]), status, bound), plays=plays)
