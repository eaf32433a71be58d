"""The report on the paper's experiment: the figure, every claim with its verdict, and the plays behind them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING

from linkedbandits.study.figures.panels import Row, grouped
from linkedbandits.study.reproduction.claims import Finding
from linkedbandits.study.reproduction.document import Block, Grid, Heading, Items, Paragraph, Picture
from linkedbandits.study.reproduction.grid import DEFAULT, DELTA, EGE, EGE_FRESH, MAXIMAL, UNIFORM
from linkedbandits.study.reproduction.verdicts import Met, shown
from linkedbandits.version import __version__

if TYPE_CHECKING:
    import polars as pl

__all__ = ["report_on"]

POLICIES = (MAXIMAL, UNIFORM, EGE, EGE_FRESH, DEFAULT)


def report_on(table: pl.DataFrame, findings: Sequence[Finding], svg: Path, seed: int) -> list[Block]:
    """The whole report; ``svg`` is the figure, and lies in the folder that the report goes into."""
    rows = table.to_dicts()
    return [
        Heading(1, "The paper's experiment, run again"),
        *_setting(rows, seed),
        Picture(
            svg.with_suffix(".png").name,
            svg,
            "Mean plays against the number of arms in the three scenarios, on logarithmic axes",
        ),
        Paragraph(
            "Bands are 95 % confidence intervals of the mean, most of them thinner than the line. An open mark with an "
            "arrow stands for runs that reached the largest count, 2^62 plays, without an answer: they need more."
        ),
        Heading(2, "What the paper says, and what comes out"),
        _verdicts(findings),
        Heading(2, "How each claim was decided"),
        Paragraph(
            "A claim holds at a number of arms n if the whole 95 % interval of its figure meets the criterion, and "
            "fails if the whole interval does not; where the interval lies on both sides, or runs did not finish, it "
            "is not decided. The criteria are ours, since the paper gives no numbers."
        ),
        *_decisions(findings),
        Heading(2, "Beside the paper"),
        Items(_beside(rows)),
        Heading(2, "Mean plays"),
        *_plays(rows),
    ]


def _setting(rows: list[Row], seed: int) -> list[Block]:
    arms = sorted({row["arms"] for row in rows})
    trials = sorted({row["trials"] for row in rows})
    how_many = f"{trials[0]:,}" if len(trials) == 1 else f"{trials[0]:,} to {trials[-1]:,}"
    return [
        Paragraph(
            "Best Arm Identification in Linked Bandits (Anant Gupta, 2019) compares three policies on three scenarios: "
            "1-sparse (best mean 0.1, all others 0.05), decreasing (first mean 0.05, mean i is 0.05 - 0.005 * "
            "0.95^((n - i)/2)) and increasing (mean i is i/n). MaximalSampling and UniformSampling stop by the LIL "
            "rule, LinkedEGE by its own."
        ),
        Paragraph(
            "The paper does not say how many arms, which delta or how many trials. "
            f"Here: n from {arms[0]} to {arms[-1]:,}, delta {DELTA:g}, {how_many} trials a point, the best arm of "
            "1-sparse first, ordered plays, and LinkedEGE is told the gap, as in its box. Its line 6 is counted in two "
            "ways. Reuse takes no samples of its own, which is how the paper counts plays, and nothing is proved for "
            "it. Fresh is the algorithm as proved. "
            f"Made by linkedbandits reproduce, version {__version__}, seed {seed}."
        ),
    ]


def _verdicts(findings: Sequence[Finding]) -> Grid:
    rows = []
    for claim, group in groupby(findings, key=lambda finding: finding.claim):
        verdicts = [finding.verdict for finding in group]
        rows.append([claim.scenario, f"\u201c{claim.quotation}\u201d", verdicts[0], *(verdicts[1:] or [""])])
    return Grid(["scenario", "the paper", "LinkedEGE counted as there (reuse)", "as proved (fresh)"], rows, strong=2)


def _decisions(findings: Sequence[Finding]) -> list[Block]:
    blocks: list[Block] = []
    for claim, group in groupby(findings, key=lambda finding: finding.claim):
        blocks += [
            Heading(3, f"{claim.scenario}: \u201c{claim.quotation}\u201d"),
            Paragraph(f"{claim.question} Figure: {claim.figure}."),
            Items([_decision(finding) for finding in group]),
        ]
    return blocks


def _decision(finding: Finding) -> str:
    who = f"{finding.accounting}: " if finding.accounting else ""
    figures = ", ".join(f"{_figure(finding, arms)} (n = {arms})" for arms in finding.figures)
    undecided = [str(arms) for arms, answer in finding.answers.items() if answer is Met.OPEN]
    left_open = f" Not decided at n = {', '.join(undecided)}." if undecided else ""
    return f"{who}{finding.verdict}. {figures or 'No figure could be read off'}.{left_open}"


def _figure(finding: Finding, arms: int) -> str:
    """The figure; a limit that decides nothing is better left unsaid."""
    figure = finding.figures[arms]
    idle = isinf(figure.high) and finding.answers[arms] is Met.OPEN
    return "unknown" if idle else str(figure)


def _beside(rows: list[Row]) -> list[str]:
    """What the measurement shows that the paper does not speak of."""
    by_cell = {(row["family"], row["arms"], row["policy"]): row for row in rows}
    ended = {cell: row for cell, row in by_cell.items() if row["confident"] == 1}
    sentences = []
    for policy in POLICIES:
        mine = [row for (_, _, name), row in ended.items() if name == policy]
        sentences += _over_bound(policy, mine)
    for policy, other in ((EGE, DEFAULT), (EGE_FRESH, EGE)):
        times = [
            row["plays_mean"] / ended[family, arms, other]["plays_mean"]
            for (family, arms, name), row in ended.items()
            if name == policy and (family, arms, other) in ended
        ]
        if times:
            sentences.append(f"{policy} needs {shown(min(times))} to {shown(max(times))} times the plays of {other}.")
    worst = max(rows, key=lambda row: row["sure_and_wrong"])
    low, high = worst["sure_low"], worst["sure_high"]
    sentences.append(
        f"The largest share of runs that stopped with a wrong answer is {worst['sure_and_wrong']:.1%} (95 % interval "
        f"{low:.1%} to {high:.1%}): {worst['policy']}, {worst['instance']}. Delta, {DELTA:.0%}, "
        f"{'does not allow that' if low > DELTA else 'allows that'}."
    )
    unfinished = [row for row in rows if row["confident"] < 1]
    if unfinished:
        cells = "; ".join(
            f"{policy} on {family} with n = {', '.join(str(row['arms']) for row in part)}"
            for (policy, family), part in grouped(unfinished, lambda row: (row["policy"], row["family"])).items()
        )
        sentences.append(f"Not every run finished within 2^62 plays: {cells}.")
    return sentences


def _over_bound(policy: str, rows: list[Row]) -> list[str]:
    """How far a policy is from the bound for those who are told as much; nothing where no row has one."""
    bounded = [row for row in rows if row["bound_as_told"]]
    if not bounded:
        return []
    over = [row["plays_mean"] / row["bound_as_told"] for row in bounded]
    told = " for those who are told the gap, as it is" if any(row["told"] for row in bounded) else ""
    most = max(row["arms"] for row in bounded)
    up_to = f", up to n = {most}" if most < max(row["arms"] for row in rows) else ""
    return [f"{policy} needs {shown(min(over))} to {shown(max(over))} times the lower bound{told}{up_to}."]


def _plays(rows: list[Row]) -> list[Block]:
    blocks: list[Block] = []
    for family, of_family in grouped(rows, lambda row: row["family"]).items():
        lines = []
        for arms, part in grouped(of_family, lambda row: row["arms"]).items():
            by_policy = {row["policy"]: row for row in part}
            least = _count(part[0]["lower_bound"])
            lines.append([str(arms), least, *(_mean_plays(by_policy[policy]) for policy in POLICIES)])
        blocks += [Heading(3, family), Grid(["n", "lower bound", *POLICIES], lines, numeric=0)]
    return blocks


def _mean_plays(row: Row) -> str:
    return _count(row["plays_mean"]) if row["confident"] == 1 else f"> {_count(row['plays_mean'])}"


def _count(plays: float) -> str:
    return f"{plays:,.0f}" if plays < 1e7 else f"{plays:.3g}"
