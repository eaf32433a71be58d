"""One tree of errors, without dead entries."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits import errors
from linkedbandits.testing import PolicyCheckFailed, StoreCheckFailed

BUILT_IN = {
    lb.InvalidMeans: ValueError,
    lb.InvalidParameter: ValueError,
    lb.InvalidNeeds: ValueError,
    lb.InvalidLabels: ValueError,
    lb.UnknownName: KeyError,
    lb.LinkageMismatch: ValueError,
    lb.UnknownPlay: KeyError,
    lb.UnknownWebhook: KeyError,
    lb.HitNotInPlay: ValueError,
    lb.ConflictingTell: ValueError,
    lb.ExperimentFinished: RuntimeError,
    lb.CannotRead: OSError,
    lb.CannotWrite: OSError,
    lb.TooManyInFlight: RuntimeError,
    lb.MissingExtra: ImportError,
    lb.DamagedSave: ValueError,
    lb.NewerSave: ValueError,
    lb.UnknownExperiment: KeyError,
    lb.ExperimentPaused: RuntimeError,
    lb.ExperimentArchived: RuntimeError,
    lb.ExperimentNotArchived: RuntimeError,
    lb.KeyReused: ValueError,
    lb.StoreUnavailable: OSError,
    lb.DamagedRecord: RuntimeError,
    lb.JournalMismatch: RuntimeError,
    lb.MissingToken: PermissionError,
    lb.AccessDenied: PermissionError,
    lb.RequestTooLarge: ValueError,
    lb.TooManyRequests: RuntimeError,
    lb.ServiceUnavailable: ConnectionError,
    lb.UnexpectedAnswer: RuntimeError,
    lb.InvalidAttempts: ValueError,
    lb.ChainFailed: RuntimeError,
    lb.AttemptTimedOut: TimeoutError,
    lb.ValueRejected: ValueError,
    lb.InvalidStudy: ValueError,
    lb.ResultsMismatch: ValueError,
    lb.ResultsInUse: RuntimeError,
    lb.DamagedResults: ValueError,
    lb.EngineFailure: RuntimeError,
    PolicyCheckFailed: AssertionError,
    StoreCheckFailed: AssertionError,
}


@pytest.mark.parametrize(("error", "built_in"), BUILT_IN.items(), ids=lambda error: error.__name__)
def test_every_error_is_ours_and_the_one_its_users_expect(error, built_in):
    assert issubclass(error, lb.LinkedBanditError)
    assert issubclass(error, built_in)
    assert str(error("means and remedy")) == "means and remedy"  # a KeyError would add quotes


def test_the_tree_is_whole_and_exported():
    defined = {error for _, error in inspect.getmembers(errors, inspect.isclass)}
    assert defined == set(BUILT_IN) - {PolicyCheckFailed, StoreCheckFailed} | {lb.LinkedBanditError}
    assert {error.__name__ for error in defined} <= set(lb.__all__)


def test_every_error_is_raised_somewhere():
    package = Path(lb.__file__).parent
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    raised = set(re.findall(r"raise (\w+)", source))
    assert {error.__name__ for error in BUILT_IN} <= raised
