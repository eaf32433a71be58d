"""Estimates, verdict, view, events and journal over HTTP."""

from __future__ import annotations

import time

from tests.support.event_streams import events_of
from tools.waiting import within


def test_the_view_moves_while_plays_are_told_and_a_reconnect_misses_nothing(service):
    experiment = service.create()
    service.play(experiment)
    path = f"/v1/experiments/{experiment}/events"
    with service.http.stream("GET", path) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        events = events_of(within(response.iter_lines(), "the answers to be seen"))
        name, head, view = next(events)
        assert (name, head, view["head"], view["plays"]) == ("view", 2, 2, 50)
        time.sleep(1.1)  # points of the history are a second apart
        service.play(experiment)
        _, seen, view = next(event for event in events if event[2]["plays"] >= 100)
    time.sleep(1.1)
    service.play(experiment)
    with service.http.stream("GET", path, headers={"Last-Event-ID": str(seen)}) as response:
        _, head, view = next(events_of(response.iter_lines()))
    assert view["plays"] == 150
    assert view["history"]
    assert all(seen < point[0] <= head for point in view["history"])
    whole = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert whole["history"][-len(view["history"]) :] == view["history"]
