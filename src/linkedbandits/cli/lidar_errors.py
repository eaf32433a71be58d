"""Errors of the library in the words of the command line: options instead of Python's parameters, and its units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from linkedbandits.errors import LinkedBanditError

OPTIONS = {
    "kind": "--capture",
    "unit": "--pulse-unit",
    "step": "--pulse-step",
    "acquisition": "--method",
}
"""Parameters that are called something else than their option; all others have its name, with a line below."""
SAME = (
    *("cycles", "merge", "opens", "axes", "shape", "bins", "period", "channel", "background_cycles", "mode", "array"),
    *("fwhm", "pulse", "pulse_unit", "pulse_step", "signal", "delta", "tolerance", "engine", "workers", "size", "seed"),
    *("ambient", "dark", "reach", "afterpulsing", "gates", "strongest", "likely", "field_of_view", "estimator"),
)
SCALED = {
    "seconds": ("--microseconds", 1e6, ""),
    "dead_time": ("--dead-time", 1e9, ""),
    "rise": ("--rise", 1e9, ""),
    "afterpulse_time": ("--afterpulse-time", 1e9, ""),
    "jitter": ("--jitter", 1e12, ""),
    "bin_seconds": ("--bin-width", 1e12, "ps"),
    "zero_seconds": ("--zero", 1e9, "ns"),
}
"""Parameters in seconds, and what their options are in."""
_PHRASES = {
    "unknown acquisition ": "unknown --method ",
    "unknown estimator ": "unknown --estimator ",
    "unknown engine ": "unknown --engine ",
    "unknown mode ": "unknown --mode ",
    "unknown scene ": "unknown --scene ",
    "unknown capture ": "unknown --capture ",
    "unknown unit ": "unknown --unit ",
    "give a file": "give --file FILE",
    "leave kind out": "leave --capture out",
    "gates '": "--gates '",
    "first_bin and last_bin": "--first-bin and --last-bin",
    "give one, as an int": "give one",
    "give seconds, such as 2e-9": "give nanoseconds, as --gates windows:2",
    "give no more than bins": "give fewer, as --gates suffix:20",
    "a dead_time of five times the afterpulse_time": "a --dead-time of five times the --afterpulse-time",
    "set the sensor's rise and afterpulsing to 0": "leave out --rise and --afterpulsing",
    "set the sensor's afterpulsing to 0": "leave out --afterpulsing",
    "gates that may open anywhere": "leave out --gates",
    "give cycles alone": "give --cycles alone",
    'run with fewer workers; in a script, capture under if __name__ == "__main__":': "give fewer --workers",
}
_WITH_OPTION = re.compile(r"\b\w+=[^\s,;()]+ \((--[^()]+)\)")
_ENGINE = re.compile(r'\bengine="(\w+)"(?: or "(\w+)")?')
_NUMBER = r"([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan))"


def in_options(said: str) -> str:
    """What the library says, as somebody at the command line would.

    >>> in_options("wall.npy does not say how wide its bins are; give bin_seconds=55e-12 (--bin-width 55ps)")
    'wall.npy does not say how wide its bins are; give --bin-width 55ps'
    >>> in_options('engine="gpu" simulates pulse; use engine="compiled" or "numpy"')
    '--engine gpu simulates pulse; use --engine compiled or numpy'
    >>> in_options("signal=0.0 is not in (0, 1e+06]; give a number that is")
    '--signal 0.0 is not in (0, 1e+06]; give a number that is'
    >>> in_options("seconds=3e-05 is nothing to it")
    '--microseconds 30 is nothing to it'
    """
    said = _WITH_OPTION.sub(r"\1", said)
    said = _ENGINE.sub(lambda found: f"--engine {found[1]}" + (f" or {found[2]}" if found[2] else ""), said)
    said = re.sub(r" \(--engine \w+\)", "", said)
    for words, others in _PHRASES.items():
        said = said.replace(words, others)
    for name, (option, scale, unit) in SCALED.items():
        pattern = re.compile(rf"(?<![\w-]){name}={_NUMBER}(?: s\b)?")
        said = pattern.sub(partial(_scaled, option, scale, unit), said)
    for name in (*SAME, *OPTIONS):
        said = re.sub(rf"(?<![\w-]){name}=", f"{OPTIONS.get(name) or '--' + name.replace('_', '-')} ", said)
    return re.sub(r"(?<!\S)(--[a-z-]+)=", r"\1 ", said)  # options were checked by their own names


def _scaled(option: str, scale: float, unit: str, found: re.Match[str]) -> str:
    return f"{option} {scale * float(found[1]):g}{unit}"


@contextmanager
def said_in_options() -> Iterator[None]:
    """Within this, errors of the library name options."""
    try:
        yield
    except LinkedBanditError as error:
        said = in_options(str(error))
        if said == str(error):
            raise
        raise type(error)(said) from error
