"""``linkedbandits compact``."""

from __future__ import annotations

from contextlib import closing

from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import create
from tools.waiting import SECONDS


def test_the_file_is_as_small_as_what_is_in_it(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    with closing(open_store(store)) as opened, Desk(opened) as desk:
        experiment = create(desk)
        for _ in range(5):
            plays = desk.ask(experiment, 1_000).result(SECONDS).plays
            desk.tell(experiment, [(play.id, None) for play in plays]).result(SECONDS)
    assert run("delete", experiment, "--force", "--store", store).returncode == 0
    found = run_json("compact", "--store", store)
    assert found["bytes"] < found["bytes_before"]
    assert found["bytes"] == (tmp_path / "experiments.sqlite3").stat().st_size
    assert "bytes before" in run("compact", "--store", store).stdout


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    assert "there is no store" in refusal("compact", "--store", str(tmp_path / "nowhere"))
