"""Which processes have told expenses, and to forget what one has told."""

from __future__ import annotations

from linkedbandits.intervals import RunningMean
from linkedbandits.option_estimates import FirstAttempts


def report(service, experiment, source, seconds, most):
    kept = FirstAttempts(RunningMean(most), RunningMean())
    kept.add(True, seconds, 1.0)
    body = {"options": [{"option": "north", **kept.to_json()}]}
    return service.http.put(f"/v1/experiments/{experiment}/expenses/{source}", json=body)


def test_an_admin_finds_the_source_that_spoils_the_limits_and_forgets_it(service):
    experiment = service.create()
    path = f"/v1/experiments/{experiment}/expenses"
    report(service, experiment, "web1", 0.5, 2.0)
    sound = service.http.get(path).json()
    report(service, experiment, "web2", 1e39, 1e40)
    spoilt = service.http.get(path).json()
    assert spoilt["options"][0]["seconds"]["high"] > 1e30
    listed = service.http.get(f"{path}/sources").json()["sources"]
    assert [(one["source"], one["tries"], one["most_seconds"]) for one in listed] == [
        ("web1", 1, 2.0),
        ("web2", 1, 1e40),
    ]
    assert service.http.delete(f"{path}/web2").json() == {"forgotten": 1}
    assert service.http.get(path).json() == sound | {"at": service.http.get(path).json()["at"]}
    assert report(service, experiment, "web2", 1e39, 1e40).json() == {"kept": False, "sources": 0}
    again = service.http.delete(f"{path}/web2")
    assert (again.status_code, again.json()["type"]) == (422, "urn:linkedbandits:invalid-parameter")
    assert service.http.delete(path).json() == {"forgotten": 1}
    assert service.http.get(path).json()["at"] is None
    entries = service.http.get("/v1/audit", params={"subject": experiment, "action": "forget-expenses"}).json()
    assert [one["details"] for one in entries["entries"]] == [
        {"source": None, "sources": 1},
        {"source": "web2", "sources": 1},
    ]
    assert service.http.delete("/v1/experiments/nobody/expenses").status_code == 404


def test_only_an_admin_may(own_service):
    experiment = own_service.create()
    own_service.make_token("admin")
    player, _ = own_service.make_token("player")
    headers = {"Authorization": f"Bearer {player}"}
    path = f"/v1/experiments/{experiment}/expenses"
    own_service.forget_tokens()
    answers = [
        own_service.http.get(f"{path}/sources", headers=headers),
        own_service.http.delete(path, headers=headers),
        own_service.http.delete(f"{path}/web1", headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
