"""Logs of attempts: reading them, what they decide, and alarms for what that needs."""

from linkedbandits.attempts.attempts import Attempts
from linkedbandits.attempts.reading import read_attempts
from linkedbandits.attempts.set_aside import SetAside

__all__ = ["Attempts", "SetAside", "read_attempts"]
