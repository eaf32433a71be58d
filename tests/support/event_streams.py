"""Server-sent events, as a client reads them."""

from __future__ import annotations

import json

from tools.waiting import within


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


def rows_of_list(service, path="/v1/events"):
    """What a page of the list shows of each experiment, by identifier, once all of them were opened."""
    rows = {}
    with service.http.stream("GET", path) as response:
        for _, _, page in events_of(within(response.iter_lines(), "all experiments of the page to be opened")):
            rows |= {row["id"]: row for row in page["experiments"]}
            if all(row["leading"] is not None or row["status"] == "damaged" for row in rows.values()):
                return rows
    raise AssertionError("the stream has ended")
