"""Files that cannot be read, in plain words."""

from __future__ import annotations

import pytest

from linkedbandits.lidar.file_errors import why_not


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), "there is no file {path}"),
        (PermissionError(13, "Permission denied"), "{path} may not be read by this user"),
        (OSError(5, "Input/output error"), "{path} cannot be read: Input/output error"),
        (ValueError("bad\nmore"), "{path} cannot be read: bad"),
        (EOFError(), "{path} cannot be read: it is cut short, or of another format"),
        (
            ValueError("allow_pickle=False"),
            "{path} cannot be read: it has Python objects in it, or is of another format",
        ),
    ],
)
def test_no_number_and_no_class_is_named(error, said, tmp_path):
    assert why_not(tmp_path / "a.npy", error) == said.format(path=tmp_path / "a.npy")


def test_a_folder_is_called_one(tmp_path):
    assert why_not(tmp_path, IsADirectoryError(21, "Is a directory")) == f"{tmp_path} is a folder"
