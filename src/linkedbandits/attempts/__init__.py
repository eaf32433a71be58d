"""Logs of attempts: reading them, what they decide, and alarms for what that needs."""

from linkedbandits.attempts.log import Attempts, SetAside
from linkedbandits.attempts.reading import read_attempts

__all__ = ["Attempts", "SetAside", "read_attempts"]
