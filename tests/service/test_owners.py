"""Which server an experiment belongs to: who was asked first, then by traffic, then by number; and who is gone."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest

import linkedbandits as lb
from linkedbandits.service import owners as module
from linkedbandits.service.owner_tables import ServerRecord
from linkedbandits.service.owners import Owners, check_url_for_others, handovers
from tests.support.service_parts import ManualClock
from tools.waiting import until


class Tables:
    """What the database keeps, in memory; experiments are there whose name begins with an x."""

    address_here = "10.0.0.7"

    def __init__(self):
        self.servers: dict[str, ServerRecord] = {}
        self.owned: dict[str, str] = {}
        self.fails = self.fails_to_claim = False
        self.long_gone = False

    @contextmanager
    def owning(self):
        if self.fails:
            raise lb.StoreUnavailable("gone")
        yield self

    def sign_of_life(self, server):
        self.servers[server.id] = server

    def alive(self):
        return list(self.servers.values())

    def any_long_gone(self):
        return self.long_gone

    def forget_the_long_gone(self):
        self.long_gone = False

    def owners(self):
        return dict(self.owned)

    def claim(self, experiments, server):
        if self.fails_to_claim:
            raise lb.StoreUnavailable("another server is at it")
        for experiment in experiments:
            if experiment.startswith("x") and self.owned.get(experiment) not in self.servers:
                self.owned[experiment] = server

    def hand_over(self, moves, server):
        assert all(self.owned[experiment] == server for experiment in moves)
        self.owned.update(moves)

    def release(self, experiments, server):
        for experiment in experiments:
            assert self.owned.pop(experiment) == server

    def leave(self, server):
        self.owned = {experiment: owner for experiment, owner in self.owned.items() if owner != server}
        del self.servers[server]


class Fleet:
    """Servers that beat when they are told to."""

    def __init__(self, count: int = 0, urls: list[str] | None = None):
        self.tables, self.clock = Tables(), ManualClock()
        self.news = []
        urls = [f"http://10.0.0.{number}:8000" for number in range(count)] if urls is None else urls
        self.servers = [self.added(url) for url in urls]
        self.beat(2)

    def added(self, url: str) -> Owners:
        server = Owners(self.tables, self.fail, self.clock, on_news=self.hear)
        server._url = url
        return server

    def hear(self, event, **fields):
        self.news.append((event, fields))

    def fail(self, event, error):
        raise AssertionError(event) from error

    def beat(self, times: int = 1):
        for _ in range(times):
            self.clock.now += module.BEAT_SECONDS
            for server in self.servers:
                if server.id in self.tables.servers or not self.tables.owned:
                    server.beat()

    def request(self, at: Owners, experiment: str, times: int = 1) -> Owners:
        """Who answers it; it is passed on at most once."""
        for _ in range(times):
            if at.claim(experiment) is not None:
                at.beat()
            found = at.elsewhere(experiment)
            answering = at
            if found is not None:
                answering = next(server for server in self.servers if server.id == found.id)
                assert answering.elsewhere(experiment, through=at.id) is None
        return answering


def test_a_server_that_is_alone_owns_nothing_and_asks_nobody():
    [alone] = Fleet(1).servers
    assert alone.claim("x") is None
    assert alone.elsewhere("x") is None
    assert not alone.is_elsewhere("x")


def test_without_a_store_that_can_be_shared_it_is_alone():
    alone = Owners(None, print)
    alone.beat()
    assert not alone.may_share
    assert alone.claim("x") is None
    assert alone.elsewhere("x") is None
    alone.leave()


def test_who_is_first_asked_owns_it_and_the_others_pass_on():
    fleet = Fleet(3)
    one, two, three = fleet.servers
    assert fleet.request(two, "x") is two
    assert [fleet.request(server, "x") for server in (one, two, three)] == [two] * 3
    assert [server.is_elsewhere("x") for server in (one, two, three)] == [True, False, True]


def test_what_is_no_experiment_has_no_owner():
    fleet = Fleet(2)
    assert fleet.request(fleet.servers[0], "nothing") is fleet.servers[0]
    assert fleet.tables.owned == {}


def warnings(fleet):
    return [fields for event, fields in fleet.news if event == "server-out-of-reach"]


def test_one_that_only_its_own_machine_can_reach_is_sent_nothing_where_others_are_elsewhere():
    fleet = Fleet(urls=["http://127.0.0.1:8000", "http://10.0.0.1:8000", "http://10.0.0.2:8000"])
    local, one, two = fleet.servers
    for _ in range(20):
        assert fleet.request(local, "x1") is local  # by itself: it has nobody to pass it on to, and owns nothing
        assert fleet.request(one, "x1") is one
        assert fleet.request(two, "x1") is one
        fleet.beat()
    assert not one.is_alive(local.id)
    assert set(fleet.tables.owned.values()) == {one.id}
    for server in fleet.servers:  # each says it once
        assert local.id in server._told
    told = warnings(fleet)
    assert [(said["server"], said["url"]) for said in told] == [(local.id, "http://127.0.0.1:8000")] * 3
    assert all("--url-for-others" in said["reason"] for said in told)


def test_what_one_has_owned_is_given_up_when_others_come_that_cannot_reach_it():
    fleet = Fleet(urls=["http://127.0.0.1:8000", "http://127.0.0.1:8001"])
    one, _ = fleet.servers
    fleet.request(one, "x")
    assert fleet.tables.owned == {"x": one.id}
    far = fleet.added("http://10.0.0.1:8000")
    fleet.servers.append(far)
    far.beat()
    fleet.beat(2)
    assert fleet.tables.owned == {}
    assert all(server.elsewhere("x") is None and server.claim("x") is None for server in fleet.servers)


def test_two_with_one_address_own_nothing_if_that_lasts():
    fleet = Fleet(urls=["http://127.0.0.1:8000", "http://127.0.0.1:8000"])
    one, two = fleet.servers
    assert one.is_alive(two.id)
    assert warnings(fleet) == []  # it may be one that was killed, and is back
    fleet.beat(10)
    assert not one.is_alive(two.id)
    assert not two.is_alive(one.id)
    assert fleet.request(one, "x") is one
    assert fleet.request(two, "x") is two
    assert fleet.tables.owned == {}
    assert len(warnings(fleet)) == 4
    del fleet.tables.servers[two.id]
    one.beat()
    two._url = "http://127.0.0.1:8001"
    two.beat()
    one.beat()
    assert one.is_alive(two.id)


def test_what_was_passed_on_is_never_passed_on_again():
    fleet = Fleet(2)
    one, two = fleet.servers
    fleet.request(one, "x")
    two.beat()
    assert two.elsewhere("x", through=one.id) is None


def test_a_server_that_is_gone_loses_what_it_owned():
    fleet = Fleet(3)
    one, two, _ = fleet.servers
    fleet.request(one, "x")
    fleet.beat()
    del fleet.tables.servers[one.id]
    fleet.beat()
    assert not two.is_alive(one.id)
    assert fleet.request(two, "x") is two


def test_who_comes_who_goes_and_what_is_handed_over_is_news():
    tables, news = Tables(), []
    one, two = (Owners(tables, print, ManualClock(), lambda event, **_: news.append(event)) for _ in range(2))
    one._url = two._url = "http://10.0.0.1:8000"
    one.beat()
    two.beat()
    one.beat()
    one.beat()
    assert news == ["server-came", "server-came"]
    del tables.servers[two.id]
    one.beat()
    assert news[2:] == ["server-gone"]


def test_a_server_that_comes_back_after_a_pause_learns_that_it_lost_it():
    fleet = Fleet(3)
    one, two, _ = fleet.servers
    fleet.request(one, "x")
    del fleet.tables.servers[one.id]
    two.beat()
    fleet.request(two, "x")
    assert one.elsewhere("x") is None  # it believes that it still owns it
    one.beat()
    assert fleet.request(one, "x") is two


def test_a_server_that_does_not_answer_is_left_alone_for_a_while():
    fleet = Fleet(2)
    one, two = fleet.servers
    fleet.request(one, "x")
    two.beat()
    assert two.avoid(one.id)
    assert not two.avoid(one.id)
    assert two.elsewhere("x") is None
    assert two.claim("x") is None  # it gives signs of life: that two servers do not reach each other moves nothing
    fleet.clock.now += module.AVOID_SECONDS
    assert two.elsewhere("x").id == one.id
    assert two.avoid(one.id)


def test_an_experiment_goes_where_most_of_its_requests_come_in_and_stays_there():
    fleet = Fleet(2)
    one, two = fleet.servers
    fleet.request(one, "x")
    for _ in range(6):
        fleet.request(two, "x", module.ENOUGH)
        fleet.beat()
    assert fleet.tables.owned == {"x": two.id}
    assert fleet.request(one, "x") is two


def test_experiments_whose_requests_come_through_all_are_shared_out():
    fleet = Fleet(2)
    one, two = fleet.servers
    names = [f"x{number}" for number in range(8)]
    for name in names:
        fleet.request(one, name)
    for _ in range(4):
        for name in names:
            for server in (one, two):
                fleet.request(server, name, module.ENOUGH)
        fleet.beat()
    before = dict(fleet.tables.owned)
    assert Counter(before.values()) == {one.id: 4, two.id: 4}
    fleet.beat(5)
    assert fleet.tables.owned == before


def test_what_nobody_asks_for_has_no_owner_after_a_while():
    fleet = Fleet(2)
    one = fleet.servers[0]
    fleet.request(one, "x")
    fleet.request(one, "xy")
    beats = int(module.IDLE_SECONDS / module.BEAT_SECONDS)
    for _ in range(beats + 3):
        fleet.request(one, "xy")
        fleet.beat()
    assert fleet.tables.owned == {"xy": one.id}


@pytest.mark.parametrize(
    ("traffic", "owners", "moves"),
    [
        ({}, {"x": "a"}, {}),
        ({}, {"x": "a", "y": "a"}, {"x": "b"}),
        ({}, {"x": "a", "y": "a", "z": "b"}, {}),
        ({"x": {"a": 1000}, "y": {"a": 1000}}, {"x": "a", "y": "a"}, {}),  # a balancer sends them here
        ({"x": {"a": 1000}, "y": {"a": 500, "b": 500}}, {"x": "a", "y": "a"}, {"y": "b"}),
        ({"x": {"b": 99}}, {"x": "a"}, {}),  # too few to tell
        ({"x": {"b": 100}}, {"x": "a"}, {"x": "b"}),
        ({"x": {"a": 67, "b": 133}}, {"x": "a"}, {}),
        ({"x": {"a": 66, "b": 134}}, {"x": "a"}, {"x": "b"}),
        ({"x": {"gone": 1000}}, {"x": "a"}, {}),
        ({}, {"x": "b", "y": "b", "z": "b"}, {}),  # others share out what is theirs
        ({}, {"x": "gone", "y": "gone", "z": "a"}, {}),
    ],
)
def test_what_a_server_hands_over(traffic, owners, moves):
    assert handovers("a", ["b"], owners, {name: Counter(seen) for name, seen in traffic.items()}) == moves


def test_it_hands_over_not_all_at_once():
    moves = handovers("a", ["b", "c"], {f"x{number}": "a" for number in range(300)}, {})
    assert len(moves) == module.MOST_MOVES
    assert Counter(moves.values()) == {"b": module.MOST_MOVES / 2, "c": module.MOST_MOVES / 2}


def test_the_one_that_listens_everywhere_is_reached_where_the_database_sees_it():
    tables = Tables()
    server = Owners(tables, print, ManualClock())
    server._url = "http://0.0.0.0:8123"
    server.beat()
    assert tables.servers[server.id].url == "http://10.0.0.7:8123"


def test_it_gives_signs_of_life_by_itself_through_failures_and_leaves_in_the_end(monkeypatch):
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(module, "SOONEST_SECONDS", 0.001)
    tables, troubles = Tables(), []
    tables.fails = True
    server = Owners(tables, lambda event, error: troubles.append(event))
    server.start("http://10.0.0.1:8000")
    until(lambda: len(troubles) > 2, "failures")
    tables.fails = False
    until(lambda: server.id in tables.servers, "a sign of life")
    server.leave()
    assert tables.servers == {}
    assert set(troubles) == {"sign-of-life-failed"}
    server.leave()


def test_who_waits_for_a_claim_goes_on_where_the_store_is_away():
    fleet = Fleet(2)
    one = fleet.servers[0]
    claimed = one.claim("x")
    fleet.tables.fails = True
    with pytest.raises(lb.StoreUnavailable):
        one.beat()
    assert claimed.done()
    assert one.elsewhere("x") is None


def test_a_claim_that_has_to_wait_for_others_takes_no_sign_of_life_back():
    """The sign of life is in the store, and who else is there is known, before anybody is waited for."""
    fleet = Fleet(2)
    one, two = fleet.servers
    del fleet.tables.servers[one.id]
    fleet.tables.fails_to_claim = True
    claimed = one.claim("x")
    del fleet.tables.servers[two.id]
    third = ServerRecord("third", "http://10.0.0.9:8000", "s")
    fleet.tables.servers["third"] = third
    news = []
    one._on_news = lambda event, **fields: news.append((event, fields["server"]))
    with pytest.raises(lb.StoreUnavailable):
        one.beat()
    assert claimed.done()
    assert one.id in fleet.tables.servers
    assert one.is_alive("third")
    assert not one.is_alive(two.id)
    assert news == [("server-came", "third"), ("server-gone", two.id)]


def test_who_has_long_been_gone_is_forgotten_also_by_one_that_is_alone():
    fleet = Fleet(1)
    fleet.tables.long_gone = True
    fleet.beat()
    assert not fleet.tables.long_gone


def test_unknown_names_do_not_pile_up():
    fleet = Fleet(2)
    one = fleet.servers[0]
    for number in range(module.MOST_WANTED + 10):
        one.claim(f"unknown {number}")
    assert len(one._wanted) == module.MOST_WANTED


@pytest.mark.parametrize(
    "url",
    ["10.0.0.1:8000", "http://10.0.0.1", "http://0.0.0.0:8000", "http://a:b@c:80", "http://a:80/x", "http://a:99999"],
)
def test_an_address_that_others_cannot_use_is_refused(url):
    with pytest.raises(lb.InvalidParameter, match="not that of a proxy"):
        check_url_for_others(url)
