"""The envelope of a saved experiment: a format name, a version, and a checksum over the content."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from linkedbandits.errors import DamagedSave, NewerSave

FORMAT = "linkedbandits.experiment"
VERSION = 2


def seal(content: dict[str, Any]) -> str:
    """Write the content as JSON text that can be checked when it is read back."""
    return json.dumps({"format": FORMAT, "version": VERSION, "sha256": _digest(content), "content": content})


def unseal(text: str | bytes) -> tuple[int, dict[str, Any]]:
    """The version and content that :func:`seal` wrote, or an error that says what is wrong with the text."""
    try:
        envelope = json.loads(text)
    except (TypeError, ValueError) as error:
        raise DamagedSave(f"the saved experiment is not JSON ({error}); restore it from a whole copy") from error
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise DamagedSave(f"this JSON is no saved experiment; its 'format' should be {FORMAT!r}")
    version = envelope.get("version")
    if type(version) is not int or version < 1:  # `true` is an int to Python, and is no version
        raise DamagedSave(f"version {version!r} of the saved experiment makes no sense; restore a whole copy")
    if version > VERSION:
        raise NewerSave(
            f"the experiment was saved in format {version}, and this library reads up to {VERSION}; "
            "upgrade linkedbandits to open it"
        )
    content = envelope.get("content")
    if not isinstance(content, dict) or envelope.get("sha256") != _digest(content):
        raise DamagedSave("the saved experiment does not match its checksum; restore it from a whole copy")
    return version, content


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
