"""What the routes share: a desk that is stopped in the end, and leases that are watched."""

from __future__ import annotations

from tools.waiting import until


def test_a_play_that_is_not_answered_in_its_time_goes_back_and_its_answer_is_late(service):
    experiment = service.create(lease_seconds=0.2, parallel=1)
    service.post(experiment, "ask", {})
    assert service.post(experiment, "ask", {}).status_code == 409
    until(lambda: service.http.get(f"/v1/experiments/{experiment}/view").json()["abandoned"], "the play to go back")
    again = service.post(experiment, "ask", {}).json()["plays"][0]
    assert (again["id"], again["arms"]) == (1, ["north", "east", "south"])
    late = service.post(experiment, "tell", {"answers": [{"play": 0, "hit": "north"}]})
    assert late.json()["receipts"] == ["late"]
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert (view["late"], view["plays"], view["arms"]["successes"]) == (1, 1, [1, 0, 0])
