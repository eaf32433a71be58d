"""The form of a saved experiment.

The envelope has a format name, a version, and a checksum over the content. The content is what
:meth:`Run.content <linkedbandits.live.run.Run.content>` gives, with the labels and the answers: every part gives and
takes its own. It says which version of the library wrote it and what its policy asks, so that a version whose policy
asks otherwise begins anew with the evidence that there was.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from linkedbandits.errors import DamagedSave, LinkedBanditError
from linkedbandits.linkage import Linkage, fulfil
from linkedbandits.loop import play_on
from linkedbandits.model import COUNT_LIMIT, Counts, Needs, Request
from linkedbandits.policy import AnyPolicy, LaneState
from linkedbandits.world import OneLane

FORMAT = "linkedbandits.experiment"
VERSION = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""What makes the content of a format into that of the next, for every format before this one."""

REQUESTS_COMPARED = 60
"""How many requests in a row are compared to tell a policy from one that asks otherwise."""
ARMS_COMPARED = 8


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
    _check_version(envelope.get("version"), content)
    if not isinstance(content, dict) or envelope.get("sha256") != _digest(content):
        raise DamagedSave("the saved experiment does not match its checksum; restore it from a whole copy")
    return _upgraded(content, envelope["version"])


def snapshot_of(content: dict[str, Any]) -> dict[str, Any]:
    """The content as a snapshot has it: with the format, which stands in the envelope of a save."""
    return {"format": VERSION, **content}


def content_of(snapshot: dict[str, Any]) -> dict[str, Any]:
    """The content of a snapshot, in this version's format; DamagedSave if it is of a later one."""
    version = snapshot.get("format")
    _check_version(version, snapshot)
    return _upgraded(snapshot, version)


def _upgraded(content: dict[str, Any], version: Any) -> dict[str, Any]:
    for earlier in range(version, VERSION):
        content = UPGRADES[earlier](content)
    return content


def _check_version(version: Any, content: Any) -> None:
    if type(version) is not int or version < 1:  # `true` is an int to Python, and is no version
        raise DamagedSave(f"version {version!r} of the saved experiment makes no sense; restore a whole copy")
    if version > VERSION:
        raise DamagedSave(
            f"the experiment was saved in format {version}, and this library reads up to {VERSION}; "
            f"{_remedy(content)} to open it",
            reason="newer_save",
        )


def _remedy(newer: Any) -> str:
    """What to install, if the content of a later format says as this one does what wrote it."""
    match newer:
        case {"written_by": {"version": str(wrote)}} if re.fullmatch(r"[0-9]+\.[0-9a-z.+]{1,40}", wrote):
            return f"upgrade linkedbandits to {wrote} or later"
    return "upgrade linkedbandits"


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
