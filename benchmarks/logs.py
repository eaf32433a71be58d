"""Verdicts from logs: how often they are wrong, what of a log they use, how many requests they take.

``make bench SECTION=logs`` prints all of it; ``logs-validity``, ``logs-economy`` and ``logs-real`` a part. LOGS=200
makes fewer logs of each kind than the 20,000 that the claims are about, and ONLY="shuffled,skewed" those rows alone of
``logs-validity``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from multiprocessing import get_context

import numpy as np
from scipy.integrate import quad

import linkedbandits as lb
from benchmarks.real import CASES
from benchmarks.side_by_side import Found, read_all
from linkedbandits.attempts import Attempts
from linkedbandits.attempts.alarms import watch
from linkedbandits.attempts.courses import looks_within
from linkedbandits.attempts.deciding import samples_of
from linkedbandits.attempts.log import Which
from linkedbandits.bounds.divergence import pooled_kl
from linkedbandits.intervals import share_interval
from linkedbandits.joint_worlds import KindsOfRequests
from tools.claims import Claims
from tools.logs import Orders, Outcomes, adaptive, epsilon_greedy, log_of, outcomes, shuffled, win_stay

LOGS = int(os.environ.get("LOGS", "20000"))
ONLY = [row.strip() for row in os.environ.get("ONLY", "").split(",")]
DELTA = 0.1
LEAST_USED = 0.9
"""Of options times the length of the shortest queue, in logs that do not decide and allow for 200 samples: by the two
tests of a verdict together in every log, and by the race on average, where routing keeps its proportions. Where it
turns away from options, a queue runs dry while others are full, and the race waits; the other test does not."""
KEEP_PROPORTIONS = ("one order", "shuffled", "skewed")
LOOKS = 10
"""At every tenth of a log."""
AT_ONCE = 2100
"""Logs that are read side by side, those of one instance at a time."""
REPLAYED_AT_ONCE = 50
"""Logs replayed from a table, which are longer."""

EQUAL = np.array([0.5, 0.5, 0.5])
INSTANCES = {
    "near-equal": np.array([0.5, 0.48, 0.3]),
    "tie": EQUAL,
    "rare": np.array([0.03, 0.02, 0.02, 0.02]),
    "high": np.array([0.97, 0.99, 0.95]),
    "1-sparse": lb.scenarios.one_sparse(6),
    "apart": np.array([0.4, 0.7, 0.5]),
    "two": np.array([0.6, 0.5]),
}
ECONOMY = {
    "ten, 1-sparse": lb.scenarios.one_sparse(10),
    "eight providers, .5 to .95": np.array([0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]),
    "increasing(10)": lb.scenarios.increasing(10) * 0.95,
    ".3 .21 .2 .19 .18": np.array([0.3, 0.21, 0.2, 0.19, 0.18]),
    "two, .8 and .7": np.array([0.8, 0.7]),
}


def main() -> None:
    validity()
    economy()
    real()


# --------------------------------------------------------------------------------------------------- how logs are made


def in_one_order(would: Outcomes, rng: np.random.Generator) -> Orders:
    """Each log has an order of its own, which it keeps."""
    logs, requests, options = would.shape
    return np.repeat(shuffled(logs, options, rng)[:, np.newaxis], requests, axis=1)


def in_any_order(would: Outcomes, rng: np.random.Generator) -> Orders:
    logs, requests, options = would.shape
    return shuffled(logs * requests, options, rng).reshape(would.shape)


def skewed(would: Outcomes, rng: np.random.Generator) -> Orders:
    """Some options begin far more requests than others."""
    return np.argsort(rng.exponential(size=would.shape) * 4.0 ** np.arange(would.shape[2]), axis=2).astype(np.int16)


def stays(would: Outcomes, rng: np.random.Generator) -> Orders:
    return adaptive(would, win_stay, rng)


def greedy(would: Outcomes, rng: np.random.Generator) -> Orders:
    return adaptive(would, epsilon_greedy, rng)


LOGGERS = {"one order": in_one_order, "shuffled": in_any_order, "skewed": skewed, "stays": stays, "greedy": greedy}


def made_by(logger: str, law: KindsOfRequests | np.ndarray, sizes: np.ndarray, seed: list[int]) -> list[Attempts]:
    """Logs of so many requests each. They are made side by side, all as long as the longest, and then cut."""
    rng = np.random.default_rng(seed)
    longest = int(sizes.max())
    would = np.stack([outcomes(law, longest, rng) for _ in sizes])
    orders = LOGGERS[logger](would, rng)
    return [log_of(would[log, :size], orders[log, :size]) for log, size in enumerate(sizes)]


def read(log: Attempts, which: Which, delta: float = DELTA) -> Found:
    """As ``Attempts.verdict`` does, without the rest of the report."""
    return read_all([log], which, delta)[0]


# ------------------------------------------------------------------------------------------------------------- validity


def validity() -> None:
    """Wrong at most delta on logs of every kind, and a look at a part of a log says what the whole does."""
    claims = Claims()
    print(f"wrong verdicts at delta {DELTA}, {LOGS:,} logs a row; looked at after every tenth\n")
    print(
        f"{'logger':<10} {'read':<6} {'decided':>8} {'wrong':>7}   99.9 % limit   used: least; by the race: mean, least"
    )
    with get_context("spawn").Pool() as pool:
        for logger, which in product(LOGGERS, ("first", "duels", "all")):
            if not any(f"{logger}: {which}".startswith(row) for row in ONLY):
                continue
            pieces = [(logger, which, seed, min(seed + AT_ONCE, LOGS)) for seed in range(0, LOGS, AT_ONCE)]
            found = np.concatenate(pool.map(some_logs, pieces, chunksize=1))
            decided, wrong, by_race, used = int(found[:, 0].sum()), int(found[:, 1].sum()), found[:, 2], found[:, 3]
            limit = share_interval(wrong, len(found), confidence=0.998)[1]
            measured = not np.isnan(used).all()
            said = f"{np.nanmin(used):.2f}; {mean_use(by_race):.2f}, {np.nanmin(by_race):.2f}" if measured else ""
            print(f"{logger:<10} {which:<6} {decided:>8,} {wrong:>7,}   {limit:>11.4f}   {said}", flush=True)
            claims.check(limit < DELTA, f"{logger}, {which}: wrong up to {limit:.3f}")
            if measured:
                claims.check(
                    np.nanmin(used) >= LEAST_USED, f"{logger}, {which}: a log of which {np.nanmin(used):.2f} is used"
                )
            if measured and logger in KEEP_PROPORTIONS:
                claims.check(
                    mean_use(by_race) >= LEAST_USED,
                    f"{logger}, {which}: the race uses {mean_use(by_race):.2f} on average",
                )
    claims.report()


def some_logs(piece: tuple[str, Which, int, int]) -> np.ndarray:
    """Of each log: was it decided, wrongly, and how much of what its shortest queue allows did the race and all use?

    Instances take turns. Where options tie, to decide against the first of them counts as wrong.
    """
    logger, which, start, stop = piece
    rows = []
    for place, means in enumerate(INSTANCES.values()):
        sizes = [requests_of(seed) for seed in range(start, stop) if seed % len(INSTANCES) == place]
        seed = [start, place, list(LOGGERS).index(logger)]
        logs = made_by(logger, means, np.array(sizes), seed) if sizes else []
        found_of_each = read_all(logs, which, DELTA) if logs else []
        if logs:
            check_alone(logs[0], which, found_of_each[0])
        for log, found in zip(logs, found_of_each, strict=True):
            wrong = found.option is not None and found.option != int(means.argmax())
            sizes = np.bincount(log.option[samples_of(log, which)], minlength=means.size)
            allowed = sizes.size * sizes.min()
            few = which == "duels" or found.stopped or allowed < 200
            by_race = int(found.used.sum())
            by_all = 0 if few else int(looks_within(int(sizes.sum()))[-1])
            shares = (np.nan, np.nan) if few else (by_race / allowed, max(by_race, by_all) / allowed)
            rows.append((found.option is not None, wrong, *shares))
    return np.array(rows, dtype=float)


def requests_of(seed: int) -> int:
    """How long the log is."""
    return int(np.random.default_rng([seed, 99]).integers(100, 2000))


def mean_use(used: np.ndarray) -> float:
    """Of logs in which it is measured; to use more than the shortest queue allows for makes up for nothing."""
    return float(np.nanmean(np.minimum(used, 1.0)))


def check_alone(log: Attempts, which: Which, together: Found) -> None:
    """By itself a log is decided as among others, and a shorter one as the longer one, or not yet."""
    report = log.verdict(attempts=which, delta=DELTA, independent=True)
    option = None if report.verdict is None else log.options.index(report.verdict.arm)
    if option != together.option or (option is not None and report.verdict.plays != together.requests):
        raise SystemExit("a log read by itself differs from the same among others")
    for look in range(1, LOOKS):
        requests = log.requests * look // LOOKS
        early = read(beginning_of(log, requests), which)
        decided = together.option is not None and together.requests <= requests
        if early.option != (together.option if decided else None):
            raise SystemExit("a look at a part of a log differs from the whole")


def beginning_of(log: Attempts, requests: int) -> Attempts:
    kept = log.request < requests
    second = None if log.second is None else log.second[:requests]
    return Attempts(log.options, log.request[kept], log.option[kept], log.success[kept], second=second)


# -------------------------------------------------------------------------------------------------------------- economy


def economy() -> None:
    """Requests until the verdict on shuffled logs, over what live plays and the two characteristic times allow."""
    claims = Claims()
    runs = max(min(LOGS, 400), 40)
    print(f"\nrequests until the verdict at delta {DELTA}, shuffled full orders, {runs} logs")
    print(f"{'instance':<28} {'read':<6} {'requests':>9} {'live, free':>10} {'ratio of times':>14} {'1.3 allowed':>14}")
    for name, means in ECONOMY.items():
        free = lb.bounds.characteristic_time(means, "free").value
        live = lb.simulate(means, lb.LinkedElimination(DELTA), linkage="free", trials=2000, seed=1).plays.mean()
        for which in ("first", "all"):
            ratio = time_of_a_log(means, which) / free
            mean = requests_needed(means, which, runs, live * ratio).mean()
            share = mean / (live * ratio)
            print(f"{name:<28} {which:<6} {mean:>9,.0f} {live:>10,.0f} {ratio:>14.2f} {share:>14.2f}")
            claims.check(share <= 1.3, f"{name}, {which}: {share:.2f} times what live plays take")
    claims.report()


def requests_needed(means: np.ndarray, which: Which, logs: int, expected: float) -> np.ndarray:
    """On logs that are made longer until they decide."""
    rng = np.random.default_rng(77)
    needed = np.zeros(logs)
    open_logs = np.arange(logs)
    would = np.zeros((logs, 0, means.size), dtype=np.bool_)
    orders = np.zeros((logs, 0, means.size), dtype=np.int16)
    while open_logs.size:
        more = max(int(4 * expected), 2 * would.shape[1])
        drawn = outcomes(means, open_logs.size * more, rng).reshape(open_logs.size, more, means.size)
        would = np.concatenate([would, drawn], axis=1)
        orders = np.concatenate([orders, in_any_order(drawn, rng)], axis=1)
        made = [log_of(of, order) for of, order in zip(would, orders, strict=True)]
        found_of_each = read_all(made, which, DELTA)
        undecided = np.array([found.option is None for found in found_of_each])
        needed[open_logs] = [found.requests for found in found_of_each]
        open_logs, would, orders = open_logs[undecided], would[undecided], orders[undecided]
    return needed


def time_of_a_log(means: np.ndarray, which: Which) -> float:
    """The characteristic time of shuffled orders: requests for one unit of evidence against the closest rival."""
    rates = np.full(means.size, 1 / means.size)
    if which == "all":  # an option is reached if all before it fail; each other is before it with the same chance u
        rates = np.array(
            [quad(lambda u, i=i: np.prod(1 - u * np.delete(means, i)), 0, 1)[0] for i in range(means.size)]
        )
    best = int(means.argmax())
    rivals = np.delete(np.arange(means.size), best)
    evidence = [pooled(means[best], means[rival], rates[best], rates[rival]) for rival in rivals]
    return float(1 / min(evidence))


def pooled(best: float, rival: float, best_rate: float, rival_rate: float) -> float:
    of_best, of_rival = pooled_kl(np.array([best]), np.array([rival]), np.array([rival_rate / best_rate]))
    return float(best_rate * of_best[0] + rival_rate * of_rival[0])


# ---------------------------------------------------------------------------------------------------------- real tables


def real() -> None:
    """Logs replayed from tables of real outcomes, in shuffled and in adaptive orders."""
    claims = Claims()
    delta, logs = 0.05, max(min(LOGS, 200), 20)
    print(f"\nlogs of 20,000 requests replayed from tables at delta {delta}, {logs} a row")
    print(f"{'table':<42} {'logger':<9} {'read':<6} {'decided':>7} {'wrong':>6}   dependence alarm")
    for case, logger in ((case, logger) for case in CASES for logger in ("shuffled", "stays")):
        for which, decided, wrong, alarmed in replayed(case.table(), logger, logs, delta):
            print(f"{case.name:<42} {logger:<9} {which:<6} {decided:>7} {wrong:>6}   {alarmed}")
            limit = share_interval(wrong, logs, confidence=0.998)[0]
            claims.check(which == "all" or limit <= delta, f"{case.name}, {logger}, {which}: {wrong} wrong")
            if which == "all":
                claims.check(alarmed >= 0.95 * logs, f"{case.name}, {logger}: {alarmed} of {logs} logs alarm")
    claims.report()


def replayed(table: lb.OutcomeTable, logger: str, logs: int, delta: float) -> Iterator[tuple[Which, int, int, int]]:
    """For each way to read: logs decided, decided wrongly, and with an alarm of dependence."""
    best = int(table.means.argmax())
    counts: dict[Which, list[int]] = {"first": [0, 0], "duels": [0, 0], "all": [0, 0]}
    alarmed = 0
    for start in range(0, logs, REPLAYED_AT_ONCE):
        sizes = np.full(min(REPLAYED_AT_ONCE, logs - start), 20_000)
        made = made_by(logger, table, sizes, [start, 5])
        alarmed += sum(any(alarm.kind == "dependence" for alarm in watch(log)) for log in made)
        for which, count in counts.items():
            for found in read_all(made, which, delta):
                count[0] += found.option is not None
                count[1] += found.option not in {None, best}
    for which, count in counts.items():
        yield which, count[0], count[1], alarmed
