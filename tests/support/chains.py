"""Options of chains to test with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

Function = Callable[..., Any]


def works_on(label: str, numbers: set[int] | frozenset[int]) -> Function:
    """An option that works on some numbers, and raises a ConnectionError on all others."""

    def option(number: int) -> str:
        if number not in numbers:
            raise ConnectionError(f"{label} fails on {number}")
        return f"{label} {number}"

    return option


def coins(means: Mapping[str, float], seed: int) -> dict[str, Function]:
    """Options that work with these chances, on a request that is a number: the same ones on each."""

    def option(place: int, mean: float) -> Function:
        def attempt(number: int) -> int:
            if random.Random(f"{seed} {place} {number}").random() >= mean:
                raise ConnectionError(f"request {number}")
            return number

        return attempt

    return {label: option(place, mean) for place, (label, mean) in enumerate(means.items())}


def failing(error: BaseException) -> Function:
    """An option that raises this."""

    def option(*_: object) -> None:
        raise error

    return option
