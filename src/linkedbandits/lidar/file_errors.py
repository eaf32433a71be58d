"""Why a file cannot be read, in plain words."""

from __future__ import annotations

from pathlib import Path


def why_not(path: Path, error: Exception) -> str:
    """What is wrong with a file, as people say it: no numbers of the system's errors, no names of classes.

    >>> why_not(Path("absent.npy"), FileNotFoundError(2, "No such file or directory", "absent.npy"))
    'there is no file absent.npy'
    >>> why_not(Path("wall.npy"), ValueError("Cannot load file containing pickled data when allow_pickle=False"))
    'wall.npy cannot be read: it has Python objects in it, or is of another format'
    """
    if isinstance(error, FileNotFoundError):
        return f"there is no file {path}"
    if path.is_dir():
        return f"{path} is a folder"
    if isinstance(error, PermissionError):
        return f"{path} may not be read by this user"
    said = (str(error).splitlines() or [""])[0].strip()
    if isinstance(error, OSError) and error.strerror:
        said = error.strerror
    elif "allow_pickle" in said:
        said = "it has Python objects in it, or is of another format"
    return f"{path} cannot be read: {said or 'it is cut short, or of another format'}"
