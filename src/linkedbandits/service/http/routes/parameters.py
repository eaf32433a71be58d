"""What routes take from a request besides its body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Header, Path, Query, Request

from linkedbandits.service.http.received import Key
from linkedbandits.service.http.service import Service
from linkedbandits.service.records import Role

ExperimentId = Annotated[str, Path(max_length=64, pattern="^[0-9a-zA-Z_-]+$", examples=["9f0c1d2e3a4b5c6d"])]
SourceName = Annotated[
    str,
    Path(
        max_length=64,
        pattern="^[0-9a-zA-Z_-]+$",
        examples=["web1-4711"],
        description="A name that no other process has, nor had.",
    ),
]
Confidence = Annotated[float, Query(ge=0.5, le=0.999999, description="That of every limit.")]
IdempotencyKey = Annotated[Key | None, Header(description="Like the field key of the body, which goes before it.")]
LastEventId = Annotated[
    int | None, Header(ge=0, le=2**62, description="The id of the last event seen: history after it is sent.")
]


def allow(service: Service, role: Role) -> Callable[[Request], Awaitable[None]]:
    """Admit only callers who have at least this role; who it was is in ``request.state.caller``."""

    async def check(request: Request) -> None:
        request.state.caller = await service.guard.admit(request.headers, role)

    return check
