"""Structured logs: one JSON object a line. Tokens and labels have no place in them."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from linkedbandits.errors import StoreUnavailable

logger = logging.getLogger("linkedbandits.service")


def log_event(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write down that something happened."""
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={"fields": fields})


def log_failure(event: str, error: Exception, *, level: int = logging.ERROR) -> None:
    """Write down what kind of error it was and where it came from.

    Why a store is away is about the store, and is what an operator needs to know. The message of another
    error may name labels.
    """
    fields = {"reason": str(error)} if isinstance(error, StoreUnavailable) else {}
    logger.log(level, event, exc_info=error, extra={"fields": fields})


class JsonLines(logging.Formatter):
    """Time, level and event, then the fields of the event; of an error, its type and where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            # The message of an error may name labels; its type and place do not.
            line["error"] = record.exc_info[0].__name__
            line["traceback"] = _places(record)
        return json.dumps(line, default=str)


def _places(record: logging.LogRecord) -> list[str]:
    places = []
    trace = record.exc_info[2] if record.exc_info else None
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return places


def start_logging(stream: TextIO = sys.stderr) -> None:
    """Send the logs of the service and of its web server to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    for name in ("linkedbandits.service", "uvicorn", "asyncio"):
        target = logging.getLogger(name)
        target.handlers = [handler]
        target.propagate = False
    logger.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").handlers = []
