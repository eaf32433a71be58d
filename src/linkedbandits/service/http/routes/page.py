"""The live page: static files, without a build step."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parents[2] / "page"


class PageFiles(StaticFiles):
    """Vendored files have their version in their name and never change; the others are checked at every visit."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with how long it may be kept."""
        response = await super().get_response(path, scope)
        vendored = path.startswith("vendor/")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if vendored else "no-cache"
        return response


def add_page(app: FastAPI) -> None:
    """The page needs no token: it asks for one."""

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return FileResponse(FOLDER / "index.html", headers={"Cache-Control": "no-cache"})

    app.mount("/static", PageFiles(directory=FOLDER))
