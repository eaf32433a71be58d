"""The form of a saved experiment, and the forms that it had before.

The envelope has a format name, a version, and a checksum over the content. The content is what
:meth:`Run.content <linkedbandits.live.run.Run.content>` gives, with the labels and the answers. Each version of it can
be turned into the next, so that whatever was ever saved can be read.

- Format 1 spelled out the arms of every play that was out or given up, and did not keep late samples apart.
- Format 2 has tuples in tables, and plays by number.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from linkedbandits.errors import DamagedSave, NewerSave
from linkedbandits.live.answer_log import GIVEN_UP, NO_HIT, AnswerLog, TupleTable
from linkedbandits.live.spares import pack_marks

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


def upgraded(version: int, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a save in an earlier format, as it would be saved now."""
    for upgrade in (_from_1_to_2,)[version - 1 :]:
        content = upgrade(content)
    return content


def _from_1_to_2(content: dict[str, Any]) -> dict[str, Any]:
    tuples, given_up = TupleTable(), TupleTable()
    answers = AnswerLog.from_text(content["answers"])
    tickets = []
    for play, arms, role, claimed in content["tickets"]:
        if role == "abandoned":
            answers.record(play, GIVEN_UP - given_up.number(np.array(arms)))
        else:
            tickets.append([play, tuples.number(np.array(arms)), role, claimed])
    plays = content["spares"]
    unclaimed = np.zeros((len(plays), len(content["labels"])), dtype=np.bool_)
    for row, spare in enumerate(plays):
        unclaimed[row, spare[4]] = True
    spares = {
        "handed_out": len(plays),
        "numbers": list(range(1, len(plays) + 1)),
        "plays": [play for play, *_ in plays],
        "tuples": [tuples.number(np.array(arms)) for _, arms, *_ in plays],
        "back": [reached is not None for _, _, reached, *_ in plays],
        "whole": [len(left) == len(arms[:reached]) for _, arms, reached, _, left in plays],
        "hit": [arms[reached - 1] if hit else NO_HIT for _, arms, reached, hit, _ in plays],
        "unclaimed": pack_marks(unclaimed),
    }
    return {
        **content,
        # What is in the totals of late samples stays there.
        "late_samples": [0] * len(content["labels"]),
        "late_successes": [0] * len(content["labels"]),
        "answers": answers.to_text(),
        "tickets": tickets,
        "spares": spares,
        "tuples": tuples.to_json(),
        "given_up": given_up.to_json(),
    }


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
