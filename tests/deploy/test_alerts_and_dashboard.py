"""Alert rules and the dashboard name what a running service really exports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from linkedbandits.service.http.service import Settings
from tests.support.promql import Named, grouped_by, selectors
from tests.support.running_service import running_service
from tools.waiting import SECONDS, until

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "alerts.yml"
DASHBOARD = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8"))
BY_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus adds to every series."""

RULES = [rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = {
    **{rule["alert"]: rule["expr"] for rule in RULES},
    **{f"{panel['title']}, {one['refId']}": one["expr"] for panel in PANELS for one in panel["targets"]},
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The labels of every metric of a service in which something has happened."""
    path = str(tmp_path_factory.mktemp("service") / "experiments.sqlite3")
    with running_service(path, Settings(experiments_in_metrics=5)) as service:
        service.play(service.create(), 20)
        until(lambda: any(key[0] == "linkedbandits_experiment_evidence_ratio" for key in service.figures()), "a survey")
        until(lambda: ("linkedbandits_store_bytes",) in service.figures(), "figures of the store")
        found = {"up": set()}
        for name, *labels in service.figures():
            found.setdefault(name, set()).update(label for label, _ in labels)
        return found


@pytest.mark.parametrize("title", EXPRESSIONS)
def test_every_expression_names_metrics_and_labels_that_are_exported(exported, title):
    expression = EXPRESSIONS[title]
    named = list(selectors(expression))
    assert named
    for metric, labels in named:
        assert metric in exported, f"no service exports {metric}"
        assert labels <= exported[metric] | BY_PROMETHEUS, f"{metric} has the labels {sorted(exported[metric])}"
    known = set.union(BY_PROMETHEUS, *(exported[metric] for metric, _ in named))
    assert grouped_by(expression) <= known


def test_what_texts_say_of_labels_is_there(exported):
    texts = [(one["expr"], one["legendFormat"]) for panel in PANELS for one in panel["targets"]]
    texts += [(rule["expr"], " ".join(rule["annotations"].values()).replace("$labels.", "")) for rule in RULES]
    for expression, text in texts:
        written = set(re.findall(r"\{\{\s*([a-z]+)\s*\}\}", text))
        known = set.union(BY_PROMETHEUS, *(exported[metric] for metric, _ in selectors(expression)))
        assert written <= (grouped_by(expression) or known), text


def test_the_dashboard_asks_for_its_variables_and_its_panels_do_not_overlap():
    variables = {one["name"] for one in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\}?", json.dumps(DASHBOARD))) - {"__rate_interval"}
    assert used == variables
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


def test_every_alert_says_what_to_do():
    assert len(RULES) == 10
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["remedy"]


def test_metrics_and_labels_are_found_in_expressions():
    expression = (
        'sum by (le, "x") (rate(a_bucket{r=~"b{c}", s!="d"}[5m])) / on(i) 0.2 * b:c > 1e3 and absent(up{job="e"})'
    )
    assert set(selectors(expression)) == {
        Named("a_bucket", frozenset({"r", "s"})),
        Named("b:c", frozenset()),
        Named("up", frozenset({"job"})),
    }
    assert grouped_by("sum by (le, route) (x) / on(instance) y") == {"le", "route", "instance"}


@pytest.fixture(scope="session")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed: it is in Debian's package prometheus")
    return found


def test_promtool_finds_nothing_wrong_with_the_rules(promtool):
    checked = subprocess.run(
        [promtool, "check", "rules", str(ALERTS)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alerts_come_when_they_should_and_not_when_all_is_well(promtool, tmp_path):
    cases = (Path(__file__).parent / "alerts_test.yml").read_text(encoding="utf-8")
    (tmp_path / "cases.yml").write_text(cases.replace("[ALERTS]", f"[{json.dumps(str(ALERTS))}]"), encoding="utf-8")
    tested = subprocess.run(
        [promtool, "test", "rules", str(tmp_path / "cases.yml")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_has_a_case_of_either_kind():
    cases = yaml.safe_load((Path(__file__).parent / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    quiet = {case["alertname"] for case in cases[0]["alert_rule_test"]}
    firing = {re.search(r'"(\w+)"', one["labels"])[1] for one in cases[1]["promql_expr_test"][0]["exp_samples"]}
    assert quiet == firing == {rule["alert"] for rule in RULES}
