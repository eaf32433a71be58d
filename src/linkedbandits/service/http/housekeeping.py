"""What a service does beside its requests: keep refused sign-ins, and erase what was deleted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any

from linkedbandits.service.deletion import Erasing
from linkedbandits.service.desk import Desk
from linkedbandits.service.http.logs import log_event, log_failure
from linkedbandits.service.http.sign_ins import RefusedSignIns

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_UNTIL_ERASING = 600.0
"""How often it is looked for what others have deleted and not erased."""
FIRST_PAUSE = 5.0
"""Where nothing can be erased, seconds until it is tried again; then twice as many each time, up to those above."""
SHARE_OF_ERASING = 1 / 3
"""Of the time, at most: between two steps requests have theirs."""


class Housekeeping:
    """One task of the event loop."""

    def __init__(self, desk: Desk, bring: Callable[[Any], Any], sign_ins: RefusedSignIns) -> None:
        self._desk = desk
        self._bring = bring
        self._sign_ins = sign_ins
        self._looks_until_erasing = 0.0
        self._pause = FIRST_PAUSE

    def erase_soon(self) -> None:
        """There is something to erase."""
        self._looks_until_erasing = 0.0

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            for look in (self.keep_refusals, self._erase):
                try:
                    await look()
                except Exception as error:  # whatever it is, it must not be the last look
                    log_failure("housekeeping-failed", error, level=logging.WARNING)
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def keep_refusals(self, at_once: bool = False) -> None:
        """Put refused sign-ins into the log and the audit."""
        taken = self._sign_ins.take(at_once)
        if taken is None:
            return
        try:
            await self._bring(self._desk.note_refusals(taken))
        except Exception:  # it is only counted again
            self._sign_ins.give_back(taken)
            raise
        log_event("sign-in-refused", level=logging.WARNING, **taken)

    async def _erase(self) -> None:
        self._looks_until_erasing -= SECONDS_BETWEEN_LOOKS
        if self._looks_until_erasing > 0:
            return
        self._looks_until_erasing = self._pause
        self._pause = min(2 * self._pause, SECONDS_UNTIL_ERASING)
        erased = await self._erase_all()
        # What another has asked for meanwhile is not put off.
        self._looks_until_erasing = SECONDS_UNTIL_ERASING if self._looks_until_erasing > 0 else 0.0
        self._pause = FIRST_PAUSE
        if erased:
            log_event("erased", rows=erased)

    async def _erase_all(self) -> int:
        """What can be erased; one that cannot be is said, and keeps nobody from erasing the others."""
        erased, erasing = 0, Erasing()
        while True:
            start, left = monotonic(), len(erasing.left)
            try:
                rows = await self._bring(self._desk.erase(erasing))
            except Exception as error:  # of one experiment; any other is raised
                if len(erasing.left) == left:
                    raise
                log_failure("erasing-failed", error, level=logging.WARNING)
            else:
                if rows == 0:
                    return erased
                erased += rows
            await asyncio.sleep((monotonic() - start) * (1 / SHARE_OF_ERASING - 1))
