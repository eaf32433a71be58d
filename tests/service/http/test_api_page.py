"""The API as a page: all of the document is there, and nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from html import unescape
from html.parser import HTMLParser

import pytest

from linkedbandits.service.http.api_page import api_page

VOID = {"meta", "link", "img"}


class Reader(HTMLParser):
    """Notes identifiers, addresses and text, and that every element is closed where it should be."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.addresses, self.open, self.words, self.tags = [], [], [], [], set()
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        found = dict(attributes)
        assert not any(name.startswith("on") or name == "style" for name in found)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [found[name] for name in ("href", "src") if name in found]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def document(service):
    return service.http.get("/openapi.json").json()


@pytest.fixture(scope="module")
def page(service):
    response = service.http.get("/docs")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return response.text


def test_every_route_schema_field_and_example_is_there(page, document):
    words = "".join(Reader(page).words)
    for path, operations in document["paths"].items():
        assert path in words
        for operation in operations.values():
            assert operation["description"].replace("`", "") in words
            assert all(f"{one['name']} ({one['in']})" in words for one in operation.get("parameters", []))
    for name, schema in document["components"]["schemas"].items():
        assert f"schema-{name}" in Reader(page).ids
        assert all(field in words for field in schema.get("properties", {}))
        assert all(json.dumps(one, indent=1, ensure_ascii=False) in words for one in schema.get("examples", [])[:1])
    assert 'curl -X POST -H \'Content-Type: application/json\' -d \'{"count": 2, "key": "web1-000017"}\'' in words
    assert "/v1/experiments/9f0c1d2e3a4b5c6d/ask" in words


def test_it_has_no_script_and_loads_nothing_from_elsewhere(service, page):
    reader = Reader(page)
    assert reader.tags.isdisjoint({"script", "style", "iframe", "object"})
    assert len(set(reader.ids)) == len(reader.ids)
    for address in reader.addresses:
        if address.startswith("#"):
            assert address[1:] in reader.ids, address
        else:
            assert service.http.get(f"/{address}").status_code == 200, address


def test_what_the_document_says_cannot_become_markup():
    evil = "<script>x</script> `<b>` & \"'"
    field = {"type": "string", "description": evil, "default": evil, "enum": [evil]}
    page = api_page(
        {
            "openapi": evil,
            "info": {"title": evil, "version": evil, "description": evil},
            "paths": {
                f"/{evil}": {
                    "get": {
                        "operationId": evil,
                        "tags": [evil],
                        "description": evil,
                        "parameters": [{"name": evil, "in": "query", "schema": field, "description": evil}],
                        "responses": {"200": {"description": evil, "content": {evil: {}}}},
                    }
                }
            },
            "components": {"schemas": {evil: {"description": evil, "properties": {evil: field}, "examples": [evil]}}},
        }
    )
    reader = Reader(page)
    assert reader.tags.isdisjoint({"script", "b"} - {"b"})
    assert "<script>" not in page
    assert "<script>x</script>" in unescape(page)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 1000}, "integer; at least 1, at most 1,000"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 5}, "list of string; 5 items at most"),
        ({"anyOf": [{"type": "number", "exclusiveMinimum": 0.5}, {"type": "null"}]}, "number or null; more than 0.5"),
        ({"type": "integer", "maximum": 2**62}, "integer"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"const": 7}, "<code>7</code>"),
    ],
)
def test_a_field_says_what_it_may_be(schema, said):
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {},
        "components": {"schemas": {"S": {"properties": {"f": schema}}}},
    }
    assert f"<td>{said}</td>" in api_page(document)
