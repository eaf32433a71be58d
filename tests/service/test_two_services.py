"""Two services on one store: what is done through one is seen through the other."""

from __future__ import annotations

import json

from tests.support.running_service import running_service
from tools.waiting import within


def test_a_viewer_of_one_service_sees_what_is_told_to_another(store_url):
    with running_service(store_url) as one, running_service(store_url) as other:
        experiment = one.create()
        path = f"/v1/experiments/{experiment}"
        with other.http.stream("GET", f"{path}/events") as response:
            lines = within(response.iter_lines(), "the answers to be seen")
            views = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            assert next(views)["plays"] == 0
            first = one.http.post(f"{path}/ask", json={"count": 3}).json()["plays"]
            answers = [{"play": play["id"], "hit": "east"} for play in first]
            one.http.post(f"{path}/tell", json={"answers": answers})
            view = next(view for view in views if view["plays"] >= 3)
        assert view["arms"]["successes"] == [0, 3, 0]
        again = other.http.post(f"{path}/tell", json={"answers": answers}).json()
        assert again["receipts"] == ["repeated"] * 3
        second = other.http.post(f"{path}/ask", json={"count": 3}).json()["plays"]
        assert [play["id"] for play in first + second] == list(range(6))
        other.http.post(f"{path}/pause")
        assert one.http.post(f"{path}/ask").status_code == 409
