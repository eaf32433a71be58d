"""Structured logs: one JSON object a line. Tokens and labels have no place in them.

Every line has ``at``, ``level`` and ``event``, and the fields of the event. What would be said for every request, that
the store is away or that all are slow, is said once a minute, with how often it was not said in between.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TextIO

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.http.request_ids import current_request_id
from linkedbandits.service.store_errors import DamagedRecord

logger = logging.getLogger("linkedbandits.service")

REPEATED = frozenset(
    {
        "request-failed",
        "request-slow",
        "expiry-failed",
        "housekeeping-failed",
        "look-failed",
        "sign-of-life-failed",
        "survey-failed",
        "webhook-failed",
        "webhooks-broke",
    }
)
"""Events that every request, or every look, would write down again."""
_TOLD_APART_BY = ("method", "route", "status", "reason", "webhook")
SAID_EVERY = 60.0
MOST_REMEMBERED = 1_000
"""Different ones of them: reasons may have numbers in them."""


def log_event(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write down that something happened."""
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={"fields": fields})


def log_failure(event: str, error: Exception, *, level: int = logging.ERROR) -> None:
    """Write down what kind of error it was and where it came from.

    Why a store is away is about the store, and is what an operator needs to know. The message of another
    error may name labels.
    """
    fields = {"reason": str(error)} if isinstance(error, StoreUnavailable | DamagedRecord) else {}
    if isinstance(error, DamagedRecord) and error.__cause__ is not None:
        found = error.__cause__
        fields["found"] = str(found) if isinstance(found, DamagedRecord) else type(found).__name__
    logger.log(level, event, exc_info=error, extra={"fields": fields})


class NotForEveryRequest(logging.Filter):
    """Lets an event that requests repeat pass once a minute, for each route, webhook and reason of its own."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[object, ...], tuple[float, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Is it to be said?"""
        event = record.getMessage()
        if event not in REPEATED:
            return True
        fields = getattr(record, "fields", {})
        kind = record.exc_info[0] if record.exc_info else None
        what = (event, kind, *(fields.get(name) for name in _TOLD_APART_BY))
        now = self._clock()
        with self._lock:
            at, kept_back = self._said.get(what, (-SAID_EVERY, 0))
            if now < at + SAID_EVERY:
                self._said[what] = at, kept_back + 1
                return False
            if len(self._said) >= MOST_REMEMBERED:
                self._said.clear()
            self._said[what] = now, 0
        if kept_back:
            record.fields = {**fields, "not_said": kept_back}
        return True


class JsonLines(logging.Formatter):
    """Time, level and event, then the fields of the event; of an error, its type and where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_request(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            # The message of an error may name labels; its type and place do not.
            line["error"] = record.exc_info[0].__name__
            line["traceback"] = _places(record)
        return json.dumps(line, default=str)


def _request() -> dict[str, str]:
    """Lines of a request are written by the task, or the thread, that is at work for it."""
    identifier = current_request_id()
    return {} if identifier is None else {"request_id": identifier}


def _places(record: logging.LogRecord) -> list[str]:
    places = []
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return places


def _log_the_end_of_a_thread(ended: threading.ExceptHookArgs) -> None:
    if isinstance(ended.exc_value, Exception):
        log_failure("thread-ended", ended.exc_value)


def start_logging(stream: TextIO = sys.stderr) -> None:
    """Send the logs of the service and of its web server to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(NotForEveryRequest())
    logging.captureWarnings(True)
    threading.excepthook = _log_the_end_of_a_thread
    for name in ("linkedbandits.service", "uvicorn", "asyncio", "py.warnings"):
        target = logging.getLogger(name)
        target.handlers = [handler]
        target.propagate = False
    logger.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").handlers = []
