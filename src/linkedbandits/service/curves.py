"""What was known of the arms as time went on: estimates, evidence, and who led.

A point is kept when the plays have grown by a fiftieth, so ten million plays have some 660 of them. A point has 25 arms
at most, those with the highest estimates: what is kept of an experiment stays below half a megabyte, however many arms
and plays it has. An experiment that was played before there were curves has none of that time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkedbandits.intervals import anytime_intervals
from linkedbandits.live import Experiment
from linkedbandits.model import BoolArray, FloatArray, Label
from linkedbandits.service.leaders import names_a_leader
from linkedbandits.service.records import CurvePoint, HistoryPoint

MOST_KEPT = 25
"""Arms in a point."""
MOST_DRAWN = 8
"""Arms in a picture: more lines are not told apart."""
MOST_POINTS = 150
"""in a picture."""


def curve_point(experiment: Experiment, point: HistoryPoint) -> CurvePoint:
    """What is known now: the numbers of the arms, their samples, successes and evidence, and which of them lead."""
    estimates, evidence, leading = experiment.estimates(), experiment.evidence(), experiment.recommend()
    best = set(leading.top or (leading.arm,))
    order = sorted(
        range(len(estimates)),
        key=lambda arm: (estimates[arm].arm not in best, -(estimates[arm].mean or 0.0), arm),
    )
    kept = sorted(order[:MOST_KEPT])
    named = names_a_leader(
        [one.samples for one in estimates], [one.still_in for one in estimates], done=experiment.done
    )
    body = {
        "arms": kept,
        "samples": [estimates[arm].samples for arm in kept],
        "successes": [estimates[arm].successes for arm in kept],
        "evidence": None if evidence is None else [_shortened(evidence[arm]) for arm in kept],
        "leading": [arm for arm in order if estimates[arm].arm in best] if named else [],
    }
    return CurvePoint(point.seq, point.at, point.plays, body)


def _shortened(log10: float) -> float | None:
    return round(log10, 2) if math.isfinite(log10) else None


def curves_data(points: Sequence[CurvePoint], labels: Sequence[Label]) -> dict[str, Any]:
    """Curves to draw, ready for JSON: a list a column, and one of each arm; the arms that were best at the end."""
    if len(points) > MOST_POINTS:
        points = [points[index] for index in np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)]
    drawn = _best_of(points[-1].body) if points else []
    return {
        "at": [point.at for point in points],
        "plays": [point.plays for point in points],
        "leading": [[labels[arm] for arm in point.body["leading"]] for point in points],
        "arms": [{"label": labels[arm], **of} for arm, of in zip(drawn, _curves_of(points, drawn), strict=True)],
    }


def _best_of(body: dict[str, Any]) -> list[int]:
    """The numbers of the arms to draw, those that lead and then by their means."""
    means = {
        arm: won / seen if seen else 0.0
        for arm, seen, won in zip(body["arms"], body["samples"], body["successes"], strict=True)
    }
    return sorted(means, key=lambda arm: (arm not in body["leading"], -means[arm], arm))[:MOST_DRAWN]


def _curves_of(points: Sequence[CurvePoint], drawn: Sequence[int]) -> list[dict[str, Any]]:
    """Mean, limits and evidence of these arms at every point; None where one was not among those kept."""
    places = [[_place(point.body["arms"], arm) for point in points] for arm in drawn]
    samples, successes = (
        np.array(
            [
                [0 if place is None else point.body[name][place] for point, place in zip(points, row, strict=True)]
                for row in places
            ]
        ).reshape(len(drawn), len(points))
        for name in ("samples", "successes")
    )
    low, high = (limit.reshape(samples.shape) for limit in anytime_intervals(successes.ravel(), samples.ravel()))
    seen = samples > 0
    return [
        {
            "mean": _where(seen[index], successes[index] / np.maximum(samples[index], 1)),
            "low": _where(seen[index], low[index]),
            "high": _where(seen[index], high[index]),
            "log10_evidence": [
                None if place is None or point.body["evidence"] is None else point.body["evidence"][place]
                for point, place in zip(points, row, strict=True)
            ],
        }
        for index, row in enumerate(places)
    ]


def _place(arms: Sequence[int], arm: int) -> int | None:
    return arms.index(arm) if arm in arms else None


def _where(seen: BoolArray, values: FloatArray) -> list[float | None]:
    return [round(value, 5) if known else None for known, value in zip(seen.tolist(), values.tolist(), strict=True)]
