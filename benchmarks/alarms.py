"""Alarms on logs: raised by what they are for, silent on clean logs, and cheap.

Claims, at alpha 0.01: of logs with 20,000 requests in shuffled orders of 4 or 8 options, at least 95 % raise an alarm
if one option drops from 0.8 to 0.6 half way, or if a shared difficulty makes failures correlate (0.2 on the scale of
the normal numbers of ``SharedDifficulty``, less between the failures themselves). Of clean logs at most 1 % do, with
99 % confidence, in every cell: one order, shuffled orders, win-stay and epsilon-greedy, and means from near 0 to near
1. Nor does dependence raise alarms of another kind. Ten million attempts take at most 500 MB beyond the log, and those
of ten options at most 10 seconds of one core.
"""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.alarms import watch
from linkedbandits.attempts.courses import KINDS
from linkedbandits.intervals import share_interval
from linkedbandits.joint_worlds import SharedDifficulty
from tools import logs
from tools.claims import Claims, mark_over

ALPHA = 0.01
LOGS_FOR_POWER = 400
LEAST_POWER = 0.95
CLEAN_LOGS = 2000
BATCH = 250
"""Logs made side by side."""
REQUESTS = 20_000
CLEAN_REQUESTS = 2000
MEANS = {
    "0.5 to 0.8": (0.5, 0.6, 0.7, 0.8),
    "all 0.5, eight": (0.5,) * 8,
    "near 0": (0.005, 0.01, 0.02, 0.03),
    "near 1": (0.97, 0.98, 0.99, 0.995),
    "0.999, 0.5, 0.01": (0.999, 0.5, 0.01),
}
MOST_SECONDS = 10.0
MOST_MEGABYTES = 500.0

Maker = Callable[[np.random.Generator], Attempts]


def main() -> None:
    claims = Claims()
    power(claims)
    clean(claims)
    cost(claims)
    claims.report()


def with_a_cause() -> Iterator[tuple[str, str | None, Maker]]:
    """A name, the kind of alarm that is claimed for at least 95 % of its logs, and how to make one."""
    for options in (4, 8):
        means = np.linspace(0.5, 0.8, options)
        dropped = np.append(means[:-1], 0.6)
        half = REQUESTS // 2
        yield f"drop from 0.8 to 0.6, {options} options", "drift", stages(options, [(means, half), (dropped, half)])
        alike = SharedDifficulty(means, 0.2)
        yield f"shared difficulty, {options} options", "dependence", stages(options, [(alike, REQUESTS)])
        strong = SharedDifficulty(np.full(options, 0.8), 0.2)
        yield f"shared difficulty, {options} options of 0.8", "dependence", stages(options, [(strong, REQUESTS)])
    means = np.linspace(0.5, 0.8, 4)
    dropped = np.append(means[:-1], 0.6)
    yield "two changes: a tenth at 0.6", None, stages(4, [(means, 9000), (dropped, 2000), (means, 9000)])
    slow = [(np.append(means[:-1], mean), REQUESTS // 100) for mean in np.linspace(0.8, 0.65, 100)]
    yield "slow drift from 0.8 to 0.65", None, stages(4, slow)
    yield "0.8, after a failure 0.65", None, remembering
    against = SharedDifficulty(means, 0.2, against=[3])
    yield "shared difficulty, one against the others", None, stages(4, [(against, REQUESTS)])
    yield (
        "shared difficulty, a twentieth begins elsewhere",
        None,
        lambda rng: logs.log_of(
            logs.outcomes(SharedDifficulty(means, 0.2), REQUESTS, rng), logs.mostly_fixed(REQUESTS, 4, 0.05, rng)
        ),
    )
    yield "one of four works half as often behind b, a", None, out_of_place
    slow = [(np.append(means[:-1], mean), REQUESTS // 100) for mean in np.linspace(0.8, 0.6, 100)]
    yield "slow drift from 0.8 to 0.6", None, stages(4, slow)


def stages(options: int, parts: list) -> Maker:
    """Shuffled orders of options that follow one law after another."""

    def make(rng: np.random.Generator) -> Attempts:
        would = np.concatenate([logs.outcomes(law, requests, rng) for law, requests in parts])
        return logs.log_of(would, logs.shuffled(len(would), options, rng))

    return make


def remembering(rng: np.random.Generator) -> Attempts:
    """An option remembers its last *first* attempt, so only requests that it begins go on with its memory."""
    orders = logs.shuffled(REQUESTS, 4, rng)
    would = logs.outcomes([0.8, 0.6, 0.7, 0.5], REQUESTS, rng)
    begins = orders[:, 0] == 0
    would[begins, :1] = logs.with_memory(0.8, 0.65, int(begins.sum()), rng)
    # Elsewhere it does what it does on average, so that place and dependence have no part in it.
    would[~begins, 0] = rng.random(int((~begins).sum())) < 0.65 / (0.65 + 1 - 0.8)
    return logs.log_of(would, orders)


def out_of_place(rng: np.random.Generator) -> Attempts:
    orders = logs.shuffled(REQUESTS, 4, rng)
    would = logs.outcomes([0.3, 0.3, 0.6, 0.4], REQUESTS, rng)
    behind = (orders[:, :3] == (1, 0, 2)).all(axis=1)
    would[behind, 2] &= rng.random(int(behind.sum())) < 0.5
    return logs.log_of(would, orders)


def power(claims: Claims) -> None:
    print(f"of {LOGS_FOR_POWER} logs of {REQUESTS:,} requests, the share with an alarm, at alpha {ALPHA:g}")
    print(f"| what is wrong | any | {' | '.join(KINDS)} | noticed at request, median |")
    print("|---|--:|" + "--:|" * (len(KINDS) + 1))
    for number, (name, kind, make) in enumerate(with_a_cause()):
        found: Counter[str] = Counter()
        noticed = []
        for seed in range(LOGS_FOR_POWER):
            alarms = watch(make(np.random.default_rng([number, seed])), ALPHA)
            found.update({alarm.kind for alarm in alarms})
            found["any"] += bool(alarms)
            noticed += [min(alarm.noticed for alarm in alarms)] if alarms else []
        shares = [found[column] / LOGS_FOR_POWER for column in ("any", *KINDS)]
        shown = " | ".join(f"{share:.3f}" for share in shares)
        print(f"| {name} | {shown} | {np.median(noticed or [np.nan]):,.0f} |", flush=True)
        if kind is not None:
            power_of_it = found[kind] / LOGS_FOR_POWER
            claims.check(power_of_it >= LEAST_POWER, f"{name}: {power_of_it:.3f} alarms, at least {LEAST_POWER:g}")
        if kind == "dependence":
            others = sum(found[other] for other in KINDS if other != kind) / LOGS_FOR_POWER
            claims.check(others <= ALPHA, f"{name}: {others:.3f} alarms of another kind, at most {ALPHA:g}")


def clean(claims: Claims) -> None:
    print(f"\nalarms in {CLEAN_LOGS:,} clean logs a cell of {CLEAN_REQUESTS:,} requests; with 99 % confidence at most")
    print("| orders | means | logs with an alarm | at most |")
    print("|---|---|--:|--:|")
    for row, how in enumerate(("one order", "shuffled", "win-stay", "epsilon-greedy")):
        for column, (name, means) in enumerate(MEANS.items()):
            rng = np.random.default_rng([100, row, column])
            false = sum(
                bool(watch(log, ALPHA))
                for _ in range(CLEAN_LOGS // BATCH)
                for log in clean_logs(how, means, BATCH, CLEAN_REQUESTS, rng)
            )
            report_clean(claims, how, name, false)
    rng = np.random.default_rng(101)
    long = (log for _ in range(CLEAN_LOGS) for log in clean_logs("shuffled", MEANS["0.5 to 0.8"], 1, REQUESTS, rng))
    report_clean(claims, f"shuffled, {REQUESTS:,} requests", "0.5 to 0.8", sum(bool(watch(log, ALPHA)) for log in long))


def report_clean(claims: Claims, how: str, name: str, false: int) -> None:
    _, most = share_interval(false, CLEAN_LOGS, confidence=0.98)  # one-sided: 99 %
    print(f"| {how} | {name} | {false} | {most:.4f} |", flush=True)
    claims.check(most <= ALPHA, f"{how}, {name}: {false} of {CLEAN_LOGS:,} clean logs alarm, at most {ALPHA:g}")


def clean_logs(
    how: str, means: tuple[float, ...], count: int, requests: int, rng: np.random.Generator
) -> Iterator[Attempts]:
    options = len(means)
    would = np.stack([logs.outcomes(means, requests, rng) for _ in range(count)])
    if how in {"win-stay", "epsilon-greedy"}:
        orders = logs.adaptive(would, logs.win_stay if how == "win-stay" else logs.epsilon_greedy, rng)
        yield from map(logs.log_of, would, orders)
        return
    for outcomes in would:
        in_order = logs.fixed(requests, options) if how == "one order" else logs.shuffled(requests, options, rng)
        yield logs.log_of(outcomes, in_order)


def cost(claims: Claims) -> None:
    rng = np.random.default_rng(102)
    for name, options, requests in (("ten options", 10, 6_500_000), ("one option", 1, 10_000_000)):
        means = np.linspace(0.5, 0.8, options)
        log = logs.log_of(logs.outcomes(means, requests, rng), logs.shuffled(requests, options, rng))
        began = time.process_time()
        watch(log, ALPHA)
        seconds = time.process_time() - began
        afresh = replace(log)  # without what the log keeps once it was asked for
        tracemalloc.start()
        watch(afresh, ALPHA)
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        slow = mark_over(seconds, MOST_SECONDS)
        print(f"\n{name}, {len(log):,} attempts: {megabytes:.0f} MB beyond the log, {seconds:.1f} s of one core{slow}")
        claims.check(megabytes <= MOST_MEGABYTES, f"{name}: {megabytes:.0f} MB, at most {MOST_MEGABYTES:g}")
