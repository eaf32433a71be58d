"""Write down what a version of the library leaves behind: a store and a study's folder.

Later versions have to open them, and to say what was said then: that is written down beside them. It is run with the
library of that time, whichever that is, and uses only what all of them have:

    git archive COMMIT src | tar x -C /tmp/then
    PYTHONPATH=/tmp/then/src python tools/artefacts.py OUT
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.linkage import LINKAGES
from linkedbandits.policies import POLICIES, make_policy
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store
from linkedbandits.study import read_study, run_study
from linkedbandits.study.chunks import run_chunk

FAMILIES: dict[str, dict[str, Any]] = {
    "linked-elimination": {"delta": 1e-6},
    "linked-track-and-stop": {"delta": 1e-6},
    "linked-halving": {"plays": 400},
    "maximal-sampling": {"delta": 0.3},
    "uniform-sampling": {"delta": 0.3},
    "linked-ege": {"delta": 0.3, "gap": 0.9},
    "median-elimination": {"delta": 0.3, "epsilon": 0.9},
    "lil-ucb": {"delta": 0.3},
    "suffix-ucb": {"delta": 0.3},
    "linked-lead": {"delta": 0.01, "odds_ratio": 2.0},
    "linked-duels": {"delta": 0.2},
}
SETTINGS = [
    (name, linkage.name)
    for name, parameters in FAMILIES.items()
    if name in POLICIES  # earlier versions had fewer
    for linkage in LINKAGES.values()
    if linkage.allows(make_policy(name, parameters).asks)
]
PLACES = ("Zürich", "Malmö", "Århus", "北京")
MEANS = (0.2, 0.5, 0.4, 0.3)
POINTS = ("north", "east", "south")
RACE = {"name": "linked-elimination", "parameters": {"delta": 1e-6}}
SHORT_RACE = {"name": "linked-elimination", "parameters": {"delta": 0.2}}
TUPLES = {"name": "suffix-ucb", "parameters": {"delta": 0.1}}
MOST_PLAYS = 2_000
SECONDS = 60.0
"""Nothing here takes longer."""
STUDY = """
name = "then"
seed = 5
trials = 40
deltas = [0.2]
linkages = ["ordered", "free"]

[[instances]]
name = "mirrors"
means = [0.3, 0.8, 0.5]

[[policies]]
policy = "linked-elimination"

[[policies]]
policy = "uniform-sampling"
label = "fifty each"
parameters = { samples = 50 }
"""


def verdict(exp: Any) -> list[Any]:
    """What an experiment says."""
    said = exp.recommend()
    return [exp.done, said.arm, said.status, said.plays, said.error_bound, list(said.top)]


def estimates(exp: Any) -> list[list[Any]]:
    """What is known of its arms."""
    return [[each.samples, each.successes, each.still_in] for each in exp.estimates()]


def standing(hosted: Any) -> dict[str, Any]:
    """The same of one in the store."""
    exp = hosted.experiment
    return {
        "plays": exp.plays,
        "late": exp.late,
        "in_flight": exp.in_flight,
        "abandoned": hosted.abandoned,
        "status": hosted.status,
        "head": hosted.head,
        "estimates": estimates(exp),
        "verdict": verdict(exp),
        "leases": list(hosted.leases),
    }


class Coins:
    """Which of the arms of a play succeeds, if any."""

    def __init__(self, labels: tuple[str, ...], seed: int) -> None:
        self._means = dict(zip(labels, MEANS, strict=False))
        self._rng = np.random.default_rng(seed)

    def hit(self, arms: tuple[str, ...]) -> str | None:
        """Tried from left to right."""
        return next((arm for arm in arms if self._rng.random() < self._means[arm]), None)


def play(desk: Desk, experiment: str, labels: tuple[str, ...], plays: int, batch: int, seed: int) -> None:
    """In batches, of which one play is given up, and now and then told late, and one stays out for a while."""
    coins = Coins(labels, seed)
    slow: list[Any] = []
    done = False
    while plays > 0 and not done:
        *others, lost = desk.ask(experiment, batch).result(SECONDS).plays  # the first is asked for again: lose another
        desk.abandon(experiment, [lost.id]).result(SECONDS)
        told = [*others[1:], *slow, *([lost] if plays % 2 else [])]
        done = desk.tell(experiment, [(each.id, coins.hit(each.arms)) for each in told]).result(SECONDS).done
        slow, plays = others[:1], plays - batch


def finish(desk: Desk, experiment: str, best: str) -> list[Any]:
    """Only the best works from now on; what is out fails."""
    out = desk.read(experiment, lambda hosted: list(hosted.leases)).result(SECONDS)
    desk.tell(experiment, [(each, None) for each in out]).result(SECONDS)
    while not desk.read(experiment, lambda hosted: hosted.experiment.done).result(SECONDS):
        plays = desk.ask(experiment, 20).result(SECONDS).plays
        desk.tell(experiment, [(each.id, best if best in each.arms else None) for each in plays]).result(SECONDS)
    return desk.read(experiment, lambda hosted: verdict(hosted.experiment)).result(SECONDS)


def experiments(store: Any, clock: Any) -> dict[str, str]:
    """Make them, in many states: their ids by what they are."""
    made: dict[str, str] = {}

    def create(desk: Desk, name: str, new: Setup, called: str = "x") -> str:
        made[name] = desk.create(new, called).result(SECONDS).id
        return made[name]

    for number, (name, linkage) in enumerate(SETTINGS):  # every other one has plays behind its snapshot
        with Desk(store, clock=clock, snapshot_every=(70, 100)[number % 2]) as desk:
            policy = {"name": name, "parameters": FAMILIES[name]}
            new = Setup(PLACES, policy, linkage=linkage, max_plays=MOST_PLAYS, parallel=30)
            play(desk, create(desk, f"{name}, {linkage}", new, f"{name} über {linkage}"), PLACES, 81, 20, seed=number)
    with Desk(store, clock=clock, snapshot_every=100) as desk:
        play(desk, create(desk, "a snapshot and a tail", Setup(POINTS, RACE)), POINTS, 400, 15, seed=1)
        play(desk, create(desk, "done with a snapshot", Setup(POINTS, SHORT_RACE)), POINTS, 200, 20, seed=2)
        finish(desk, made["done with a snapshot"], "east")
    with Desk(store, clock=clock, snapshot_every=1) as desk:  # so that its verdict is in the snapshot
        desk.set_status(made["done with a snapshot"], "paused").result(SECONDS)
        desk.set_status(made["done with a snapshot"], "running").result(SECONDS)
    with Desk(store, clock=clock) as desk:
        play(desk, create(desk, "no snapshot", Setup(POINTS, RACE)), POINTS, 400, 15, seed=3)
        play(desk, create(desk, "tuples", Setup(POINTS, TUPLES, max_plays=MOST_PLAYS)), POINTS, 90, 15, seed=4)
        play(desk, create(desk, "done", Setup(POINTS, SHORT_RACE)), POINTS, 200, 20, seed=2)
        finish(desk, made["done"], "east")
        play(desk, create(desk, "out of budget", Setup(POINTS, RACE, max_plays=100)), POINTS, 75, 15, seed=5)
        finish(desk, made["out of budget"], "south")
        for status in ("paused", "archived"):
            play(desk, create(desk, status, Setup(POINTS, RACE), status), POINTS, 60, 15, seed=6)
            desk.set_status(made[status], status).result(SECONDS)
        create(desk, "not begun", Setup(POINTS, RACE))
    return made


def make_store(out: Path) -> None:
    """Those that run are also played to their end, in a copy, to say how that goes."""
    numbers = count()
    secrets.token_hex = lambda _=None: f"experiment{next(numbers)}"
    path = out / "store.sqlite"
    now = [1_000.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    with closing(open_store(str(path))) as store:
        made = experiments(store, clock)
        with Desk(store, clock=clock) as desk:
            said = {name: desk.read(found, standing).result(SECONDS) | {"id": found} for name, found in made.items()}
    shutil.copy(path, out / "copy.sqlite")
    with closing(open_store(str(out / "copy.sqlite"))) as store, Desk(store, clock=clock) as desk:
        for name, found in made.items():
            if said[name]["status"] == "running" and not said[name]["verdict"][0]:
                best = desk.read(found, lambda hosted: hosted.experiment.arms[-1]).result(SECONDS)
                said[name]["in_the_end"] = finish(desk, found, best)
    with closing(sqlite3.connect(path)) as file:
        file.execute("INSERT INTO tokens VALUES ('token0', 'ops', 'admin', 'digest', 1000.0)")
        file.commit()
        (out / "store.sql").write_text("\n".join(file.iterdump()) + "\n", encoding="utf-8")
    (out / "store.json").write_text(json.dumps(said, ensure_ascii=False) + "\n", encoding="utf-8")
    path.unlink()
    (out / "copy.sqlite").unlink()


def make_study(out: Path) -> None:
    """A small study's folder, and its table of figures."""
    folder = out / "study"

    def engine(chunks: Any) -> Any:
        for chunk in chunks:
            yield chunk, run_chunk(chunk)

    results = run_study(read_study(STUDY, name="then"), folder, engine=engine)
    (folder / "lock").unlink()
    (out / "study.toml").write_text(STUDY.lstrip(), encoding="utf-8")
    (out / "study_table.json").write_text(json.dumps(results.table().to_dicts()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    make_store(target)
    make_study(target)
