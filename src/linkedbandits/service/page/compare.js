// Two experiments side by side: what they are, and the same charts on one pair of axes.

import { readArms } from "./arms.js";
import { CurveData } from "./curve-data.js";
import { instantiate, setAttribute, setText } from "./dom.js";
import { axisCount, chance, count, evidence as evidenceText, labelText, NOTHING, percent, plural, roundPercent, standing, when } from "./format.js";
import { answerOf } from "./headline.js";
import { History } from "./history.js";
import { swatch } from "./line-style.js";
import { LinesChart } from "./lines-chart.js";
import { sinceLabels, TIME_STEPS } from "./time-axis.js";

const MOST_ARMS = 50;

export class ComparePage {
  #parts;
  #sides;
  #charts;
  #frame = 0;

  constructor(ids) {
    const { content, parts } = instantiate("compare-page");
    this.content = content;
    this.#parts = parts;
    this.paths = ids.map((id) => `v1/experiments/${encodeURIComponent(id)}/events`);
    this.#sides = ids.map((id) => ({ view: null, history: new History(), curves: new CurveData(id, () => this.#later()) }));
    ids.forEach((id, side) => {
      parts[`name-${side}`].href = `#/experiments/${encodeURIComponent(id)}`;
    });
    this.#charts = this.#makeCharts();
    document.title = "Compare · linkedbandits";
  }

  receive({ type, data }, side) {
    if (type !== "view") return;
    const known = this.#sides[side];
    known.view = JSON.parse(data);
    known.history.add(known.view.history);
    known.curves.follow(known.view);
    this.#later();
  }

  close() {
    cancelAnimationFrame(this.#frame);
    for (const { curves } of this.#sides) curves.close();
    for (const chart of Object.values(this.#charts)) chart.close();
  }

  #makeCharts() {
    const parts = this.#parts;
    const overPlays = { height: 210, xLabels: (splits) => splits.map(axisCount) };
    return {
      plays: new LinesChart(parts["compare-plays"], {
        height: 210,
        xLabels: sinceLabels,
        xSteps: () => TIME_STEPS,
        yLabels: (splits) => splits.map(axisCount),
        yRange: (_, high) => [0, Math.max(1, 1.08 * high)],
      }),
      estimates: new LinesChart(parts["compare-estimates"], {
        ...overPlays,
        yLabels: (splits) => splits.map(roundPercent),
        yRange: () => [0, Math.max(...this.#known().map(({ view }) => readArms(view).shareEnd))],
      }),
      evidence: new LinesChart(parts["compare-evidence"], {
        ...overPlays,
        yLabels: (splits) => splits.map((share) => `${Number((100 * share).toPrecision(3))} %`),
        yRange: (_, high) => [0, Math.max(1.05, Math.min(high, 1.6))],
        line: () => 1,
      }),
    };
  }

  #known() {
    return this.#sides.filter(({ view }) => view !== null);
  }

  #later() {
    this.#frame ||= requestAnimationFrame(() => this.#render());
  }

  #render() {
    this.#frame = 0;
    if (this.#known().length < 2) return;
    const views = this.#sides.map(({ view }) => view);
    document.title = `${views.map(({ name }) => name).join(" and ")} · linkedbandits`;
    this.#sides.forEach(({ view }, side) => this.#renderFacts(view, side));
    this.#renderArms(views);
    this.#renderPlays();
    if (this.#sides.every(({ curves }) => curves.isThere)) this.#renderCurves();
  }

  #renderFacts(view, side) {
    const facts = factsOf(view);
    const parts = this.#parts;
    setText(parts[`name-${side}`], view.name);
    if (parts[`mark-${side}`].childElementCount === 0) parts[`mark-${side}`].append(swatch(side));
    for (const [name, text] of Object.entries(facts)) setText(parts[`${name}-${side}`], text);
    const { kind, word } = standing(view);
    setText(parts[`badge-${side}`], word);
    setAttribute(parts[`badge-${side}`], "data-kind", kind);
  }

  /** The arms of both, by name: those that both have first. */
  #renderArms(views) {
    const rows = this.#parts["compare-arms"];
    const [labels, others] = views.map(({ arms }) => arms.label.map(labelText));
    const shared = labels.filter((label) => others.includes(label));
    const all = [...shared, ...labels.filter((label) => !others.includes(label)), ...others.filter((label) => !labels.includes(label))];
    const shown = all.slice(0, MOST_ARMS);
    while (rows.children.length < shown.length) rows.append(instantiate("compare-arm").content);
    while (rows.children.length > shown.length) rows.lastElementChild.remove();
    shown.forEach((label, place) => {
      const [name, ...cells] = rows.children[place].children;
      setText(name, label);
      cells.forEach((cell, side) => setText(cell, estimateOf(views[side], label)));
    });
    const more = all.length - shown.length;
    setText(this.#parts["compare-more"], more > 0 ? `${plural(more, "more arm")} ${more === 1 ? "is" : "are"} not shown.` : "");
  }

  #renderPlays() {
    const drawn = this.#sides.map(({ view, history }) => {
      const [times, plays] = history.drawn(view.created_at, view.plays);
      return [times.map((at) => at - view.created_at), plays];
    });
    const [x, ...lines] = joined(drawn);
    const said = this.#sides.map(({ view }) => `${view.name} ${plural(view.plays, "play")}`).join(", ");
    this.#charts.plays.render(x, this.#lines(lines), `Plays since each was created: ${said}.`);
  }

  #renderCurves() {
    const drawn = this.#sides.map(({ view, curves }) => curves.with(view));
    const columns = drawn.map((curves) => {
      const [leader] = curves.arms;
      return leader === undefined ? [[], [], [], []] : [curves.plays, leader.mean, leader.low, leader.high];
    });
    const enough = columns.some(([plays]) => plays.length > 1);
    this.#parts["compare-curves"].hidden = !enough;
    setText(this.#parts["no-curves"], enough ? "" : "Nothing was kept yet of how estimates and evidence came about.");
    if (!enough) return;
    const [x, ...y] = joined(columns);
    const estimates = [0, 1].map((side) => ({ ...this.#lineOf(side, y[3 * side]), low: y[3 * side + 1], high: y[3 * side + 2] }));
    const said = drawn.map(({ arms }, side) => `${this.#sides[side].view.name}: ${arms.length > 0 ? labelText(arms[0].label) : "none"}`);
    this.#charts.estimates.render(x, estimates, `Estimate of the leading arm over plays, with intervals. ${said.join(", ")}.`);
    const [xEvidence, ...shares] = joined(drawn.map((curves, side) => shareOfEvidence(curves, this.#sides[side].view)));
    this.#charts.evidence.render(xEvidence, this.#lines(shares), "Evidence against the closest rival over plays, as a share of what decides.");
  }

  #lines(columns) {
    return columns.map((y, side) => this.#lineOf(side, y));
  }

  #lineOf(side, y) {
    return { label: String(side), y, style: side };
  }
}

function factsOf(view) {
  const { goal, policy, plays, leads, done } = view;
  const begun = plays > 0 || (view.from_log?.read ?? 0) > 0;
  const answer = leads && begun ? answerOf(view) : begun ? "Too early to say" : NOTHING;
  return {
    answer: done || !leads ? answer : `${answer} leads`,
    plays: count(plays),
    arms: count(view.arms.label.length),
    policy: policy.name,
    delta: goal.delta === null ? NOTHING : chance(goal.delta),
    linkage: view.linkage_words,
    tags: view.tags.join(", ") || NOTHING,
    created: when(view.created_at),
  };
}

function estimateOf(view, label) {
  const index = view.arms.label.findIndex((candidate) => labelText(candidate) === label);
  if (index < 0 || view.arms.mean[index] === null) return NOTHING;
  const { digits } = readArms(view);
  const { mean, low, high } = view.arms;
  return `${percent(mean[index], digits)} (${percent(low[index], digits)} to ${percent(high[index], digits)})`;
}

/** The least evidence against any arm but the one that is first, as a share of what it takes: 1 decides. */
function shareOfEvidence({ plays, arms }, { goal, arms: { label } }) {
  if (arms.length < 2 || goal.delta === null) return [[], []];
  const decides = -Math.log10(goal.delta);
  const complete = arms.length === label.length; // else arms that are far behind are not among them, and matter little
  const rivals = arms.slice(1);
  const least = plays.map((_, index) => {
    const known = rivals.map(({ evidence }) => evidence[index]).filter((value) => value !== null);
    return known.length === 0 || (complete && known.length < rivals.length) ? null : Math.max(0, Math.min(...known)) / decides;
  });
  return [plays, least];
}

/** Columns of several tables, each with its x first, on one x; between the points of its own a table has none. */
function joined(tables) {
  const x = [...new Set(tables.flatMap(([own]) => own))].sort((a, b) => a - b);
  const columns = tables.flatMap(([own, ...columns]) => {
    const place = new Map(own.map((value, index) => [value, index]));
    return columns.map((column) => x.map((value) => (place.has(value) ? column[place.get(value)] : null)));
  });
  return [x, ...columns];
}
