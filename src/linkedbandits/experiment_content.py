"""The content of a saved experiment: everything that a live experiment is made of, as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.answers import GIVEN_UP, NO_HIT, Answers
from linkedbandits.live import resume
from linkedbandits.policies import describe_policy
from linkedbandits.spares import Spares, pack_marks
from linkedbandits.tickets import Ticket
from linkedbandits.tuple_table import TupleTable

if TYPE_CHECKING:
    from linkedbandits.experiment import Experiment


def content_of(exp: Experiment) -> dict[str, Any]:
    """All of an experiment but its answers, for :func:`fill` to go on from exactly.

    Its size depends on the arms and on the plays that are out, not on how many were made.
    """
    lane, tuples = exp._lane, TupleTable()
    return {
        "labels": list(exp._labels),
        "policy": describe_policy(exp._policy),
        "linkage": exp._linkage.name,
        "seed": exp._seed,
        "max_plays": exp._max_plays,
        "parallel": exp._parallel,
        "tickets": [
            [
                play,
                tuples.number(ticket.arms),
                ticket.role,
                None if ticket.claimed is None else ticket.claimed.tolist(),
            ]
            for play, ticket in exp._tickets.items()
        ],
        "spares": lane.spares.to_json(tuples),
        "tuples": tuples.to_json(),
        "given_up": exp._given_up.to_json(),
        "plays": exp._plays,
        "plays_observed": lane.plays_observed,
        "late": exp._late,
        "samples": lane.samples.tolist(),
        "successes": lane.successes.tolist(),
        "late_samples": lane.late_samples.tolist(),
        "late_successes": lane.late_successes.tolist(),
        "verdict": None
        if exp._verdict is None
        else [
            [exp._index[arm] for arm in exp._verdict.top or (exp._verdict.arm,)],
            exp._verdict.status,
            exp._verdict.plays,
        ],
        "state": lane.state.to_json(),
        "request": lane.request.to_json(),
    }


def fill(exp: Experiment, content: dict[str, Any], answers: Answers) -> None:
    """Make a new experiment, with the same arms and policy, into the one that was saved."""
    lane, tuples = exp._lane, TupleTable(content["tuples"])
    exp._answers = answers
    exp._tickets = {
        play: Ticket(tuples[number], role, None if claimed is None else np.array(claimed))
        for play, number, role, claimed in content["tickets"]
    }
    exp._given_up = TupleTable(content["given_up"])
    exp._plays = content["plays"]
    exp._late = content["late"]
    lane.spares = Spares.from_json(content["spares"], len(exp._labels), tuples)
    lane.plays_observed = content["plays_observed"]
    lane.samples = np.array(content["samples"], dtype=np.int64)
    lane.successes = np.array(content["successes"], dtype=np.int64)
    lane.late_samples = np.array(content["late_samples"], dtype=np.int64)
    lane.late_successes = np.array(content["late_successes"], dtype=np.int64)
    lane.state = type(lane.state).from_json(content["state"])
    lane.request = resume(content["request"], exp._linkage)
    if content["verdict"] is not None:
        top, status, plays = content["verdict"]
        bound = exp._policy.error_bound if status == "confident" else None
        exp._verdict = replace(exp._verdict_of(np.array(top), status, bound), plays=plays)


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a save in format 1, which spelled out the arms of every play that was out or given up."""
    tuples, given_up = TupleTable(), TupleTable()
    answers = Answers.from_text(content["answers"])
    tickets = []
    for play, arms, role, claimed in content["tickets"]:
        if role == "abandoned":
            answers.record(play, GIVEN_UP - given_up.number(np.array(arms)))
        else:
            tickets.append([play, tuples.number(np.array(arms)), role, claimed])
    plays = content["spares"]
    unclaimed = np.zeros((len(plays), len(content["labels"])), dtype=np.bool_)
    for row, spare in enumerate(plays):
        unclaimed[row, spare[4]] = True
    spares = {
        "handed_out": len(plays),
        "numbers": list(range(1, len(plays) + 1)),
        "plays": [play for play, *_ in plays],
        "tuples": [tuples.number(np.array(arms)) for _, arms, *_ in plays],
        "back": [reached is not None for _, _, reached, *_ in plays],
        "whole": [len(left) == len(arms[:reached]) for _, arms, reached, _, left in plays],
        "hit": [arms[reached - 1] if hit else NO_HIT for _, arms, reached, hit, _ in plays],
        "unclaimed": pack_marks(unclaimed),
    }
    return {
        **content,
        # Format 1 did not keep late samples apart; what is in the totals stays there.
        "late_samples": [0] * len(content["labels"]),
        "late_successes": [0] * len(content["labels"]),
        "answers": answers.to_text(),
        "tickets": tickets,
        "spares": spares,
        "tuples": tuples.to_json(),
        "given_up": given_up.to_json(),
    }
