"""The form of a saved experiment.

The envelope has a format name, a version, and a checksum over the content, which has what every part gives and takes
itself (:class:`Saved`), the labels and the answers. It says which version of the library wrote it and what its policy
asks, so that a version whose policy asks otherwise begins anew with the evidence that there was.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from linkedbandits.errors import DamagedSave, LinkedBanditError
from linkedbandits.linkage import Linkage, fulfil
from linkedbandits.loop import play_on
from linkedbandits.model import COUNT_LIMIT, BoolArray, Counts, Needs, Request
from linkedbandits.policy import AnyPolicy, LaneState
from linkedbandits.world import OneLane

FORMAT = "linkedbandits.experiment"
VERSION = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""What makes the content of a format into that of the next, for every format before this one."""

REQUESTS_COMPARED = 60
"""How many requests in a row are compared to tell a policy from one that asks otherwise."""
ARMS_COMPARED = 8


class Saved:
    """A class whose attributes in ``_saved`` are saved under their names: whole numbers, marks, lists and arrays."""

    _saved: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """These attributes, ready for ``json.dumps``."""
        values = {name.lstrip("_"): getattr(self, name) for name in self._saved}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}

    def fill(self, data: dict[str, Any]) -> None:
        """Give them the values that were saved; arrays keep the type that they have."""
        for name in self._saved:
            value, now = data[name.lstrip("_")], getattr(self, name)
            setattr(self, name, np.array(value, dtype=now.dtype) if isinstance(now, np.ndarray) else value)


def seal(content: dict[str, Any]) -> str:
    """Write the content as JSON text that can be checked when it is read back."""
    return json.dumps({"format": FORMAT, "version": VERSION, "sha256": _digest(content), "content": content})


def unseal(text: str | bytes) -> dict[str, Any]:
    """The content that :func:`seal` wrote, or an error that says what is wrong with the text."""
    try:
        envelope = json.loads(text)
    except (TypeError, ValueError) as error:
        raise DamagedSave(f"the saved experiment is not JSON ({error}); restore it from a whole copy") from error
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise DamagedSave(f"this JSON is no saved experiment; its 'format' should be {FORMAT!r}")
    content = envelope.get("content")
    version = check_version(envelope.get("version"), content)
    if not isinstance(content, dict) or envelope.get("sha256") != _digest(content):
        raise DamagedSave("the saved experiment does not match its checksum; restore it from a whole copy")
    return upgraded(content, version)


def check_version(version: object, content: object) -> int:
    """The number of the format; an error if that makes no sense, or is later than this version's."""
    if type(version) is not int or version < 1:  # `true` is an int to Python, and is no version
        raise DamagedSave(f"version {version!r} of the saved experiment makes no sense; restore a whole copy")
    if version > VERSION:
        remedy = "upgrade linkedbandits"
        match content:
            case {"written_by": {"version": str(wrote)}} if re.fullmatch(r"[0-9]+\.[0-9a-z.+]{1,40}", wrote):
                remedy = f"upgrade linkedbandits to {wrote} or later"
        raise DamagedSave(
            f"the experiment was saved in format {version}, and this library reads up to {VERSION}; "
            f"{remedy} to open it",
            reason="newer_save",
        )
    return version


def upgraded(content: dict[str, Any], version: int) -> dict[str, Any]:
    """The content of an earlier format in that of this version."""
    for earlier in range(version, VERSION):
        content = UPGRADES[earlier](content)
    return content


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def asks_digest(policy: AnyPolicy, linkage: Linkage, arms: int) -> str:
    """What tells a policy from one of the same name and parameters that asks otherwise: a later version of it.

    Both are led through the same made-up outcomes, with few arms, and what they ask for is compared. A difference that
    shows later, or on other outcomes alone, is not seen: between two versions it takes the outcomes that there were.
    """
    try:
        hash((policy, linkage))
    except TypeError:  # a user's own policy or linkage, which has no hash
        return _lead_through(policy, linkage, arms)
    return _remembered(policy, linkage, arms)  # type: ignore[arg-type]


def _lead_through(policy: AnyPolicy, linkage: Linkage, arms: int) -> str:
    seen = hashlib.sha256()
    steps = 0
    try:
        few, state = _start_with_few(policy, arms)
        world = _MadeUp(few)

        def answer(request: Request) -> Counts:
            asked = (request.samples,) if isinstance(request, Needs) else (request.order, request.times)
            for amounts in asked:
                seen.update(amounts.astype("<i8").tobytes())
            return fulfil(request, np.array([COUNT_LIMIT]), few, linkage, world).counts

        def goes_on() -> bool:
            nonlocal steps
            steps += 1
            seen.update(state.still_in.tobytes() + state.stopped.tobytes())
            return not state.stopped[0] and steps < REQUESTS_COMPARED

        play_on(policy, state, answer, goes_on)
    except Exception as error:  # a policy that fails on made-up outcomes must not keep an experiment from being saved
        seen.update(type(error).__name__.encode())
    return seen.hexdigest()[:16]


_remembered = lru_cache(maxsize=256)(_lead_through)


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


def pack_marks(marks: BoolArray) -> str:
    """An array of marks in printable characters, eight marks a byte."""
    return base64.b64encode(np.packbits(marks).tobytes()).decode("ascii")


def unpack_marks(text: str, count: int) -> BoolArray:
    """So many marks that :func:`pack_marks` packed, one after the other."""
    packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    return np.unpackbits(packed, count=count).astype(np.bool_)


def pack_numbers(numbers: array[int]) -> str:
    """Whole numbers, packed into printable characters."""
    return base64.b64encode(compress(numbers)).decode("ascii")


def unpack_numbers(text: str) -> array[int]:
    """What :func:`pack_numbers` packed."""
    return decompress([base64.b64decode(text, validate=True)])


def compress(numbers: array[int], effort: int = -1) -> bytes:
    """Whole numbers of four bytes, in the same byte order on all machines."""
    return zlib.compress(np.array(numbers, dtype="<i4").tobytes(), effort)


def decompress(packed: Iterable[bytes]) -> array[int]:
    """What :func:`compress` made of one array, in one piece or several."""
    parts = b"".join(map(zlib.decompress, packed))
    return array("i", np.frombuffer(parts, dtype="<i4").astype(np.intc).tobytes())
