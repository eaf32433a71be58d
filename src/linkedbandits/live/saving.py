"""The form of a saved experiment, and the forms that it had before.

The envelope has a format name, a version, and a checksum over the content. The content is what
:meth:`Run.content <linkedbandits.live.run.Run.content>` gives, with the labels and the answers: every part gives and
takes its own, in its present form. What it was in earlier versions is known here alone. Each version of it can be
turned into the next, so that whatever was ever saved can be read.

- Format 1 spelled out the arms of every play that was out or given up, and did not keep late samples apart.
- Format 2 has tuples in tables, and plays by number.
- Format 3 says which version of the library wrote it and what its policy asks, and has the tuple of every play. So if
  the policy asks otherwise in a later version, what was played is a log for it.
- Format 4 has the log that an experiment began with, if there was one.
- Format 5 says whether plays are whole chains, with the record of those, what an experiment goes on from, and what was
  foreseen of the policy's next requests.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from array import array
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from linkedbandits.errors import DamagedSave, LinkedBanditError, NewerSave
from linkedbandits.linkage import LINKAGES, Linkage, fulfil
from linkedbandits.live.answer_log import GIVEN_UP, NO_HIT, NOT_KEPT, AnswerLog, TupleTable, pack_numbers
from linkedbandits.live.spares import pack_marks
from linkedbandits.model import COUNT_LIMIT, Needs
from linkedbandits.policies import make_policy
from linkedbandits.policy import AnyPolicy, LaneState
from linkedbandits.world import OneLane

FORMAT = "linkedbandits.experiment"
VERSION = 5

REQUESTS_COMPARED = 60
"""How many requests in a row are compared to tell a policy from one that asks otherwise."""
ARMS_COMPARED = 8

ASKED_IN_FORMAT_2: dict[str, list[tuple[dict[str, Any], str]]] = {
    "linked-elimination": [
        ({"delta": 0.1}, "9132814862a02787"),
        ({"delta": 0.1, "k": 2}, "7f9d3ea2acdeabea"),
        ({"delta": 0.1, "epsilon": 0.1}, "23a58a45d7d8846a"),
        ({"delta": 0.1, "neighbours": 1}, "9132814862a02787"),
    ],
    "linked-track-and-stop": [
        ({"delta": 0.1}, "ba2cf9fb606dcaf2"),
    ],
    "linked-halving": [
        ({"plays": 60}, "372a909e3dc8dd3f"),
        ({"plays": 60, "neighbours": 1}, "372a909e3dc8dd3f"),
    ],
    "maximal-sampling": [
        ({"delta": 0.1}, "667e3ce198089417"),
        ({"delta": 0.1, "calibration": "plain"}, "5452e7942aaed5a3"),
        ({"plays": 60}, "be1d1631ae7b622e"),
    ],
    "uniform-sampling": [
        ({"delta": 0.1}, "9df5961515064696"),
        ({"samples": 40}, "e18814546902cec6"),
    ],
    "linked-ege": [
        ({"delta": 0.1, "gap": 0.3}, "6c0a05b3fc540a08"),
        ({"delta": 0.1}, "916126fa124f6899"),
        ({"delta": 0.1, "gap": 0.3, "median": "fresh"}, "dffdbaed19a65def"),
    ],
    "median-elimination": [
        ({"epsilon": 0.5, "delta": 0.1}, "09fb18db91b0efe8"),
    ],
    "lil-ucb": [
        ({"delta": 0.1}, "f3cd0801a0dc5d2b"),
    ],
    "suffix-ucb": [
        ({"delta": 0.1}, "e1134260f7974677"),
    ],
    "cascade-bai": [
        ({"delta": 0.1, "k": 1}, "365196a0487861b6"),
        ({"delta": 0.1, "k": 2}, "93a7247e38e1be95"),
    ],
}
"""What the policies asked when formats 1 and 2 were written, which do not say it themselves: some of each, and digests.

They were taken down from the library of that time, and never change.
"""


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
    content = envelope.get("content")
    version = _checked_version(envelope.get("version"), content)
    if not isinstance(content, dict) or envelope.get("sha256") != _digest(content):
        raise DamagedSave("the saved experiment does not match its checksum; restore it from a whole copy")
    return version, content


def snapshot_of(content: dict[str, Any]) -> dict[str, Any]:
    """The content as a snapshot has it: with the format, which stands in the envelope of a save."""
    return {"format": VERSION, **content}


def _checked_version(version: Any, content: Any) -> int:
    if type(version) is not int or version < 1:  # `true` is an int to Python, and is no version
        raise DamagedSave(f"version {version!r} of the saved experiment makes no sense; restore a whole copy")
    if version > VERSION:
        raise NewerSave(
            f"the experiment was saved in format {version}, and this library reads up to {VERSION}; "
            f"{_remedy(content)} to open it"
        )
    return version


def _remedy(newer: Any) -> str:
    """What to install, if the content of a later format says as format 3 does what wrote it."""
    match newer:
        case {"written_by": {"version": str(wrote)}} if re.fullmatch(r"[0-9]+\.[0-9a-z.+]{1,40}", wrote):
            return f"upgrade linkedbandits to {wrote} or later"
    return "upgrade linkedbandits"


def upgraded(version: int, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a save in an earlier format, as it would be saved now."""
    for upgrade in (_from_1_to_2, _from_2_to_3, _from_3_to_4, _from_4_to_5)[version - 1 :]:
        content = upgrade(content)
    return content


def upgraded_snapshot(content: dict[str, Any]) -> dict[str, Any]:
    """The same for a snapshot, which has its format in it; those of formats 2 and 3 may be without."""
    version = content.get("format", 3 if "written_by" in content else 2)
    return upgraded(_checked_version(version, content), content)


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


def _from_2_to_3(content: dict[str, Any]) -> dict[str, Any]:
    new = {**content, "written_by": {"version": None, "asks": None}, "upgrade": None, "log": None}
    if "needs" in content["request"]:
        new["request"] = {**content["request"], "whole": False}  # no linkage had plans of whole plays
    if "answers" in content:
        numbers = array("i", [NOT_KEPT] * len(AnswerLog.from_text(content["answers"])))
        for play, number, *_ in content["tickets"]:
            numbers[play] = number
        new["answers_to"] = {"numbers": pack_numbers(numbers), "table": content["tuples"]}
    return new


def _from_3_to_4(content: dict[str, Any]) -> dict[str, Any]:
    return {"warm": None, **content}


def _from_4_to_5(content: dict[str, Any]) -> dict[str, Any]:
    nothing_ahead = {"plan": None, "horizon": None, "nearly": False, "next_look": 0}
    new = {"whole_chains": False, "chains": None, "before": None, "ahead": nothing_ahead, **content}
    if "spares" in content:  # whose age was counted in spare plays
        spares = {key: value for key, value in content["spares"].items() if key not in ("handed_out", "numbers")}
        new["spares"] = {**spares, "requests": 0, "since": [0] * len(spares["plays"])}
    return new


def asks_digest(policy: AnyPolicy, linkage: Linkage, arms: int) -> str:
    """What tells a policy from one of the same name and parameters that asks otherwise: a later version of it.

    Both are led through the same made-up outcomes, with few arms, and what they ask for is compared. A difference that
    shows later, or on other outcomes alone, is not seen: between two versions it takes the outcomes that there were.
    """
    try:
        hash((policy, linkage))
    except TypeError:  # a user's own policy or linkage, which has no hash
        return _lead_through(policy, linkage, arms)
    return _digest_of(policy, linkage, arms, _constants(type(policy)))  # type: ignore[arg-type]


def asks_as_in_format_2(policy: AnyPolicy) -> bool:
    """Do the policies of this kind ask what they did then? One that the library does not ship is believed to."""

    def asks_now(parameters: dict[str, Any]) -> str:
        one = make_policy(policy.name, parameters)
        linkage = next(linkage for linkage in LINKAGES.values() if linkage.allows(one.asks))
        return asks_digest(one.fitted_to(linkage, None), linkage, arms=4)

    return all(asks_now(parameters) == asked for parameters, asked in ASKED_IN_FORMAT_2.get(policy.name, ()))


@lru_cache(maxsize=256)
def _digest_of(policy: AnyPolicy, linkage: Linkage, arms: int, constants: tuple[tuple[str, float], ...]) -> str:
    """Remembered as long as the policy is the same, down to the constants of its modules."""
    return _lead_through(policy, linkage, arms)


def _constants(kind: type) -> tuple[tuple[str, float], ...]:
    """The numbers that modules give names to: those of a class and its bases, and those of the library."""
    loaded = sys.modules.copy()  # another thread may import meanwhile
    own = {base.__module__ for base in kind.__mro__ if base.__module__ not in ("builtins", "abc")}
    modules = sorted(name for name in loaded if name in own or name.startswith("linkedbandits."))
    found: list[tuple[str, float]] = []
    for module in modules:
        names = vars(loaded[module]).copy()
        of_the_library = module.startswith("linkedbandits.")  # whose constants are numbers from the beginning
        looked_at = _names_of_numbers(loaded[module], len(names)) if of_the_library else tuple(names)
        found += [(name, names[name]) for name in looked_at if type(names.get(name)) in (int, float)]
    return tuple(found)


@lru_cache(maxsize=1024)
def _names_of_numbers(module: ModuleType, _names: int) -> tuple[str, ...]:
    """Looked for anew when a module has more names or fewer, as while it is imported: looking takes most of a load."""
    return tuple(name for name, value in vars(module).copy().items() if type(value) in (int, float))


def _lead_through(policy: AnyPolicy, linkage: Linkage, arms: int) -> str:
    seen = hashlib.sha256()
    try:
        few, state = _start_with_few(policy, arms)
        world = _MadeUp(few)
        for _ in range(REQUESTS_COMPARED):
            request = policy.request(state)
            asked = (request.samples,) if isinstance(request, Needs) else (request.order, request.times)
            for amounts in asked:
                seen.update(amounts.astype("<i8").tobytes())
            policy.observe(state, fulfil(request, np.array([COUNT_LIMIT]), few, linkage, world).counts)
            seen.update(state.still_in.tobytes() + state.stopped.tobytes())
            if state.stopped[0]:
                break
    except (
        Exception
    ) as error:  # a policy that cannot be led through everything must not stop an experiment from being saved
        seen.update(type(error).__name__.encode())
    return seen.hexdigest()[:16]


def _start_with_few(policy: AnyPolicy, arms: int) -> tuple[int, LaneState]:
    seeds = np.zeros(1, dtype=np.uint64)
    few = min(arms, ARMS_COMPARED)
    try:
        return few, policy.start(1, few, seeds)
    except LinkedBanditError:  # fewer arms than it looks for
        return arms, policy.start(1, arms, seeds)


class _MadeUp(OneLane):
    """A world in which every arm keeps as near to its mean as whole numbers can."""

    def __init__(self, arms: int) -> None:
        self._means = 0.35 + 0.1 * np.arange(arms) / arms
        self._seen = np.zeros(arms)

    def successes_in_next(self, arm: int, count: int) -> int:
        """Without chance."""
        before = np.floor(self._seen[arm] * self._means[arm])
        self._seen[arm] += count
        return min(int(np.floor(self._seen[arm] * self._means[arm]) - before), count)


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()
