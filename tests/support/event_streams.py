"""Server-sent events, as a client reads them."""

from __future__ import annotations

import json


def events_of(lines):
    """Events as they come in: name, id, data."""
    found = {}
    for line in lines:
        if line == "":
            if "data" in found:
                yield found["event"], int(found["id"]), json.loads(found["data"])
            found = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value
