"""The outermost layer: security headers, and a measurement and a log line of every request."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/v1/experiments", "/nothing", "/healthz"])
def test_every_answer_has_the_security_headers(service, path):
    headers = service.http.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
