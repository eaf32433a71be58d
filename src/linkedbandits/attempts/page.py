"""A report as one page: no network, no scripts, light and dark, for a screen, a phone or paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from linkedbandits.attempts.alarms import NO_MATTER_SAID, Alarm, speaks_against
from linkedbandits.attempts.concerning import objections, standing
from linkedbandits.attempts.log import seconds_in_words
from linkedbandits.attempts.pictures import (
    MOST_OPTIONS,
    alarm_picture,
    estimates_picture,
    evidence_picture,
    order_picture,
)
from linkedbandits.attempts.report import CONFIDENCE, Report
from linkedbandits.attempts.svg import Markup, join, tag, text
from linkedbandits.attempts.wording import (
    ALWAYS_NEEDED,
    OFFSETS,
    READ,
    by_mean,
    evidence_in_words,
    first_shares_in_words,
    missing_by_mean,
    missing_in_words,
    noticed_in_words,
    offsets_table,
    order_caveat,
    order_in_words,
    prices_caveat,
    prices_tables,
    samples_called,
    set_aside_in_words,
    success_in_words,
    when_in_words,
)
from linkedbandits.version import __version__

LEVEL = f"{100 * CONFIDENCE:g} %"


@dataclass(frozen=True)
class Made:
    """How a page was made: from which file, by which command, with which level of alarms, and when, if that is told."""

    source: str
    command: str
    alpha: float
    at: str | None = None


def page_of(report: Report, made: Made) -> str:
    """The whole page, HTML that is also XML."""
    body = tag(
        "main",
        _header(report, made),
        tag("div", _estimates(report), _evidence(report), class_="two"),
        _alarms(report),
        _missing(report),
        *_prices(report),
        _order(report),
        _reading(report),
        _assumed(report),
        _made(report, made),
    )
    title = text(f"{made.source}: {STATES[standing(report)]}")
    head = tag(
        "head",
        Markup('<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        Markup('<meta name="color-scheme" content="light dark"/>'),
        tag("title", title),
        tag("style", Markup(files("linkedbandits.attempts").joinpath("page.css").read_text(encoding="utf-8"))),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body), lang='en')}\n"


STATES = {
    "decided": "decided",
    "doubted": "decided, but with an alarm",
    "unproved": "stopped without a guarantee",
    "not yet": "not yet",
}


def _header(report: Report, made: Made) -> Markup:
    state = standing(report)
    log = report.log
    facts = [f"{log.requests:,} requests", f"{len(log):,} attempts", f"{len(log.options):,} options"]
    when = when_in_words(log)
    badge = tag("span", text(STATES[state]), class_=f"state {state.replace(' ', '-')}")
    return tag(
        "header",
        tag("p", badge, text(f" {made.source}"), class_="source"),
        tag("h1", text(report.sentence)),
        tag("p", text(" · ".join(facts + ([when] if when else []))), class_="muted"),
    )


def _section(heading: str, *inside: Markup, **attributes: str) -> Markup:
    return tag("section", tag("h2", text(heading)), *inside, **attributes)


def _said(words: str) -> Markup:
    """A number stays with its sign of percent."""
    return text(words.replace(" %", "\u00a0%"))


def _p(words: str, class_: str | None = None) -> Markup:
    return tag("p", _said(words), class_=class_)


def _list(lines: Sequence[str]) -> Markup:
    return tag("ul", *(tag("li", _said(line)) for line in lines))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Markup:
    """The first ``words`` columns are text, the others figures."""

    def cells(kind: str, row: Sequence[str]) -> Markup:
        return tag(
            "tr",
            *(
                tag(kind if place else "th", text(cell), class_="figure" if place >= words else None)
                for place, cell in enumerate(row)
            ),
        )

    head = tag("thead", cells("th", headings))
    return tag("div", tag("table", head, tag("tbody", *(cells("td", row) for row in rows))), class_="scrolls")


def _estimates(report: Report) -> Markup:
    everything = report.attempts == "all"
    rows = [
        (
            str(each.option),
            "" if each.mean is None else f"{each.mean:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            f"{each.samples:,}",
            *([] if everything else [f"{each.attempts:,}"]),
            evidence_in_words(each, report),
        )
        for each in by_mean(report.estimates)
    ]
    counted = ["attempts"] if everything else [samples_called(report.attempts), "of all"]
    headings = ["option", "works", f"{LEVEL} limits", *counted, "evidence"]
    shown = [tag("figure", estimates_picture(report))]
    if len(report.estimates) > MOST_OPTIONS:
        shown.append(_p(f"The {MOST_OPTIONS} best of {len(report.estimates):,} are drawn.", "muted"))
    return _section(
        "How often each option works",
        *shown,
        _p(f"Limits hold at all times together, each with {LEVEL} confidence.", "muted"),
        tag(
            "details",
            tag("summary", text("In figures")),
            _table(headings, rows),
            open="open",
            class_=None if everything else "estimates",
        ),
    )


def _evidence(report: Report) -> Markup:
    picture = evidence_picture(report)
    if picture is None:
        kept = any(each.log10_evidence is not None for each in report.estimates)
        said = "Too little could be read for any evidence." if kept else "The policy keeps no evidence."
        return _section("What speaks against each option", _p(said))
    return _section(
        "What speaks against each option",
        tag("figure", picture),
        _p(
            "Evidence may be looked at whenever one likes: against the best option it ever reaches the line with "
            f"probability at most {report.delta:g}.",
            "muted",
        ),
    )


def _alarms(report: Report) -> Markup:
    if not report.alarms:
        return _section("Alarms", _p("None."))
    against = objections(report)
    others = [alarm for alarm in report.alarms if not speaks_against(alarm, report.attempts)]
    parts = [_alarm(report, alarm, "alarm") for alarm in against]
    shown = [tag("div", *parts, class_="two")] if parts else []
    if others:
        shown.append(_p(NO_MATTER_SAID[report.attempts]))
        shown.append(tag("div", *(_alarm(report, alarm, "alarm no-matter") for alarm in others), class_="two"))
    table = offsets_table(report)
    if table is not None:
        headings, rows = table
        shown += [_p(f"{OFFSETS}."), _table(headings, rows[:MOST_OPTIONS])]
    return _section("Alarms", *shown)


def _alarm(report: Report, alarm: Alarm, class_: str) -> Markup:
    return tag(
        "article",
        tag("h3", text(alarm.kind)),
        _p(alarm.sentence),
        tag("figure", alarm_picture(report.log, alarm)),
        *([_p(alarm.remedy)] if speaks_against(alarm, report.attempts) else []),
        _p(noticed_in_words(alarm), "muted"),
        class_=class_,
    )


def _missing(report: Report) -> Markup:
    if report.verdict is not None and not report.proved:
        said = "A guarantee: the policy stopped without one, and a longer log does not add it."
        return _section("What is missing", _p(f"{said} Leave the policy out, or choose one that is told delta."))
    if report.verdict is not None:
        said = "Nothing. On a longer log the verdict is the same."
        return _section("What is missing", _p(said + (" But see the alarms." if objections(report) else "")))
    if not report.missing:
        return _section("What is missing", _p("See the notes below."))
    lines = [f"{each.option}: {missing_in_words(each, report.attempts)}." for each in missing_by_mean(report)]
    forecast = "A forecast from the rates so far, not a promise: options that are closer than they look take longer."
    return _section("What is missing", _list(lines), _p(forecast, "muted"))


def _prices(report: Report) -> list[Markup]:
    tables = [_table(headings, rows[:MOST_OPTIONS]) for headings, rows in prices_tables(report)]
    if not tables:
        return []
    shown = tag("div", *tables, class_="two") if len(tables) > 1 else tables[0]
    return [_section("Cost and time of an attempt", shown, _p(prices_caveat(report), "muted"))]


def _order(report: Report) -> Markup:
    order = report.order
    if order is None:
        return _section("The best order", _p("There is nothing to go by yet."))
    best, now = order_in_words(order)
    places = [
        tag(
            "li",
            tag("b", text(place.option)),
            _said(f" works on {100 * place.success:.0f} % of what is left"),
            text("" if place.samples or number == 0 else ", going by other situations"),
        )
        for number, place in enumerate(order.places[:MOST_OPTIONS])
    ]
    more = len(order.places) - len(places)
    words = tag(
        "div",
        tag("ol", *places),
        *([_p(f"and {more:,} more")] if more > 0 else []),
        _p(f"Best order: {best}."),
        _p(f"In the log: {now}; it begins with {first_shares_in_words(report.log)}."),
        _p(order_caveat(report, order), "muted"),
    )
    return _section("The best order", tag("div", words, tag("figure", order_picture(report.log, order)), class_="two"))


def _reading(report: Report) -> Markup:
    log = report.log
    parts = [_table(("meaning", "column"), log.columns, words=2)] if log.columns else []
    success = success_in_words(log)
    if success is not None:
        parts.append(_p(success))
    found = [set_aside_in_words(each) for each in log.set_aside]
    aside = [_p("Set aside:"), _list(found)] if found else [_p("Nothing was set aside.")]
    return _section("What was read", *parts, *aside)


def _assumed(report: Report) -> Markup:
    in_a_table = {f"{each}." for each in report.offsets}
    notes = [note for note in report.notes if not note.startswith("Set aside: ") and note not in in_a_table]
    assumed = [
        f"The {'verdict' if report.verdict is None or report.proved else 'answer'} is from {READ[report.attempts]}.",
        *ALWAYS_NEEDED,
    ]
    if report.verdict is not None and report.verdict.assumes:
        assumed.append(f"Besides, it assumes: {', '.join(report.verdict.assumes)}.")
    if report.verdict is not None and report.verdict.contradicted:
        assumed.append(f"What was seen speaks against: {', '.join(report.verdict.contradicted)}.")
    return _section("What is assumed", _list(assumed), *([tag("h2", text("Notes")), _list(notes)] if notes else []))


def _made(report: Report, made: Made) -> Markup:
    facts = [
        ("command", made.command),
        ("version", f"linkedbandits {__version__}"),
        ("delta", "none" if report.delta is None else f"{report.delta:g}"),
        ("alpha of alarms", f"{made.alpha:g}"),
        ("attempts", report.attempts),
    ]
    if report.log.deadline is not None:
        facts.append(("deadline", seconds_in_words(report.log.deadline)))
    if made.at is not None:
        facts.append(("made", made.at))
    rows = [join(tag("dt", text(name)), tag("dd", text(value))) for name, value in facts]
    return _section("How this page was made", tag("dl", *rows), class_="made")
