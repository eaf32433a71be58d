"""What the OpenAPI document says of every route's refusals."""

from __future__ import annotations


def test_every_operation_is_documented(service):
    document = service.http.get("/openapi.json").json()
    operations = [
        operation for path in document["paths"].values() for method, operation in path.items() if method != "parameters"
    ]
    assert len(operations) == 19
    for operation in operations:
        assert operation["description"]
        assert {"401", "403", "429", "503"} <= operation["responses"].keys() or operation["tags"] == ["operating"]
