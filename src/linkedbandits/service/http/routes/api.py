"""The API's description: the OpenAPI document, and a page of it at ``/docs``."""

from __future__ import annotations

import json

from fastapi import FastAPI
from starlette.responses import HTMLResponse, Response

from linkedbandits.service.http.api_page import api_page


def add_api_page(app: FastAPI) -> None:
    """Both need no token, and are made when somebody asks for them, once."""
    made: list[str] = []
    encoded: list[bytes] = []

    @app.get("/openapi.json", include_in_schema=False)
    async def document() -> Response:
        if not encoded:
            encoded.append(json.dumps(app.openapi(), separators=(",", ":"), ensure_ascii=False).encode())
        return Response(encoded[0], media_type="application/json")

    @app.api_route("/docs", methods=["GET", "HEAD"], include_in_schema=False)
    async def docs() -> Response:
        if not made:
            made.append(api_page(app.openapi()))
        return HTMLResponse(made[0], headers={"Cache-Control": "no-cache"})
