"""The page of the API is there for everybody, and made once."""

from __future__ import annotations

import linkedbandits.service.http.routes.api as module
from linkedbandits.service.http.service import Settings
from tests.support.running_service import running_service


def test_it_needs_no_token_and_is_made_once(tmp_path, monkeypatch):
    made = []
    real = module.api_page
    monkeypatch.setattr(module, "api_page", lambda document: made.append(1) or real(document))
    with running_service(str(tmp_path / "a.sqlite3"), Settings(open_without_tokens=False)) as service:
        first, second = (service.http.get("/docs") for _ in range(2))
        assert (first.status_code, first.text, made) == (200, second.text, [1])
        assert service.http.head("/docs").content == b""
        assert "/docs" not in service.http.get("/openapi.json").json()["paths"]
