"""The live page's files, and how long they may be kept."""

from __future__ import annotations

import pytest


def test_the_page_is_served_and_checked_at_every_visit(service):
    page = service.http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    plain = {"Accept-Encoding": "identity"}
    whole = service.http.get("/", headers=plain).headers["content-length"]
    assert service.http.head("/", headers=plain).headers["content-length"] == whole
    script = service.http.get("/static/main.js")
    assert script.headers["cache-control"] == "no-cache"
    again = service.http.get("/static/main.js", headers={"If-None-Match": script.headers["etag"]})
    assert again.status_code == 304


def test_vendored_files_are_kept_for_ever(service):
    response = service.http.get("/static/vendor/uPlot-1.6.32.min.css")
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]


@pytest.mark.parametrize("path", ["/static/../http/app.py", "/static/%2e%2e/http/app.py", "/static/nothing.js"])
def test_nothing_else_is_served(service, path):
    response = service.http.get(path)
    assert response.status_code == 404
    assert response.headers.get("cache-control") != "public, max-age=31536000, immutable"
