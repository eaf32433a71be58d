"""What a report shows as pictures: SVG that takes its colours from the page around it, and is read on a phone.

Every picture is ``WIDE`` units wide, so that its letters are readable at the width of a phone. Names stand above what
they name, where there is room for long ones.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkedbandits.attempts.alarms import Alarm, Rate
from linkedbandits.attempts.courses import one_option
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.attempts.orders import Order
from linkedbandits.attempts.report import CONFIDENCE, LogEstimate, Report
from linkedbandits.attempts.svg import Markup, Scale, join, shortened, tag, text, ticks
from linkedbandits.attempts.wording import by_mean
from linkedbandits.intervals import anytime_interval
from linkedbandits.model import FloatArray

WIDE = 440
LEFT, RIGHT = 10, 430
LETTERS = 62
"""That fit into a line."""
COLOURS = 6
"""Of lines that can be told apart, with their dashes."""
MOST_OPTIONS = 24
"""In one picture; a page has all of them in its table."""
FEWEST_OF_A_POINT, MOST_POINTS = 25, 40
"""Attempts that make a point of a rate over time, and points at most."""

GROUPS: dict[str, tuple[str, str]] = {
    "dependence": ("as the first tried", "after failures of others"),
    "position": ("in the one order", "in the other"),
    "memory": ("after it worked", "after it failed"),
    "losses": ("lost with others first", "lost with it first"),
}
"""What the two rates of an alarm are of."""


def estimates_picture(report: Report) -> Markup:
    """The mean of each option, with its limits, best first."""
    shown = by_mean(report.estimates)[:MOST_OPTIONS]
    along = _share_scale(min(each.low for each in shown), max(each.high for each in shown))
    never = "not tried" if report.attempts == "all" else "never tried first"
    best = report.verdict.arm if report.verdict is not None and report.proved else None
    parts = []
    for row, each in enumerate(shown):
        top = 6 + row * 36
        kind = "best" if each.option == best else "in" if each.still_in else "out"
        figure = never if each.mean is None else f"{each.mean:.3f}"
        parts += [
            _words(LEFT, top + 10, shortened(each.option, LETTERS - 10), class_=f"name {kind}", title=str(each.option)),
            _words(RIGHT, top + 10, figure, text_anchor="end", class_=f"name {kind}"),
            *_limits(along, top + 21, each.mean, each.low, each.high, kind),
        ]
    bottom = 6 + 36 * len(shown)
    said = "; ".join(_estimate_in_words(each, never) for each in shown)
    return _picture(bottom + 26, f"How often each option works. {said}.", _ruler(along, 2, bottom), *parts)


def evidence_picture(report: Report) -> Markup | None:
    """What speaks against each option as the log is read, with the line at which an option is out."""
    if len(report.course) < 2 or report.delta is None:
        return None
    line = float(-np.log10(report.delta))
    requests = [float(at) for at, _ in report.course]
    course = np.array([np.nan_to_num(evidence, neginf=-300.0) for _, evidence in report.course])
    along = Scale(0.0, requests[-1], LEFT + 34, RIGHT - 4)
    up = Scale(-0.6 * line, 1.25 * line, 190, 14)
    powers = [power for power in range(-3, 400) if up.low <= power <= up.high]
    powers = powers[:: max(1, len(powers) // 6)]
    parts = [_rule(along, up(power), f"{10.0**power:g}" if abs(power) < 4 else f"1e{power}") for power in powers]
    parts += [
        tag("line", x1=along.start, x2=along.end, y1=up(line), y2=up(line), class_="threshold"),
        _words(along.start + 4, up(line) - 5, f"out at {_evidence(line)}, which is 1/delta", class_="threshold"),
    ]
    ranked = [report.log.number_of(each.option) for each in by_mean(report.estimates)]
    for rank, option in reversed(list(enumerate(ranked))):
        parts.append(_course_of(requests, course[:, option], line, along, up, f"course c{min(rank, COLOURS - 1)}"))
    parts += [
        _words(along(at), 206, f"{at:,.0f}", text_anchor="end" if at > 0.9 * requests[-1] else "middle", class_="tick")
        for at in ticks(0.0, requests[-1], 4)
    ]
    parts.append(_words(along.end, 221, "requests of the log", text_anchor="end", class_="tick"))
    height = 232
    for rank, option in enumerate(ranked[:COLOURS]):
        others = len(ranked) - COLOURS
        label = str(report.log.options[option]) if rank < COLOURS - 1 or others <= 0 else f"{others + 1} others"
        parts += [
            tag("line", x1=LEFT, x2=LEFT + 26, y1=height - 4, y2=height - 4, class_=f"course c{rank}"),
            _words(LEFT + 34, height, shortened(label, LETTERS - 8), class_="name", title=label),
        ]
        height += 18
    return _picture(height, "Evidence that an option is not the best, as the log is read.", *parts)


def alarm_picture(log: AttemptLog, alarm: Alarm) -> Markup:
    """What an alarm is about: a rate over time where it has changed, else two rates with their limits."""
    return _drift_picture(log, alarm) if alarm.kind == "drift" else _two_rates(alarm)


def order_picture(log: AttemptLog, order: Order) -> Markup:
    """Where requests end: as it is in the log, and in the order that is best."""
    along = Scale(0.0, 1.0, LEFT, RIGHT)
    parts = [_ruler(along, 2, 112)]
    best = np.array(order.served)
    for top, name, shares in ((6, "in the log", served_by_place(log)), (60, "in the best order", best)):
        succeed = float(shares.sum())
        parts.append(_words(LEFT, top + 10, name, class_="name"))
        parts.append(_words(RIGHT, top + 10, f"{100 * succeed:.1f} % succeed", text_anchor="end", class_="name"))
        edges = [0.0, *np.cumsum(shares).tolist()]
        for number, (low, high) in enumerate(pairwise(edges)):
            width = along(high) - along(low)
            parts.append(
                tag("rect", x=along(low), y=top + 17, width=width, height=20, class_=f"place p{min(number, 3)}")
            )
            if width > 30:
                label = f"{100 * (high - low):.0f} %"
                parts.append(_words(along(low) + width / 2, top + 31, label, text_anchor="middle", class_="on"))
        rest = along(1.0) - along(edges[-1])
        parts.append(tag("rect", x=along(edges[-1]), y=top + 17, width=rest, height=20, class_="place failed"))
    key, at = [("p0", "first"), ("p1", "second"), ("p2", "third"), ("p3", "later"), ("failed", "none")], float(LEFT)
    for name, said in key:
        parts.append(tag("rect", x=at, y=140, width=12, height=12, class_=f"place {name}"))
        parts.append(_words(at + 17, 150, said, class_="tick"))
        at += 84
    return _picture(158, "At which attempt requests succeed, in the log and in the best order.", *parts)


def _estimate_in_words(each: LogEstimate, never: str) -> str:
    if each.mean is None:
        return f"{each.option}: {never}"
    return f"{each.option}: {each.mean:.3f} ({each.low:.3f} to {each.high:.3f})"


def served_by_place(log: AttemptLog) -> FloatArray:
    """The share of requests that the first attempt served, the second, and so on.

    >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("a", "b"), "b"), (("b", "a"), None), (("b", "a"), "b")])
    >>> served_by_place(log).tolist()
    [0.5, 0.25]
    """
    place = np.flatnonzero(log.success) - log.first[log.request[log.success]]
    return np.asarray(np.bincount(place, minlength=1) / max(log.requests, 1))


def rates_over_time(log: AttemptLog, option: int) -> list[tuple[float, float, Rate]]:
    """How often an option worked as the first tried, part by part: from one request up to before another."""
    request, success = one_option(log, option).first_attempts()
    parts = min(max(success.size // FEWEST_OF_A_POINT, 1), MOST_POINTS)
    edges = np.linspace(0, success.size, parts + 1).astype(int)
    found = []
    for begin, end in pairwise(edges.tolist()):
        if end > begin:
            until = float(request[end]) if end < success.size else float(log.requests)
            found.append((float(request[begin]), until, Rate(int(success[begin:end].sum()), end - begin)))
    return found


def _drift_picture(log: AttemptLog, alarm: Alarm) -> Markup:
    points = rates_over_time(log, log.number_of(alarm.option))
    along = Scale(0.0, float(log.requests), LEFT + 34, RIGHT - 4)
    rates = [rate.mean for _, _, rate in points] + [alarm.before.mean, alarm.after.mean]
    share = _share_scale(max(0.0, min(rates) - 0.02), min(1.0, max(rates) + 0.02))
    up = Scale(share.low, share.high, 140, 14)
    parts = [_rule(along, up(at), f"{at:g}") for at in ticks(up.low, up.high, 4)]
    drawn = [(along((begin + end) / 2), up(rate.mean)) for begin, end, rate in points]
    parts.append(tag("polyline", points=" ".join(f"{x:.2f},{y:.2f}" for x, y in drawn), class_="rate"))
    parts += [tag("circle", cx=x, cy=y, r=2.2, class_="point") for x, y in drawn]
    parts.append(tag("line", x1=along(alarm.since), x2=along(alarm.since), y1=8, y2=140, class_="threshold"))
    late = alarm.since > log.requests / 2
    parts.append(
        _words(
            along(alarm.since) + (-5 if late else 5),
            18,
            f"since request {alarm.since:,}",
            text_anchor="end" if late else "start",
            class_="threshold",
        )
    )
    parts.append(
        tag("line", x1=along(alarm.since), x2=along.end, y1=up(alarm.after.mean), y2=up(alarm.after.mean), class_="now")
    )
    parts += [
        _words(along(at), 156, f"{at:,.0f}", text_anchor="end" if at > 0.9 * log.requests else "middle", class_="tick")
        for at in ticks(0.0, float(log.requests), 4)
    ]
    parts.append(_words(along.end, 171, "requests", text_anchor="end", class_="tick"))
    return _picture(176, f"How often {alarm.option} works as the first tried, over time. {alarm.sentence}", *parts)


def _two_rates(alarm: Alarm) -> Markup:
    names = GROUPS.get(alarm.kind, ("before", "after"))
    limits = [anytime_interval(rate.successes, rate.attempts, CONFIDENCE) for rate in (alarm.before, alarm.after)]
    along = Scale(0.0, 1.0, LEFT, RIGHT)
    parts = [_ruler(along, 2, 80)]
    for top, name, rate, (low, high) in zip((6, 44), names, (alarm.before, alarm.after), limits, strict=True):
        said = f"{rate.mean:.3f} of {rate.attempts:,}"
        parts += [
            _words(LEFT, top + 10, name, class_="name"),
            _words(RIGHT, top + 10, said, text_anchor="end", class_="name"),
            tag("rect", x=along.start, y=top + 16, width=along(rate.mean) - along.start, height=11, class_="bar"),
            tag("line", x1=along(low), x2=along(high), y1=top + 21.5, y2=top + 21.5, class_="limits"),
            *(tag("line", x1=x, x2=x, y1=top + 17, y2=top + 26, class_="limits") for x in (along(low), along(high))),
        ]
    return _picture(106, alarm.sentence, *parts)


def _limits(along: Scale, at: float, mean: float | None, low: float, high: float, kind: str) -> list[Markup]:
    """A bar from the one limit to the other, and a mark for the mean."""
    bar = tag("rect", x=along(low), y=at - 4, width=along(high) - along(low), height=8, rx=4, class_=f"interval {kind}")
    return [bar] if mean is None else [bar, tag("circle", cx=along(mean), cy=at, r=5, class_=f"mean {kind}")]


def _course_of(
    requests: list[float], evidence: FloatArray, line: float, along: Scale, up: Scale, colour: str
) -> Markup:
    """Up to where the option is out; there it ends, with a mark."""
    out = np.flatnonzero(evidence >= line - 1e-9)
    last = int(out[0]) + 1 if out.size else len(requests)
    points = [(along(requests[at]), up(float(evidence[at]))) for at in range(last)]
    drawn = tag("polyline", points=" ".join(f"{x:.2f},{y:.2f}" for x, y in points), class_=colour)
    if not out.size:
        return drawn
    x, y = points[-1]
    return join(drawn, tag("circle", cx=x, cy=y, r=3.5, class_=f"end {colour.split()[1]}"))


def _share_scale(low: float, high: float) -> Scale:
    """Shares from a round number below to one above; whole, from 0 to 1, where that costs little room."""
    if high - low > 0.5:
        return Scale(0.0, 1.0, LEFT, RIGHT)
    step = 0.1 if high - low > 0.1 else 0.02 if high - low > 0.02 else 0.005 if high - low > 0.002 else 0.0005
    bottom, top = np.floor(low / step + 1e-9) * step, np.ceil(high / step - 1e-9) * step
    return Scale(max(0.0, float(bottom)), min(1.0, float(top)), LEFT, RIGHT)


def _ruler(along: Scale, top: float, bottom: float) -> Markup:
    """Ticks of a scale along the bottom, with lines to the top."""
    parts = []
    for at in ticks(along.low, along.high, 5):
        place = along(at)
        anchor = "start" if place < LEFT + 12 else "end" if place > RIGHT - 12 else "middle"
        parts.append(tag("line", x1=place, x2=place, y1=top, y2=bottom, class_="grid"))
        parts.append(_words(place, bottom + 15, f"{at:g}", text_anchor=anchor, class_="tick"))
    return join(*parts)


def _rule(along: Scale, at: float, said: str) -> Markup:
    return join(
        tag("line", x1=along.start, x2=along.end, y1=at, y2=at, class_="grid"),
        _words(along.start - 5, at + 4, said, text_anchor="end", class_="tick"),
    )


def _words(x: float, y: float, said: str, title: str | None = None, **attributes: str) -> Markup:
    inside = [text(said)] if title is None or title == said else [text(said), tag("title", text(title))]
    return tag("text", *inside, x=x, y=y, **attributes)


def _evidence(log10: float) -> str:
    return f"{10.0**log10:.4g}" if log10 < 5 else f"1e{log10:.1f}"


def _picture(height: float, said: str, *parts: Markup) -> Markup:
    return tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDE} {height:g}",
        role="img",
        aria_label=said,
    )
