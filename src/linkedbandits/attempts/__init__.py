"""Logs of attempts: reading them, what they decide, and alarms for what that needs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkedbandits.attempts.attempts import Attempts
    from linkedbandits.attempts.reading import read_attempts
    from linkedbandits.attempts.set_aside import SetAside
else:
    # Experiments keep their answers in such a log, and most of them never read one from a file.
    _HOME = {"Attempts": "attempts", "read_attempts": "reading", "SetAside": "set_aside"}

    def __getattr__(name):
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return globals()[name]


__all__ = ["Attempts", "SetAside", "read_attempts"]
