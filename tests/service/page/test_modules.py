"""The page's modules by themselves, run in the browser they are written for."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from linkedbandits.service.view import upgrade_sentence
from tools.waiting import SECONDS

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")


@pytest.fixture(scope="module")
def page(browser, service):
    page = browser.new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(service.url)
    yield page
    page.close()


PARSE = """
async (pieces) => {
  const { EventParser } = await import("/static/stream.js");
  const events = [];
  const parser = new EventParser((event) => events.push(event));
  for (const piece of pieces) parser.push(piece);
  return events;
}
"""
STREAM = (
    ": hello\r\nid: 7\r\nevent: view\r\ndata: [0,\r\ndata:  1]\r\n\r\n"  # ends of lines as in any of the three styles
    ": still here\n\ndata: x:y\n\n"
    "id: 8\rdata\r\rdata: cut"
)
EVENTS = [
    {"type": "view", "id": "7", "data": "[0,\n 1]"},
    {"type": "message", "id": None, "data": "x:y"},
    {"type": "message", "id": "8", "data": ""},
]


def test_events_are_read_wherever_the_network_cuts_the_stream(page):
    for cut in range(len(STREAM) + 1):
        assert page.evaluate(PARSE, [STREAM[:cut], STREAM[cut:]]) == EVENTS
    assert page.evaluate(PARSE, list(STREAM)) == EVENTS


MERGE = """
async (text) => {
  const batches = JSON.parse(text); // quicker to hand over than thousands of values
  const { History } = await import("/static/history.js");
  const history = new History();
  for (const batch of batches) history.add(batch);
  return { times: history.times, plays: history.plays, rate: history.rate(), drawn: history.drawn(9, 7) };
}
"""


def test_history_is_put_together_without_repeats(page):
    merged = page.evaluate(MERGE, json.dumps([[[1, 10.0, 1], [4, 11.0, 3]], [[4, 11.0, 3], [9, 13.0, 6]], []]))
    assert (merged["times"], merged["plays"]) == ([10, 11, 13], [1, 3, 6])
    assert merged["rate"] == pytest.approx(5 / 3)
    assert merged["drawn"] == [[9, 10, 11, 13, 14], [0, 1, 3, 6, 7]]


def test_a_long_history_is_thinned_but_keeps_its_ends(page):
    merged = page.evaluate(MERGE, json.dumps([[[seq, float(seq), 2 * seq] for seq in range(9_000)]]))
    assert 2_000 <= len(merged["times"]) <= 4_000
    assert (merged["times"][0], merged["times"][-1], merged["plays"][-1]) == (0, 8_999, 17_998)
    assert merged["times"] == sorted(merged["times"])
    assert merged["rate"] == pytest.approx(2)


FORMAT = "async ([name, ...values]) => (await import('/static/format.js'))[name](...values)"


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("count", [1234567], "1,234,567"),
        ("about", [1234], "1,200"),
        ("about", [12_345_678], "12.3m"),
        ("amount", [0.81437], "0.814"),
        ("amount", [1234.5], "1,230"),
        ("amount", [12_345_678], "12.3m"),
        ("percent", [0.12345, 1], "12.3\u00a0%"),
        ("chance", [0.05], "5\u00a0%"),
        ("chance", [0.001], "0.1\u00a0%"),
        ("chance", [1e-12], "10⁻¹²"),
        ("evidence", [-0.3], "below 1"),
        ("evidence", [0], "1"),
        ("evidence", [0.4771], "3"),
        ("evidence", [1.301], "20"),
        ("evidence", [4.3424], "22,000"),
        ("evidence", [12], "10¹²"),
        ("evidence", [17.6], "4 \N{MULTIPLICATION SIGN} 10¹⁷"),
        ("evidence", [9.9999], "10¹⁰"),
        ("duration", [42], "42 s"),
        ("duration", [600], "10 min"),
        ("duration", [36_000], "10 h"),
        ("plural", [1, "play"], "1 play"),
        ("plural", [1000, "play"], "1,000 plays"),
        ("samplesText", [1, False], "1 sample"),
        ("samplesText", [1, True], "1 first try"),
        ("samplesText", [1000, True], "1,000 first tries"),
    ],
)
def test_figures_are_written_for_readers(page, name, values, text):
    assert page.evaluate(FORMAT, [name, *values]) == text


SCALES = """
async (view) => {
  const { readArms } = await import("/static/arms.js");
  const { shareEnd, digits, threshold, evidenceEnd, leading } = readArms(view);
  return { shareEnd, digits, threshold, evidenceEnd, leading: [...leading] };
}
"""


def a_view(high, samples, still_in, evidence, **changes):
    arms = {"label": ["a", "b", "c"], "high": high, "samples": samples, "still_in": still_in}
    arms["log10_evidence"] = evidence
    return {
        "arms": arms,
        "goal": {"delta": 0.01},
        "plays": 9,
        "leads": True,
        "leading": {"arm": "b", "top": []},
    } | changes


def test_scales_fit_the_arms_that_are_still_asked_about(page):
    read = page.evaluate(SCALES, a_view([0.9, 0.17, 1.0], [5, 90, 0], [False, True, True], [2.2, -1.0, None]))
    assert read == {"shareEnd": pytest.approx(0.2), "digits": 1, "threshold": 2, "evidenceEnd": 2.5, "leading": [1]}


def test_scales_exist_before_anything_is_known(page):
    view = a_view([1, 1, 1], [0, 0, 0], [True] * 3, None, leads=False, goal={"delta": None})
    assert page.evaluate(SCALES, view) == {
        "shareEnd": 1,
        "digits": 1,
        "threshold": None,
        "evidenceEnd": 1,
        "leading": [],
    }


def test_all_of_the_best_lead_where_several_are_sought(page):
    view = a_view([0.5] * 3, [9] * 3, [True] * 3, None, leading={"arm": "c", "top": ["c", "a"]})
    assert page.evaluate(SCALES, view)["leading"] == [0, 2]


ANSWER = """
async (goal) => {
  const { answerOf } = await import("/static/headline.js");
  return answerOf({ done: true, leading: { arm: "b", status: "confident", proved: true }, goal });
}
"""


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ({"tolerance": 0, "neighbours": 0}, "b is best"),
        ({"tolerance": 0, "neighbours": 0, "costs": [1, 2]}, "b has most successes per cost"),
        ({"tolerance": 0.02, "neighbours": 0}, "b is best, or within 0.02 of it"),
        ({"tolerance": 0, "neighbours": 1}, "b is best, or at most 1 place from it"),
        ({"tolerance": 0.02, "neighbours": 3}, "b is best, or within 0.02 of it, or at most 3 places from it"),
    ],
)
def test_a_verdict_with_a_tolerance_says_so(page, goal, words):
    assert page.evaluate(ANSWER, goal) == words


NOTE = """
async (upgrade) => {
  const { upgradeNote } = await import("/static/headline.js");
  return upgradeNote(upgrade);
}
"""


@pytest.mark.parametrize(("plays", "evidence"), [(300, [1.0]), (1, [1.0]), (300, None), (0, None)], ids=str)
def test_an_upgrade_is_told_as_in_the_journal(page, plays, evidence):
    said = page.evaluate(NOTE, {"version": "0.2.0", "before": None, "plays": plays, "evidence": evidence})
    assert said == f"G{upgrade_sentence('0.2.0', plays, evidence is not None)[1:]}."


def test_without_an_upgrade_nothing_is_said_of_one(page):
    assert page.evaluate(NOTE, None) == ""


LABELS = "async ([name, splits, step]) => (await import('/static/time-axis.js'))[name](splits, step)"


@pytest.mark.parametrize("step", [1, 2, 5, 10, 15, 30, 60, 300, 3600, 6 * 3600, 86400, 5 * 86400], ids=str)
def test_times_below_a_chart_are_never_the_same_twice_in_a_row(page, step):
    start = 1_750_000_000 // step * step
    labels = page.evaluate(LABELS, ["timeLabels", [start + step * number for number in range(8)], step])
    assert all(earlier != later for earlier, later in pairwise(labels))


def test_no_step_of_times_is_below_what_a_label_says(page):
    steps = page.evaluate("async () => (await import('/static/time-axis.js')).TIME_STEPS")
    assert min(steps) == 1
    assert steps == sorted(steps)
    assert page.evaluate(LABELS, ["sinceLabels", [0, 90, 180], 90]) == ["0 min", "1.5 min", "3 min"]


LEADERS = "async (drawn) => (await import('/static/curve-data.js')).leadersOver(drawn)"


def test_changes_of_the_leader_are_told_once_each(page):
    drawn = {"at": [1, 2, 3, 4], "plays": [10, 20, 30, 40], "leading": [[], ["a"], ["a"], ["b", "c"]]}
    assert page.evaluate(LEADERS, drawn) == [
        {"names": "a", "at": 2, "plays": 20},
        {"names": "b, c", "at": 4, "plays": 40},
    ]


CODE = "async (of) => (await import('/static/code.js')).codeFor(...of)"


@pytest.mark.parametrize("kind", ["python", "async", "curl"])
def test_code_has_a_place_for_a_token_where_one_is_needed(page, kind):
    code = page.evaluate(CODE, [kind, "https://bandits.example/x", "9f0c", True, True])
    assert "YOUR-TOKEN" in code
    assert "https://bandits.example/x" in code
    assert "rest" in code
    if kind != "curl":
        compile(code, kind, "exec")


FIELD = "async (problem) => (await import('/static/create-problems.js')).fieldOf(problem)"


@pytest.mark.parametrize(
    ("problem", "field"),
    [
        ({"message": "k=5 best of 2 arms", "document": {"type": "urn:linkedbandits:invalid-parameter"}}, "k"),
        ({"message": "1 cost for 2 arms", "document": {"type": "urn:linkedbandits:invalid-parameter"}}, "costs"),
        ({"message": "twice", "document": {"type": "urn:linkedbandits:invalid-labels"}}, "arms"),
        ({"message": "no", "document": {"type": "urn:linkedbandits:linkage-mismatch"}}, "linkage"),
        (
            {"message": "x", "document": {"errors": [{"at": ["body", "policy", "parameters", "gap"], "says": "x"}]}},
            "gap",
        ),
        ({"message": "x", "document": {"errors": [{"at": ["body", "arms", 3, "str"], "says": "x"}]}}, "arms"),
        ({"message": "the store is away"}, "form"),
    ],
    ids=str,
)
def test_a_refusal_is_said_at_its_field(page, problem, field):
    assert [name for name, _ in page.evaluate(FIELD, problem)] == [field]
