"""The OpenAPI document as a page for people: every route with its fields and examples.

It has no script and loads nothing but two of the page's own style sheets and one more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]
Schema = Mapping[str, Any]

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "{} characters or more",
    "maxLength": "{} characters at most",
    "minItems": "{} items or more",
    "maxItems": "{} items at most",
}
_LARGEST_WRITTEN_OUT = 10**15


def api_page(document: Document) -> str:
    """The page."""
    info = document["info"]
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            group = operation.get("tags", ["other"])[0]
            groups.setdefault(group, []).append(_route(document, method.upper(), path, operation))
    about = "".join(f"<p>{_text(part)}</p>" for part in info.get("description", "").strip().split("\n\n"))
    menu = "".join(f'<li><a href="#{escape(group)}">{escape(group)}</a></li>' for group in (*groups, "schemas"))
    sections = "".join(
        f'<section aria-labelledby="{escape(group)}"><h2 id="{escape(group)}">{escape(group.capitalize())}</h2>'
        f"{''.join(routes)}</section>"
        for group, routes in groups.items()
    )
    schemas = "".join(_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API · {escape(info["title"])}</title>
<link rel="icon" type="image/svg+xml" href="static/icon.svg">
<link rel="stylesheet" href="static/theme.css">
<link rel="stylesheet" href="static/page.css">
<link rel="stylesheet" href="static/api.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="site">
<a class="brand" href="./"><img src="static/icon.svg" alt="" width="24" height="24">{escape(info["title"])}</a>
</header>
<main id="main" tabindex="-1" class="api">
<h1>API, version {escape(info["version"])}</h1>
{about}
<p>Where tokens are wanted, send the header <code>Authorization: Bearer TOKEN</code>. The same description for
programmes is <a href="openapi.json">openapi.json</a> (OpenAPI {escape(document["openapi"])}).</p>
<nav aria-label="Groups of routes"><ul>{menu}</ul></nav>
{sections}
<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>{schemas}</section>
</main>
</body>
</html>
"""


def _route(document: Document, method: str, path: str, operation: Mapping[str, Any]) -> str:
    parts = [
        f'<article><h3 id="{escape(operation["operationId"])}"><span class="method">{method}</span> '
        f"<code>{escape(path)}</code></h3><p>{_text(operation.get('description', operation.get('summary', '')))}</p>"
    ]
    parameters = operation.get("parameters", [])
    if parameters:
        rows = [
            (f"{one['name']} ({one['in']})", one["schema"], one.get("required", False), one.get("description", ""))
            for one in parameters
        ]
        parts.append(_fields(f"Parameters of {method} {path}", rows))
    body = operation.get("requestBody")
    if body is not None:
        schema = body["content"]["application/json"]["schema"]
        parts.append(f"<p>Body: {_kind(schema)}{'' if body.get('required') else ', may be left out'}.</p>")
    parts.append(_example_call(document, method, path, operation))
    answers = "".join(
        f"<li><b>{escape(status)}</b> {_text(_answer(status, answer))}{_of(answer)}</li>"
        for status, answer in operation["responses"].items()
    )
    parts.append(f"<details><summary>Answers</summary><ul>{answers}</ul></details></article>")
    return "".join(parts)


def _answer(status: str, answer: Mapping[str, Any]) -> str:
    said = str(answer.get("description", ""))
    return "Done." if status.startswith("2") and said == "Successful Response" else said


def _of(answer: Mapping[str, Any]) -> str:
    kinds = {_kind(content.get("schema", {})) or escape(media) for media, content in answer.get("content", {}).items()}
    return f" ({', '.join(sorted(kinds))})" if kinds else ""


def _example_call(document: Document, method: str, path: str, operation: Mapping[str, Any]) -> str:
    for one in operation.get("parameters", []):
        for example in one["schema"].get("examples", [])[:1] if one["in"] == "path" else []:
            path = path.replace(f"{{{one['name']}}}", str(example))
    lines = ["curl" if method == "GET" else f"curl -X {method}"]
    example = next(_examples(document, operation), None)
    if example is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(example)}'"]
    lines.append(f"http://127.0.0.1:8000{path}")
    return f'<pre tabindex="0" aria-label="An example"><code>{escape(" ".join(lines))}</code></pre>'


def _examples(document: Document, operation: Mapping[str, Any]) -> Iterator[Any]:
    """Of the body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for schema in (content.get("schema", {}), *content.get("schema", {}).get("anyOf", [])):
        name = schema.get("$ref", "").rpartition("/")[2]
        yield from document["components"]["schemas"].get(name, {}).get("examples", [])


def _schema(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    rows = [
        (field, about, field in required, about.get("description", ""))
        for field, about in schema.get("properties", {}).items()
    ]
    fields = _fields(f"Fields of {name}", rows) if rows else f"<p>{_kind(schema)}</p>"
    examples = "".join(
        f'<pre tabindex="0" aria-label="An example of {escape(name)}"><code>'
        f"{escape(json.dumps(example, indent=1, ensure_ascii=False))}</code></pre>"
        for example in schema.get("examples", [])[:1]
    )
    return (
        f'<article><h3 id="schema-{escape(name)}"><code>{escape(name)}</code></h3>'
        f"<p>{_text(schema.get('description', ''))}</p>{fields}{examples}</article>"
    )


def _fields(caption: str, rows: list[tuple[str, Schema, bool, str]]) -> str:
    written = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{_kind(schema)}{_details(schema)}</td>'
        f"<td>{'needed' if required else _default(schema)}</td><td>{_text(description)}</td></tr>"
        for name, schema, required, description in rows
    )
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="unseen">{escape(caption)}</caption><thead><tr><th scope="col">Name</th>'
        f'<th scope="col">What</th><th scope="col">If it is missing</th><th scope="col">Meaning</th></tr></thead>'
        f"<tbody>{written}</tbody></table></div>"
    )


def _default(schema: Schema) -> str:
    return f"<code>{escape(json.dumps(schema['default']))}</code>" if "default" in schema else "nothing"


def _kind(schema: Schema) -> str:
    """The type of a value, with links to what has a name."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#schema-{name}">{name}</a>'
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[several]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    values = schema.get("additionalProperties")
    if schema.get("type") == "object" and isinstance(values, Mapping):
        return f"object of {_kind(values) or 'anything'}"
    return escape(str(schema.get("type", "")))


def _details(schema: Schema) -> str:
    """Bounds, of the value or of the one kind of it that has some."""
    bounds = [
        says.format(_number(one[bound]))
        for one in (schema, *schema.get("anyOf", []))
        for bound, says in _BOUNDS.items()
        if bound in one and abs(one[bound]) < _LARGEST_WRITTEN_OUT
    ]
    return f"; {escape(', '.join(dict.fromkeys(bounds)))}" if bounds else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else str(value)


def _text(words: str) -> str:
    """Words with code between back ticks."""
    pieces = escape(words, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
