// Plays over time.

import { axis, current, makeChart } from "./chart-style.js";
import { setAttribute, setText } from "./dom.js";
import { axisCount, count, duration, plural, when } from "./format.js";
import { TIME_STEPS, timeLabels } from "./time-axis.js";

const HEIGHT = 200;

export class PlaysChart {
  #container;
  #readout;
  #history;
  #chart = null;

  constructor(parts, history) {
    this.#container = parts["plays-chart"];
    this.#readout = parts["plays-readout"];
    this.#history = history;
  }

  render(view) {
    const data = this.#history.drawn(view.created_at, view.plays);
    setAttribute(this.#container, "aria-label", sentence(data, this.#history.rate()));
    if (this.#chart === null) this.#chart = makeChart(this.#container, HEIGHT, this.#options(), data);
    else this.#chart.plot.setData(data);
  }

  close() {
    this.#chart?.close();
  }

  #options() {
    return {
      cursor: { drag: { x: false, y: false }, points: { size: 8 } },
      scales: { x: { time: true }, y: { range: (_, __, high) => [0, Math.max(1, high * 1.08)] } },
      axes: [
        axis({ values: (_, splits, __, ___, step) => timeLabels(splits, step), incrs: TIME_STEPS, space: 80, size: 30, grid: { show: false } }),
        axis({ values: (_, splits) => splits.map(axisCount), size: 52 }),
      ],
      series: [{}, { stroke: () => current.in, fill: () => current["in-tint"], width: 2, points: { show: false } }],
      hooks: { setCursor: [(plot) => this.#read(plot)] },
    };
  }

  /** Say what is under the pointer. */
  #read({ cursor: { idx: index }, data: [times, plays] }) {
    const known = index !== null && index !== undefined;
    setText(this.#readout, known ? `${when(times[index])}: ${plural(plays[index], "play")}` : "");
  }
}

function sentence([times, plays], rate) {
  if (times.length === 1) return "Plays over time: none yet.";
  const span = duration(times.at(-1) - times[0]);
  const lately = rate === null ? "" : `, lately ${pace(rate)}`;
  return `Plays over time: ${count(plays.at(-1))} in ${span}, since ${when(times[0])}${lately}.`;
}

const pace = (rate) => (rate >= 1 ? `${rate.toFixed(1)} a second` : `${(60 * rate).toFixed(1)} a minute`);
