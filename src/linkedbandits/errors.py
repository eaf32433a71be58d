"""The library's errors: one tree, each also the built-in error its users would expect.

Messages name the value that was wrong and what to do about it.
"""


class LinkedBanditError(Exception):
    """Anything this library refuses or cannot do."""


class InvalidMeans(LinkedBanditError, ValueError):
    """A vector of means that is no bandit: too short, not finite, or outside [0, 1]."""


class InvalidParameter(LinkedBanditError, ValueError):
    """A parameter outside the range that gives it a meaning."""


class InvalidNeeds(LinkedBanditError, ValueError):
    """A request for samples that nobody could fulfil."""


class InvalidLabels(LinkedBanditError, ValueError):
    """Arm labels that could not be told apart or saved."""


class UnknownName(LinkedBanditError, KeyError):
    """A policy, linkage or scenario that does not exist under that name."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class LinkageMismatch(LinkedBanditError, ValueError):
    """A policy that asks for plays which the linkage does not allow."""


class UnknownPlay(LinkedBanditError, KeyError):
    """An answer to a play that was never asked."""

    def __str__(self) -> str:
        return str(self.args[0])


class HitNotInPlay(LinkedBanditError, ValueError):
    """An answer that names an arm which the play did not try."""


class ConflictingTell(LinkedBanditError, ValueError):
    """A second answer to a play that differs from the first."""


class ExperimentFinished(LinkedBanditError, RuntimeError):
    """A question to an experiment that has its verdict."""


class TooManyInFlight(LinkedBanditError, RuntimeError):
    """A question while as many plays are out as were allowed."""


class CannotWrite(LinkedBanditError, OSError):
    """A file that could not be written."""


class MissingExtra(LinkedBanditError, ImportError):
    """Something that needs an optional dependency which is not installed."""


class DamagedSave(LinkedBanditError, ValueError):
    """A saved experiment that cannot be read back as it was written."""


class NewerSave(LinkedBanditError, ValueError):
    """A saved experiment written by a later version of the library."""
