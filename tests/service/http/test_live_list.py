"""The list of experiments as people watch it: a page at a time, and only what has changed."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, aclosing

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.http import live_list
from linkedbandits.service.http.live_list import LiveList
from linkedbandits.service.listing import ListQuery, page_of
from linkedbandits.service.records import Entry
from tests.support.event_streams import events_of
from tests.support.service_parts import SETUP, create
from tools.waiting import SECONDS, run_async, within


@pytest.fixture(autouse=True)
def list_often(monkeypatch):
    """What is looked at after this is looked at a hundred times a second, with figures however long those take."""
    monkeypatch.setattr(live_list, "LIST_TICK_SECONDS", 0.01)
    monkeypatch.setattr(live_list, "SECONDS_FOR_SUMMARIES", SECONDS)


def data_of(event):
    return json.loads(event.partition(b"data: ")[2])


def watching(store, desk, query, until, meanwhile=lambda: None, sees=None):
    """The events of a viewer up to one that is enough; ``meanwhile`` happens after the first."""

    async def watch():
        lists = LiveList(store, desk, asyncio.wrap_future, asyncio.Event())
        seen = []
        async with aclosing(lists.events(query, sees)) as events:
            async for each in events:
                seen.append(data_of(each))
                if len(seen) == 1:
                    await asyncio.to_thread(meanwhile)
                if until(seen):
                    break
        return seen

    return run_async(watch())


def known(seen):
    """What a viewer has of every experiment on the page, in order."""
    rows, order = {}, []
    for page in seen:
        rows |= {row["id"]: row for row in page["experiments"]}
        order = page["order"] if page["order"] is not None else order
    return [rows[name] for name in order]


def complete(seen):
    return all(row["leading"] is not None for row in known(seen))


def test_a_viewer_is_sent_a_page_and_then_only_the_rows_that_change(store, desk, clock):
    made = []
    for number in range(3):
        clock.now += 1
        made.append(desk.create(SETUP, f"number {number}", tags=["eu"]).result().id)
    oldest, _, newest = made

    def meanwhile():
        play = desk.ask(oldest).result(SECONDS).plays[0]
        desk.tell(oldest, [(play.id, "east")]).result(SECONDS)

    seen = watching(store, desk, ListQuery(), lambda seen: known(seen)[-1]["plays"] == 1, meanwhile)
    assert [row["id"] for row in known(seen)] == made[::-1]
    assert {key: known(seen)[0][key] for key in ("name", "tags", "arms", "plays", "status", "done", "leads")} == {
        "name": "number 2",
        "tags": ["eu"],
        "arms": 3,
        "plays": 0,
        "status": "running",
        "done": False,
        "leads": False,
    }
    assert (seen[0]["total"], seen[0]["matching"], seen[0]["pages"], seen[0]["page"]) == (3, 3, 1, 1)
    assert [row["id"] for row in seen[-1]["experiments"]] == [oldest]
    assert seen[-1]["order"] is None
    assert newest in seen[0]["order"]


def test_a_new_experiment_and_new_tags_are_seen(store, desk, clock):
    first = create(desk)
    clock.now += 1

    def meanwhile():
        create(desk)
        desk.set_tags(first, ["cards"]).result(SECONDS)

    def enough(seen):
        return len(known(seen)) == 2 and known(seen)[1]["tags"] == ["cards"]

    assert watching(store, desk, ListQuery(), enough, meanwhile)[-1]["total"] == 2


def test_only_what_is_on_the_page_is_opened_and_only_if_it_has_changed(store, desk, clock, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.listing.A_PAGE", 2)
    made = []
    for _ in range(5):
        clock.now += 1
        made.append(create(desk))
    read, looked_at = Desk.read, []

    def note(desk, experiment, function):
        looked_at.append(experiment)
        return read(desk, experiment, function)

    monkeypatch.setattr(Desk, "read", note)

    def meanwhile():
        desk.set_tags(made[4], ["x"]).result(SECONDS)
        desk.set_tags(made[0], ["y"]).result(SECONDS)  # on another page

    def enough(seen):
        return known(seen)[0]["tags"] == ["x"] and looked_at.count(made[4]) == 2

    seen = watching(store, desk, ListQuery(), enough, meanwhile)
    assert (seen[0]["pages"], seen[0]["matching"]) == (3, 5)
    assert sorted(looked_at) == sorted([made[4], made[3], made[4]])


def test_a_page_is_sent_before_its_experiments_are_opened(store, desk, monkeypatch):
    experiment = create(desk)
    monkeypatch.setattr(live_list, "SECONDS_FOR_SUMMARIES", 0.0)
    with_figures = watching(store, desk, ListQuery(), complete)
    assert with_figures[0]["experiments"][0]["leading"] is None
    assert with_figures[0]["experiments"][0]["id"] == experiment
    assert known(with_figures)[0]["leading"]["arm"] in SETUP.arms


def test_viewers_of_one_page_share_its_looks_and_those_who_may_not_see_all_have_their_own(store, desk):
    first, second = create(desk), create(desk)

    def only_second(rows):
        return tuple(row for row in rows if row.id == second)

    async def watch():
        lists = LiveList(store, desk, asyncio.wrap_future, asyncio.Event())
        async with aclosing(lists.events(ListQuery())) as one, aclosing(lists.events(ListQuery())) as other:
            await anext(one), await anext(other)
            shared = len(lists._watched)
            async with aclosing(lists.events(ListQuery(), only_second)) as limited:
                page = data_of(await anext(limited))
        return shared, page, len(lists._watched)

    shared, page, left = run_async(watch())
    assert (shared, left) == (1, 0)
    assert (page["order"], page["total"]) == ([second], 1)
    assert first != second


def test_one_who_looks_for_many_things_keeps_nobody_waiting_for_all_of_them(store, desk, monkeypatch):
    """One caller watches ten searches and another a page, which has its turn behind one of them at most."""
    create(desk)
    searched = []

    def note(rows, query):
        searched.append(query.search)
        return page_of(rows, query)

    monkeypatch.setattr(live_list, "page_of", note)

    async def watch():
        lists = LiveList(store, desk, asyncio.wrap_future, asyncio.Event())
        async with AsyncExitStack() as streams:

            async def begin(search, caller):
                stream = await streams.enter_async_context(aclosing(lists.events(ListQuery(search), caller=caller)))
                return asyncio.create_task(anext(stream))

            first = [await begin(f"search {number}", "greedy") for number in range(10)]
            both = [await begin("page", "greedy"), await begin("page", "modest")]
            await asyncio.gather(*first, *both)
            assert [dict(watched.callers) for watched in lists._watched.values()][-1] == {"greedy": 1, "modest": 1}
        return lists._watched

    assert run_async(watch()) == {}
    assert searched.index("page") <= 2


def test_an_experiment_that_is_deleted_leaves_the_list(store, desk, clock):
    gone, clock.now = create(desk), clock.now + 1
    kept = create(desk)
    seen = watching(
        store,
        desk,
        ListQuery(),
        lambda seen: seen[-1]["total"] == 1,
        lambda: desk.delete(gone, force=True).result(SECONDS),
    )
    assert [row["id"] for row in known(seen)] == [kept]


def test_experiments_from_before_lists_had_a_verdict_are_given_one(store, desk):
    experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 1}})
    plays = desk.ask(experiment, 10).result().plays
    desk.tell(experiment, [(play.id, None) for play in plays]).result()
    with store.writing() as tables:
        tables._run("UPDATE listing SET verdict = NULL, plays = 0")
    found = watching(store, desk, ListQuery(status="decided"), lambda seen: seen[-1]["matching"] == 1)
    assert known(found)[0]["id"] == experiment
    with store.reading() as tables:
        assert [each.verdict for each in tables.listed()] == ["exhausted"]


def damage(service, experiment):
    """Let the journal say something that cannot have happened."""
    with service.store.writing() as writing:
        seq = writing.lock(experiment) + 1
        damaged = Entry(seq, 0.0, "tell", {"plays": [99], "hits": [0], "receipts": "c"})
        writing.append(experiment, [damaged], "running", writing.record(experiment).written_by)


def test_a_damaged_experiment_is_shown_as_such_and_hides_no_other(own_service, caplog):
    own_service.create(name="sound")
    damaged = own_service.create(name="damaged")
    damage(own_service, damaged)
    with httpx.stream("GET", f"{own_service.url}/v1/events?sort=created", timeout=SECONDS) as response:
        seen = []
        for _, _, page in events_of(within(response.iter_lines(), "the damage to be seen")):
            seen.append(page)
            if known(seen)[1]["status"] == "damaged" and known(seen)[0]["leading"] is not None:
                break
    assert [(one["name"], one["status"], one["plays"]) for one in known(seen)] == [
        ("sound", "running", 0),
        ("damaged", "damaged", None),
    ]
    (logged,) = [record for record in caplog.records if record.getMessage() == "experiment-damaged"]
    assert issubclass(logged.exc_info[0], lb.DamagedSave)
    assert logged.fields["found"] == "JournalMismatch"
    assert "restore the store from a backup" in known(seen)[1]["detail"]
    assert known(seen)[1]["arms"] == 3
    assert own_service.http.get("/metrics").status_code == 200
    problem = own_service.http.get(f"/v1/experiments/{damaged}/events")
    assert (problem.status_code, problem.json()["type"]) == (500, "urn:linkedbandits:damaged-record")
    assert "restore the store from a backup" in problem.json()["detail"]


def test_a_setup_that_cannot_be_read_hides_no_other(own_service):
    sound, damaged = own_service.create(name="sound"), own_service.create(name="damaged")
    with own_service.store.writing() as writing:
        writing._run("UPDATE experiments SET setup = ? WHERE id = ?", "{", damaged)
    for path in ("", "?page=1"):
        found = own_service.http.get(f"/v1/experiments{path}").json()
        assert [one["id"] for one in found["experiments"]] == [sound]
        ((name, detail),) = [(one["id"], one["detail"]) for one in found["damaged"]]
        assert name == damaged
        assert "restore the store from a backup" in detail
        assert (found["total"], found["matching"]) == (2, 2)
    with httpx.stream("GET", f"{own_service.url}/v1/events?search=damaged", timeout=SECONDS) as response:
        seen = []
        for _, _, page in events_of(within(response.iter_lines(), "the damage to be seen")):
            seen.append(page)
            if known(seen)[0]["status"] == "damaged":
                return
