"""How servers write to each other: commands for experiments that another server owns, and what came of each.

Both go in batches, as one request and its answer. Commands are a JSON list, each with the name of the request that it
came with, so that the logs of both servers speak of the same one. Outcomes come in any order, as they are
ready, each behind a line with the number of its command, its kind, its status and its length: most of them are answers
to callers, which are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

from pydantic_core import from_json, to_json

from linkedbandits.errors import LinkedBanditError, UnexpectedAnswer
from linkedbandits.model import Label
from linkedbandits.service.http.request_ids import current_request_id
from linkedbandits.service.problem_types import error_for, type_of

PATH = "/internal/v1/commands"
"""Where a server takes them. Another form of them gets another path: a server of another version then refuses them."""
MOST_BYTES = 4_000_000
"""Of the commands in one batch, but for one that is larger by itself."""
MOST_COMMANDS = 1_000

_PARTS = ("detail", "on_record", "retry_after", "status")
"""What errors say besides their message, and problem documents and their headers with them."""

Looking = Literal["estimates", "verdict", "view", "state"]


class Kind(IntEnum):
    """What came of a command: an answer, a problem document, an error to be raised, or that it is not known here."""

    ANSWER = 0
    PROBLEM = 1
    ERROR = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a command."""

    kind: Kind
    status: int
    body: bytes

    @classmethod
    def of(cls, error: LinkedBanditError) -> Outcome:
        """The error, to be raised where the request came in."""
        parts = {name: value for name, value in vars(error).items() if name in _PARTS}
        return cls(Kind.ERROR, 0, to_json([type_of(error), str(error), parts]))

    def error(self) -> LinkedBanditError:
        """The error that it has."""
        kind, message, parts = from_json(self.body)
        error = error_for(kind, message) or UnexpectedAnswer(message)
        for name, value in parts.items():
            setattr(error, name, value)
        return error


def ask(experiment: str, count: int, key: str | None, tuples_once: bool) -> bytes:
    """Hand out plays, each with its arms, or equal tuples of them once."""
    return _written("ask", experiment, count, key, tuples_once)


def tell(experiment: str, answers: Sequence[tuple[int, Label | None]], instance: str) -> bytes:
    """Take in answers; problems with them are about the path ``instance``."""
    return _written("tell", experiment, answers, instance)


def abandon(experiment: str, plays: Sequence[int], unused: bool) -> bytes:
    """Give plays up."""
    return _written("abandon", experiment, plays, unused)


def expenses(experiment: str, source: str, report: str) -> bytes:
    """Keep what a source tells, as JSON."""
    return _written("expenses", experiment, source, report)


def look(experiment: str, what: Looking) -> bytes:
    """Say what is known of an experiment."""
    return _written(what, experiment)


def _written(verb: str, experiment: str, *needs: Any) -> bytes:
    return to_json((current_request_id(), verb, experiment, *needs))


def write_batch(commands: Sequence[bytes]) -> bytes:
    """Commands as the body of a request."""
    return b"[" + b",".join(commands) + b"]"


def read_batch(body: bytes) -> list[list[Any]]:
    """The commands in the body of a request: a caller's request, a verb, an experiment, what the verb needs."""
    batch: list[list[Any]] = from_json(body)
    return batch


def write_outcome(number: int, outcome: Outcome) -> bytes:
    """The outcome of one command."""
    return b"%d %d %d %d\n%b" % (number, outcome.kind, outcome.status, len(outcome.body), outcome.body)


class OutcomeReader:
    """Outcomes from bytes that come in pieces."""

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, data: bytes) -> Iterator[tuple[int, Outcome]]:
        """Those that are complete with this piece, each with the number of its command."""
        pending, at = self._pending + data if self._pending else data, 0
        while (end := pending.find(b"\n", at)) >= 0:
            number, kind, status, length = map(int, pending[at:end].split())
            if len(pending) < end + 1 + length:
                break
            at = end + 1 + length
            yield number, Outcome(Kind(kind), status, pending[end + 1 : at])
        self._pending = pending[at:]
