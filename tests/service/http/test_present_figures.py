"""Figures that are read when they are asked for: all from memory, each with its age where it has one."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from linkedbandits.service.http.door import REASONS, Door, DoorLimits
from linkedbandits.service.http.present_figures import FiguresOfTheDoor, LatestSurvey, PresentFigures
from linkedbandits.service.http.store_watch import StoreFigures, StoreWatch
from linkedbandits.service.outbox_tables import OutboxCounts
from linkedbandits.service.pulse import Pulse
from linkedbandits.service.records import Room
from linkedbandits.service.survey import Progress, Survey
from tests.support.figures import figures_in
from tests.support.service_parts import ManualClock


class Shown:
    """All that figures are read from, to be set by hand."""

    def __init__(self, store):
        self.clock, self.wall = ManualClock(), ManualClock(5_000.0)
        self.pulse = Pulse(self.clock)
        self.watch = StoreWatch(store, lambda: None, self.pulse, lambda _: None, lambda _: None, self.clock)
        self.latest = LatestSurvey(self.clock)
        self.alarms = []
        self.registry = CollectorRegistry()
        self.registry.register(
            PresentFigures(
                self.pulse,
                self.watch,
                self.latest,
                lambda: self.alarms,
                wall_clock=self.wall,
                steady_clock=self.wall,
            )
        )

    def figures(self):
        return figures_in(generate_latest(self.registry).decode())


def test_before_anything_is_known_nothing_is_made_up(store):
    figures = Shown(store).figures()
    assert figures["linkedbandits_store_away",] == 0
    assert figures["linkedbandits_desk_waiting",] == 0
    assert ("linkedbandits_plays_in_flight",) not in figures
    assert ("linkedbandits_store_bytes",) not in figures


def test_the_store_is_shown_with_the_age_of_its_figures(store):
    shown = Shown(store)
    shown.watch.figures = StoreFigures(shown.clock(), 77, Room(30, 90), {"paused": 2}, OutboxCounts(3, 4_990.0))
    shown.clock.now += 12
    figures = shown.figures()
    assert figures["linkedbandits_store_figures_age_seconds",] == 12
    assert figures["linkedbandits_store_bytes",] == 77
    assert (figures["linkedbandits_disk_free_bytes",], figures["linkedbandits_disk_bytes",]) == (30, 90)
    by_status = {key[1][1]: value for key, value in figures.items() if key[0] == "linkedbandits_experiments"}
    assert by_status == {"running": 0, "paused": 2, "archived": 0}
    assert (figures["linkedbandits_webhook_waiting",], figures["linkedbandits_webhook_oldest_seconds",]) == (3, 10)
    shown.watch.figures = StoreFigures(shown.clock(), 77, None, {}, OutboxCounts(0, None))
    figures = shown.figures()
    assert ("linkedbandits_disk_free_bytes",) not in figures  # the database's disk is not seen from here
    assert figures["linkedbandits_webhook_oldest_seconds",] == 0


def test_experiments_are_shown_with_the_age_of_the_survey(store):
    shown = Shown(store)
    shown.latest.keep(Survey(4, 9, 4_970.0, (Progress("e1", 40, 3, 0.25), Progress("e2", 1, 2, None)), 2, ()))
    shown.clock.now += 6
    figures = shown.figures()
    names = ("survey_age_seconds", "experiments_in_memory", "plays_in_flight", "oldest_lease_seconds")
    assert [figures[f"linkedbandits_{name}",] for name in names] == [6, 4, 9, 30]
    assert figures["linkedbandits_experiments_without_series",] == 2
    assert figures["linkedbandits_experiment_plays", ("experiment", "e1")] == 40
    assert figures["linkedbandits_experiment_arms_left", ("experiment", "e2")] == 2
    ratios = {key: value for key, value in figures.items() if key[0] == "linkedbandits_experiment_evidence_ratio"}
    assert ratios == {("linkedbandits_experiment_evidence_ratio", ("experiment", "e1")): 0.25}


def test_alarms_are_counted_by_kind_also_those_of_which_there_are_none(store):
    shown = Shown(store)
    shown.alarms = ["drift", "memory", "drift"]
    up = {key[1][1]: value for key, value in shown.figures().items() if key[0] == "linkedbandits_alarms_up"}
    assert up == {"drift": 2, "dependence": 0, "position": 0, "memory": 1}


def test_the_desk_s_commit_has_an_age(store):
    shown = Shown(store)
    shown.clock.now += 40
    assert shown.figures()["linkedbandits_last_commit_age_seconds",] == 40


def test_the_door_is_shown_with_every_reason_to_turn_somebody_away():
    door = Door(DoorLimits(connections=1), ManualClock())

    class Connection:
        address, part, is_known = "here", "body", False

    served = Connection()
    door.enter(served)
    door.is_served(served)
    door.enter(Connection())
    registry = CollectorRegistry()
    registry.register(FiguresOfTheDoor(door))
    figures = figures_in(generate_latest(registry).decode())
    assert (figures["linkedbandits_connections",], figures["linkedbandits_connections_most",]) == (1, 1)
    turned_away = {key[1][1]: value for key, value in figures.items() if "turned_away_total" in key[0]}
    assert turned_away == dict.fromkeys(REASONS, 0) | {"full": 1}
