// All arms at one glance, where they do not fit one page of the table: estimates with intervals, and the evidence
// against each, arm by arm from left to right. Drawn on a canvas, so that a thousand arms cost no more than ten.

import { ROWS_A_PAGE } from "./arms-table.js";
import { axis, current, makeChart } from "./chart-style.js";
import { setAttribute, setHidden, setText } from "./dom.js";
import { count, evidence as evidenceText, labelText, percent, roundPercent, samplesText } from "./format.js";
import { markPath } from "./line-style.js";

const KINDS = ["out", "in", "leading"]; // in the order they are drawn: what matters lies on top
const RADIUS = { out: 2, in: 2, leading: 4 };
const SYNC = "arms"; // the cursors of the two charts move together

export class ArmsOverview {
  #parts;
  #arms = null;
  #estimates = null;
  #evidence = null;

  constructor(parts) {
    this.#parts = parts;
  }

  render(_, arms) {
    const many = arms.size > ROWS_A_PAGE;
    setHidden(this.#parts.overview, !many);
    if (!many) return;
    this.#arms = arms;
    this.#renderEstimates();
    setHidden(this.#parts["evidence-figure"], arms.evidence === null);
    if (arms.evidence !== null) this.#renderEvidence();
  }

  close() {
    this.#estimates?.close();
    this.#evidence?.close();
  }

  #renderEstimates() {
    const container = this.#parts["estimates-chart"];
    const { size, mean, label, leading, digits } = this.#arms;
    const data = [[...mean.keys()].map((index) => index + 1), mean];
    const leaders = [...leading].map(
      (index) => `${labelText(label[index])} leads with ${percent(mean[index], digits)}`,
    );
    setAttribute(
      container,
      "aria-label",
      `Estimates of ${count(size)} arms; ${leaders.join(", ") || "none yet"}. The table has the figures.`,
    );
    this.#estimates ??= makeChart(
      container,
      190,
      this.#options(() => this.#arms.shareEnd, roundPercent, drawIntervals),
      data,
    );
    this.#estimates.plot.setData(data);
  }

  #renderEvidence() {
    const container = this.#parts["evidence-chart"];
    const { size, evidence, evidenceEnd, threshold, stillIn } = this.#arms;
    const data = [[...evidence.keys()].map((index) => index + 1), evidence];
    const out = stillIn.filter((still) => !still).length;
    const line = threshold === null ? "" : `, out at ${evidenceText(threshold)}`;
    setText(this.#parts["evidence-line"], `${line}, drawn up to ${evidenceText(evidenceEnd)}`);
    setAttribute(
      container,
      "aria-label",
      `Evidence against ${count(size)} arms, logarithmic${line}; ${count(out)} are out. The table has the figures.`,
    );
    this.#evidence ??= makeChart(
      container,
      150,
      this.#options(() => this.#arms.evidenceEnd, evidenceText, drawEvidence),
      data,
    );
    this.#evidence.plot.setData(data);
  }

  #options(end, label, draw) {
    return {
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false }, sync: { key: SYNC } },
      scales: { x: { time: false, range: () => [0.5, this.#arms.size + 0.5] }, y: { range: () => [0, end()] } },
      axes: [
        axis({ grid: { show: false }, space: 60, size: 30 }),
        axis({ values: (_, splits) => splits.map((at) => label(at)), size: 52, space: 34 }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => draw(plot, this.#arms)], setCursor: [(plot) => this.#read(plot.cursor.idx)] },
    };
  }

  /** Say what is under the pointer. */
  #read(index) {
    const { label, mean, low, high, samples, onlyFirstTries, stillIn, evidence, digits } = this.#arms;
    if (index === null || index === undefined || mean[index] === null) return setText(this.#parts.readout, "");
    const against = evidence?.[index] ?? null;
    const facts = [
      `${percent(mean[index], digits)} (${percent(low[index], digits)} to ${percent(high[index], digits)})`,
      samplesText(samples[index], onlyFirstTries),
      against === null ? "" : `evidence against ${evidenceText(against)}`,
      stillIn[index] ? "in" : "out",
    ];
    setText(this.#parts.readout, `${labelText(label[index])}: ${facts.filter(Boolean).join(", ")}`);
  }
}

const kindOf = ({ leading, stillIn }, index) => (leading.has(index) ? "leading" : stillIn[index] ? "in" : "out");

function drawIntervals(plot, { mean, low, high, ...arms }) {
  drawArms(plot, arms, (index) => mean[index] !== null && [low[index], mean[index], high[index]]);
}

function drawEvidence(plot, { evidence, evidenceEnd, threshold, ...arms }) {
  drawArms(plot, arms, (index) => {
    const log10 = Math.min(evidenceEnd, Math.max(0, evidence[index] ?? 0));
    return [log10, log10, log10];
  });
  if (threshold !== null) drawThreshold(plot, plot.valToPos(threshold, "y", true));
}

/** Draw a line from low to high and a dot at value for every arm of which `values` gives [low, value, high]. */
function drawArms(plot, arms, values) {
  const { ctx, bbox } = plot;
  const x = (index) => plot.valToPos(index + 1, "x", true);
  const y = (value) => plot.valToPos(value, "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top - 4, bbox.width, bbox.height + 8); // a dot on the edge stays whole
  ctx.clip();
  for (const kind of KINDS) {
    // One path for all lines and one for all dots of a kind: a thousand strokes of their own would take much longer.
    const lines = new Path2D();
    const dots = new Path2D();
    const radius = RADIUS[kind] * devicePixelRatio;
    for (let index = 0; index < arms.size; index += 1) {
      const drawn = kindOf(arms, index) === kind && values(index);
      if (!drawn) continue;
      const [low, value, high] = drawn;
      lines.moveTo(x(index), y(low));
      lines.lineTo(x(index), y(high));
      dots.addPath(markPath(kind === "leading" ? "diamond" : "circle", x(index), y(value), radius));
    }
    ctx.lineWidth = devicePixelRatio;
    ctx.strokeStyle = current[kind];
    ctx.globalAlpha = 0.45;
    ctx.stroke(lines);
    ctx.globalAlpha = 1;
    // As in the table and in the legend: a ring for those that are out, a dot, a diamond.
    ctx.fillStyle = current[kind];
    if (kind === "out") ctx.stroke(dots);
    else ctx.fill(dots);
  }
  ctx.restore();
}

function drawThreshold({ ctx, bbox }, y) {
  ctx.save();
  ctx.beginPath();
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.strokeStyle = current.threshold;
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
