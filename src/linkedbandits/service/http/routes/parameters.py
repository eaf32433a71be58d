"""What routes take from a request besides its body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Header, Path, Query, Request

from linkedbandits.errors import AccessDenied
from linkedbandits.service.http.limits import LONGEST_NAME
from linkedbandits.service.http.received import Key
from linkedbandits.service.http.service import Service
from linkedbandits.service.listing import A_PAGE, Order, StatusFilter
from linkedbandits.service.records import Role
from linkedbandits.service.tags import LONGEST_TAG

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
TuplesOnce = Annotated[
    bool, Query(description="Send the arms of equal plays once: much less, where plays have many arms.")
]
LastEventId = Annotated[
    int | None, Header(ge=0, le=2**62, description="The id of the last event seen: history after it is sent.")
]

Search = Annotated[
    str,
    Query(
        max_length=LONGEST_NAME,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="Words, each of which has to be in the name or a tag, or begin the identifier.",
    ),
]
ListedStatus = Annotated[
    StatusFilter | None,
    Query(description="Only those in this state; `open` run and have no verdict, `decided` have one."),
]
ListedTag = Annotated[str | None, Query(max_length=LONGEST_TAG, description="Only those with this tag.")]
Sort = Annotated[Order, Query(description="By what; with a minus from the end. Archived ones come last on pages.")]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000, description=f"Pages have {A_PAGE} experiments.")]


def allow(
    service: Service, role: Role, *, of_all: bool = False, patient: bool = True
) -> Callable[[Request], Awaitable[None]]:
    """Admit only callers who have at least this role; who it was is in ``request.state.caller``.

    An experiment in the path that the caller's token does not cover is not there. With ``of_all`` the route is about
    all experiments, and a limited token does not do. Who is not ``patient`` does not wait for the store: a token that
    is known is believed.
    """

    async def check(request: Request) -> None:
        admitted = service.guard.admit(request.headers, role, _client(request), patient=patient)
        caller = request.state.caller = await admitted
        if of_all and caller.scope.limited:
            note_limited(service, request)
            raise AccessDenied("this is about all experiments; it takes a token that is not limited to some")
        experiment = request.path_params.get("experiment")
        if experiment is not None:
            await service.visibility.check(caller.scope, experiment)

    return check


def note_limited(service: Service, request: Request) -> None:
    """Count what a limited token is refused."""
    service.guard.refused("token too limited", request.headers, _client(request))


def _client(request: Request) -> str | None:
    return None if request.client is None else request.client.host
