"""One tree of errors, without dead entries."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits import errors
from linkedbandits.testing import PolicyCheckFailed

BUILT_IN = {
    lb.InvalidParameter: ValueError,
    lb.UnknownName: KeyError,
    lb.ConflictingTell: ValueError,
    lb.ExperimentFinished: RuntimeError,
    lb.TooManyInFlight: RuntimeError,
    lb.WrongState: RuntimeError,
    lb.ChainFailed: RuntimeError,
    lb.AttemptTimedOut: TimeoutError,
    lb.ValueRejected: ValueError,
    lb.InvalidAttempts: ValueError,
    lb.InvalidStudy: ValueError,
    lb.CannotRead: OSError,
    lb.CannotWrite: OSError,
    lb.DamagedSave: ValueError,
    lb.MissingExtra: ImportError,
    lb.EngineFailure: RuntimeError,
    lb.StoreUnavailable: OSError,
    lb.ServiceUnavailable: ConnectionError,
    lb.AccessDenied: PermissionError,
    lb.UnexpectedAnswer: RuntimeError,
    PolicyCheckFailed: AssertionError,
}


@pytest.mark.parametrize(("error", "built_in"), BUILT_IN.items(), ids=lambda error: error.__name__)
def test_every_error_is_ours_and_the_one_its_users_expect(error, built_in):
    assert issubclass(error, lb.LinkedBanditError)
    assert issubclass(error, built_in)
    assert str(error("means and remedy")) == "means and remedy"  # a KeyError would add quotes


def test_the_tree_is_whole_exported_and_raised():
    defined = {error for _, error in inspect.getmembers(errors, inspect.isclass)}
    assert defined == set(BUILT_IN) - {PolicyCheckFailed} | {lb.LinkedBanditError}
    assert {error.__name__ for error in defined} <= set(lb.__all__)
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(lb.__file__).parent.rglob("*.py"))
    assert {error.__name__ for error in BUILT_IN} <= set(re.findall(r"raise (\w+)", source))
    assert set(errors.REASONS) == set(re.findall(r'\breason ?= ?"([a-z]+_[a-z_]+)"', source))


@pytest.mark.parametrize(("reason", "kind"), errors.REASONS.items())
def test_an_error_keeps_its_reason_between_processes(reason, kind):
    error = kind("why", reason=reason)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.reason) == (kind, "why", reason)
    assert kind("why").reason is None


def test_the_parameter_to_blame_is_data():
    error = lb.InvalidParameter("delta=2 is outside (0, 1)", parameter="delta")
    assert pickle.loads(pickle.dumps(error)).parameter == "delta"
    assert lb.InvalidParameter("both").parameter is None


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
