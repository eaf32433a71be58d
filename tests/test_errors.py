"""One tree of errors, without dead entries."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits import errors
from linkedbandits.testing import PolicyCheckFailed

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
}


@pytest.mark.parametrize(("error", "built_in"), BUILT_IN.items(), ids=lambda error: error.__name__)
def test_every_error_is_ours_and_the_one_its_users_expect(error, built_in):
    assert issubclass(error, lb.LinkedBanditError)
    assert issubclass(error, built_in)
    assert str(error("means and remedy")) == "means and remedy"  # a KeyError would add quotes


def test_the_tree_is_whole_and_exported():
    defined = {error for _, error in inspect.getmembers(errors, inspect.isclass)}
    assert defined == set(BUILT_IN) - {PolicyCheckFailed} | {lb.LinkedBanditError}
    assert {error.__name__ for error in defined} <= set(lb.__all__)


def test_every_error_is_raised_somewhere():
    package = Path(lb.__file__).parent
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    raised = set(re.findall(r"raise (\w+)", source))
    assert {error.__name__ for error in BUILT_IN} <= raised


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.txt", "there is no such file or folder"),
        ("", "it is a folder"),
        ("file.txt/none.txt", "a part of its path is no folder"),
        ("file.txt", "it is no text in UTF-8"),
    ],
)
def test_why_a_file_cannot_be_read_is_said_without_numbers(tmp_path, name, said):
    (tmp_path / "file.txt").write_bytes(b"\xff")
    with pytest.raises((OSError, UnicodeDecodeError)) as refused:
        (tmp_path / name).read_text(encoding="utf-8")
    assert errors.why_not(refused.value) == said


def test_no_message_of_the_library_has_the_number_of_an_error_of_a_file():
    """What the depth commands say of their files has words of its own."""
    shown = re.compile(r"except \(?[^:]*OSError[^:]* as error:\n(?:(?!\n\n|except ).)*\{error\}", re.DOTALL)
    package = Path(errors.__file__).parent
    apart = {"lidar", "service"}
    found = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in apart and shown.search(path.read_text(encoding="utf-8"))
    ]
    assert set(found) == {"study/engines/dask.py"}  # of a network
