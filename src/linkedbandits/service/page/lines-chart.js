// A chart of a few lines on one pair of axes: each with its dashes and a mark at its end, some with a band around it.

import { axis, current, makeChart } from "./chart-style.js";
import { setAttribute } from "./dom.js";
import { dashOf, lineColour, markPath, shapeOf } from "./line-style.js";

const BAND_ALPHA = 0.14;

export class LinesChart {
  #container;
  #options;
  #chart = null;
  #lines = [];
  #key = null;

  /**
   * `height`; `xLabels(splits, step)` and `yLabels(splits)`; `xSteps`, where not any step will do; `yRange(low, high)`;
   * `line()`, where a dashed line is drawn across, or null; `onPoint(index)` is told what is under the pointer.
   */
  constructor(container, options) {
    this.#container = container;
    this.#options = options;
  }

  /** Lines are {label, y, low?, high?, style}, all on the same `x`; `sentence` says what is to be seen. */
  render(x, lines, sentence) {
    setAttribute(this.#container, "aria-label", sentence);
    this.#lines = lines;
    const data = [x, ...lines.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y])];
    const key = JSON.stringify([lines.map(({ label, low, style }) => [label, low !== undefined, style]), this.#options.time?.()]);
    if (this.#chart !== null && key === this.#key) return this.#chart.plot.setData(data);
    this.close();
    this.#key = key;
    this.#chart = makeChart(this.#container, this.#options.height, this.#plot(), data);
  }

  close() {
    this.#chart?.close();
    this.#chart = null;
  }

  #plot() {
    const { xLabels, yLabels, xSteps, yRange, onPoint, sync } = this.#options;
    const hidden = { paths: () => null, points: { show: false }, stroke: "transparent" };
    return {
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false }, ...(sync && { sync: { key: sync } }) },
      scales: { x: { time: false, range: widened }, y: { range: (_, low, high) => yRange(low, high) } },
      axes: [
        axis({
          values: (_, splits, __, ___, step) => xLabels(splits, step),
          ...(xSteps?.() && { incrs: xSteps() }),
          space: 80,
          size: 30,
          grid: { show: false },
        }),
        axis({ values: (_, splits) => yLabels(splits), size: 58, space: 34 }),
      ],
      series: [
        {},
        ...this.#lines.flatMap(({ style }) => [
          { stroke: () => lineColour(style), width: 2, dash: dashOf(style), points: { show: false }, spanGaps: true },
          hidden,
          hidden,
        ]),
      ],
      hooks: {
        drawAxes: [(plot) => this.#drawBands(plot)],
        draw: [(plot) => this.#drawOver(plot)],
        setCursor: [(plot) => onPoint?.(plot.cursor.idx ?? null)],
      },
    };
  }

  #drawBands(plot) {
    const { ctx } = plot;
    const [x] = plot.data;
    ctx.save();
    clip(plot);
    ctx.globalAlpha = BAND_ALPHA;
    for (const { low, high, style } of this.#lines) {
      if (low === undefined) continue;
      const known = [...x.keys()].filter((index) => low[index] !== null);
      const at = (index, value) => [plot.valToPos(x[index], "x", true), plot.valToPos(value, "y", true)];
      const band = new Path2D();
      for (const index of known) band.lineTo(...at(index, high[index]));
      for (const index of known.reverse()) band.lineTo(...at(index, low[index]));
      band.closePath();
      ctx.fillStyle = lineColour(style);
      ctx.fill(band);
    }
    ctx.restore();
  }

  #drawOver(plot) {
    const { ctx, bbox } = plot;
    const line = this.#options.line?.() ?? null;
    ctx.save();
    if (line !== null) {
      ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.strokeStyle = current.threshold;
      const y = plot.valToPos(line, "y", true);
      ctx.stroke(new Path2D(`M ${bbox.left} ${y} H ${bbox.left + bbox.width}`));
      ctx.setLineDash([]);
    }
    const [x] = plot.data;
    this.#lines.forEach(({ y, style }) => {
      const last = y.findLastIndex((value) => value !== null && value !== undefined);
      if (last < 0) return;
      const top = plot.valToPos(y[last], "y", true);
      if (top < bbox.top - 1 || top > bbox.top + bbox.height + 1) return;
      ctx.fillStyle = lineColour(style);
      ctx.fill(markPath(shapeOf(style), plot.valToPos(x[last], "x", true), top, 4.5 * devicePixelRatio));
    });
    ctx.restore();
  }
}

function clip({ ctx, bbox }) {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

/** A range that is one point only is made a little wider, or nothing could be drawn in it. */
function widened(_, low, high) {
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}
