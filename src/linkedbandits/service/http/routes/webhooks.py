"""Make, list, test and remove webhooks: for admins."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from linkedbandits.service import webhook_keeping
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.received import NewWebhook
from linkedbandits.service.http.routes.documented import AFTER_A_WEBHOOK, refusals
from linkedbandits.service.http.routes.parameters import allow
from linkedbandits.service.http.sent import DeliveryOut, NewWebhookOut, WebhookList
from linkedbandits.service.http.service import Service
from linkedbandits.service.webhooks import make_webhook

WebhookId = Annotated[str, Path(max_length=64, pattern="^[0-9a-zA-Z_-]+$", examples=["wh_9f0c1d2e3a4b5c6d"])]


def webhook_routes(service: Service) -> APIRouter:
    """All of them take an admin: who may say where messages go learns what is in them."""
    router = APIRouter(
        prefix="/v1/webhooks", tags=["webhooks"], dependencies=[Depends(allow(service, "admin", of_all=True))]
    )

    @router.post("", status_code=201, responses=refusals(400, 404, 413, 415, 422) | AFTER_A_WEBHOOK)
    async def create(new: NewWebhook, request: Request) -> NewWebhookOut:
        """Tell this address what happens. The answer has the secret, which is not shown again."""
        private = service.settings.webhooks_to_private
        made = make_webhook(new.url, new.events, new.experiment, private=private, clock=time.time)
        by = request.state.caller.actor
        await asyncio.to_thread(webhook_keeping.keep, service.store, made, by)
        log_event("webhook-created", by=by.to_json(), webhook=made.id, experiment=made.experiment, events=made.events)
        return NewWebhookOut(**webhook_keeping.shown(made), deliveries=[], secret=made.secret)

    @router.get("", responses=refusals())
    async def list_webhooks() -> WebhookList:
        """All webhooks, oldest first, with the last messages to each."""
        return WebhookList.model_validate({"webhooks": await asyncio.to_thread(webhook_keeping.listed, service.store)})

    @router.post("/{webhook}/test", status_code=202, responses=refusals(404, 422))
    async def send_trial(webhook: WebhookId) -> DeliveryOut:
        """Send a message that says nothing. The list of webhooks says what came of it."""
        delivery = await asyncio.to_thread(webhook_keeping.put_trial, service.store, webhook, time.time())
        service.webhooks.look()
        return DeliveryOut(**webhook_keeping.delivery_shown(delivery))

    @router.delete("/{webhook}", status_code=204, response_class=Response, responses=refusals(404, 422))
    async def remove(webhook: WebhookId, request: Request) -> Response:
        """Send it nothing more, not even what waits."""
        by = request.state.caller.actor
        await asyncio.to_thread(webhook_keeping.remove, service.store, webhook, by, time.time())
        log_event("webhook-removed", by=by.to_json(), webhook=webhook)
        return Response(status_code=204)

    return router
