"""What is not installed with the library itself, and is imported when it is wanted."""

from __future__ import annotations

import sys
from importlib import import_module

from linkedbandits.errors import MissingExtra
from linkedbandits.signals import take_back_signals


def need_polars(for_what: str) -> None:
    """Import polars, or say at once, rather than after an hour's work, that it is missing and how to get it."""
    brings_its_hook = "polars" not in sys.modules
    try:
        import_module("polars")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{for_what} needs polars; install it with: pip install 'linkedbandits[study]'") from error
    if brings_its_hook:
        take_back_signals()


def need_numba() -> None:
    """Import numba, or say that it is missing and how to get it."""
    try:
        import_module("numba")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "the engine compiled needs numba; install it with: pip install 'linkedbandits[compiled]'"
        ) from error
