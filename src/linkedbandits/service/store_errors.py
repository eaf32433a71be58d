"""Errors about the records of a store, each told apart within the service; callers see their base and their reason."""

from __future__ import annotations

from linkedbandits.errors import DamagedSave, UnknownName


class UnknownExperiment(UnknownName):
    """An experiment that the store does not have."""

    reason = "unknown_experiment"


class DamagedRecord(DamagedSave):
    """A record that cannot be read as it was written; to try again does not help."""

    reason = "damaged_record"


class JournalMismatch(DamagedSave):
    """A journal that, replayed, does not give what it says."""

    reason = "journal_mismatch"
