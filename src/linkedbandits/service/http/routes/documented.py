"""What the OpenAPI document says of every route's refusals, and of what can be done with an answer."""

from __future__ import annotations

from typing import Any

from linkedbandits.service.http.problems import MEDIA_TYPE
from linkedbandits.service.http.sent import Problem

_REASONS = {
    400: "The request cannot be read.",
    401: "A token is missing or not known.",
    403: "The token's role does not allow this.",
    404: "There is no such experiment.",
    409: "The experiment's state does not allow this.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "The request is not valid.",
    429: "Too many requests with this token.",
    503: "The store cannot be reached; try again.",
}
ALWAYS = (401, 403, 429, 503)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem documents that a route may answer with, besides those that every route may."""
    return {
        status: {
            "description": _REASONS[status],
            "model": Problem,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*statuses, *ALWAYS})
    }


def leads_to(status: int, **links: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """What can be done with an answer: the name of each step, and a link."""
    return {status: {"links": links}}


def link(operation: str, body: Any = None, **parameters: Any) -> dict[str, Any]:
    """An operation with parameters, and perhaps a body, out of the request or of its answer.

    An operation is named as the framework names it: the function, the path and the method.
    """
    filled: dict[str, Any] = {"operationId": operation, "parameters": parameters}
    return filled if body is None else filled | {"requestBody": body}


def _ask(experiment: str) -> dict[str, Any]:
    # With tuples the plays have no numbers of their own in the answer, and nothing could be told of them by a link.
    return link("ask_v1_experiments__experiment__ask_post", experiment=experiment, tuples=False)


def _of_an_experiment(experiment: str) -> dict[str, dict[str, Any]]:
    return {"ask": _ask(experiment)} | {
        name: link(f"{name}_v1_experiments__experiment__{rest}", experiment=experiment)
        for name, rest in {
            "read": "get",
            "view": "view_get",
            "verdict": "verdict_get",
            "estimates": "estimates_get",
            "curves": "curves_get",
            "expenses": "expenses_get",
            "keep_expenses": "expenses__source__put",
            "journal": "journal_get",
            "set_tags": "tags_put",
            "pause": "pause_post",
            "resume": "resume_post",
            "archive": "archive_post",
            "succeed_it": "successor_post",
            "delete": "delete",
        }.items()
    }


_ASKED, _FIRST = "$request.path.experiment", "$response.body#/plays/0/id"
AFTER_CREATION = leads_to(201, **_of_an_experiment("$response.body#/id"))
AFTER_ASKING = leads_to(
    200,
    tell=link(
        "tell_v1_experiments__experiment__tell_post",
        {"answers": [{"play": _FIRST, "hit": "$response.body#/plays/0/arms/0"}]},
        experiment=_ASKED,
    ),
    abandon=link("abandon_v1_experiments__experiment__abandon_post", {"plays": [_FIRST]}, experiment=_ASKED),
)
AFTER_TELLING = leads_to(
    200,
    ask=_ask(_ASKED),
    verdict=link("verdict_v1_experiments__experiment__verdict_get", experiment=_ASKED),
)
AFTER_EXPENSES = leads_to(
    200,
    expenses=link("expenses_v1_experiments__experiment__expenses_get", experiment=_ASKED),
    sources=link("sources_v1_experiments__experiment__expenses_sources_get", experiment=_ASKED),
    forget=link(
        "forget_v1_experiments__experiment__expenses__source__delete",
        experiment=_ASKED,
        source="$request.path.source",
    ),
    forget_all=link("forget_all_v1_experiments__experiment__expenses_delete", experiment=_ASKED),
)
AFTER_A_WEBHOOK = leads_to(
    201,
    test=link("send_trial_v1_webhooks__webhook__test_post", webhook="$response.body#/id"),
    remove=link("remove_v1_webhooks__webhook__delete", webhook="$response.body#/id"),
)
