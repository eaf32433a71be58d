"""Playing one play at a time, the slow way, to check the fast ways against."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

Tapes = list[list[int]]
"""The outcomes that each arm's samples will have, in turn."""


def play(arms: tuple[int, ...], tapes: Tapes, used: list[int]) -> int | None:
    """Try the arms from left to right until the first success; returns the hit and moves the tapes on."""
    for arm in arms:
        outcome = tapes[arm][used[arm]]
        used[arm] += 1
        if outcome:
            return arm
    return None


def plays_for_needs(needs: list[int], tapes: Tapes) -> tuple[int, list[int]]:
    """Every play tries all arms with an unmet need, in order. Returns the plays and each arm's samples."""
    used = [0] * len(needs)
    plays = 0
    while any(seen < need for seen, need in zip(used, needs, strict=True)):
        open_arms = tuple(arm for arm in range(len(needs)) if used[arm] < needs[arm])
        play(open_arms, tapes, used)
        plays += 1
    return plays, used


def suffix_sample(arms: int, samples: int, tapes: Tapes) -> tuple[int, list[int]]:
    """The paper's SuffixSample(S, t) by its box: the suffix from arm i on, t - t_i times; then the next i."""
    used = [0] * arms
    plays = 0
    for first in range(arms):
        for _ in range(samples - used[first]):
            play(tuple(range(first, arms)), tapes, used)
            plays += 1
    return plays, used


def opened_at_the_first_unmet(needs: list[int], tapes: Tapes) -> tuple[int, list[int]]:
    """Every play is all arms from the first with an unmet need on. Returns the plays and each arm's samples."""
    used = [0] * len(needs)
    plays = 0
    while any(seen < need for seen, need in zip(used, needs, strict=True)):
        first = next(arm for arm in range(len(needs)) if used[arm] < needs[arm])
        play(tuple(range(first, len(needs))), tapes, used)
        plays += 1
    return plays, used


def subsequences(arms: int) -> list[tuple[int, ...]]:
    """All that a play may be under ``ordered``."""
    return [choice for size in range(1, arms + 1) for choice in combinations(range(arms), size)]


def suffixes(arms: int) -> list[tuple[int, ...]]:
    """All that a play may be under ``suffix``."""
    return [tuple(range(first, arms)) for first in range(arms)]


def fewest_plays(needs: list[int], tapes: Tapes, choices: list[tuple[int, ...]]) -> int:
    """The least number of plays out of these that sample every arm at least as often as needed, over all rules."""
    states = {(0,) * len(needs)}
    plays = 0
    while not any(all(u >= m for u, m in zip(state, needs, strict=True)) for state in states):
        states = {after for state in states for after in _every_next(state, tapes, choices)}
        plays += 1
    return plays


def _every_next(state: tuple[int, ...], tapes: Tapes, choices: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    for choice in choices:
        used = list(state)
        if any(used[arm] >= len(tapes[arm]) for arm in choice):
            continue
        play(choice, tapes, used)
        yield tuple(used)
