// Estimates with intervals, and the evidence, over time or over plays.

import { CurveData, leadersOver } from "./curve-data.js";
import { setHidden, setText } from "./dom.js";
import { axisCount, evidence as evidenceText, labelText, percent, plural, roundPercent, when } from "./format.js";
import { lineColour, swatch } from "./line-style.js";
import { LinesChart } from "./lines-chart.js";
import { TIME_STEPS, timeLabels } from "./time-axis.js";

const BANDS = 2; // intervals of more arms would cover each other
const SYNC = "curves";

export class Curves {
  #parts;
  #data;
  #view = null;
  #arms = null;
  #drawn = null;
  #estimates;
  #evidence;
  #legend = "";

  constructor(parts, id) {
    this.#parts = parts;
    this.#data = new CurveData(id, () => this.#draw());
    const overTime = () => parts["curve-choice"].elements.over.value === "time";
    const shared = {
      time: overTime,
      xLabels: (splits, step) => (overTime() ? timeLabels(splits, step) : splits.map(axisCount)),
      xSteps: () => (overTime() ? TIME_STEPS : null),
      onPoint: (index) => this.#read(index),
      sync: SYNC,
    };
    this.#estimates = new LinesChart(parts["estimates-over-time"], {
      ...shared,
      height: 230,
      yLabels: (splits) => splits.map(roundPercent),
      yRange: () => [0, this.#arms.shareEnd],
    });
    this.#evidence = new LinesChart(parts["evidence-over-time"], {
      ...shared,
      height: 180,
      yLabels: (splits) => splits.map(evidenceText),
      yRange: () => [0, this.#arms.evidenceEnd],
      line: () => this.#arms.threshold,
    });
    parts["curve-choice"].addEventListener("change", () => this.#draw());
    parts["curve-choice"].addEventListener("submit", (event) => event.preventDefault());
  }

  render(view, arms) {
    [this.#view, this.#arms] = [view, arms];
    this.#data.follow(view);
    this.#draw();
  }

  close() {
    this.#data.close();
    this.#estimates.close();
    this.#evidence.close();
  }

  #draw() {
    if (this.#view === null || !this.#data.isThere) return;
    const parts = this.#parts;
    const drawn = (this.#drawn = this.#data.with(this.#view));
    const enough = drawn.at.length > 1;
    setHidden(parts["curve-charts"], !enough);
    setText(parts["no-curves"], enough ? "" : this.#whyNothing());
    setHidden(parts["no-curves"], enough);
    if (!enough) return;
    const overTime = parts["curve-choice"].elements.over.value === "time";
    const x = overTime ? drawn.at : drawn.plays;
    const { estimates, against } = linesOf(drawn);
    const span = overTime ? `since ${when(drawn.at[0])}` : `over ${plural(drawn.plays.at(-1), "play")}`;
    this.#estimates.render(x, estimates, `${estimatesInWords(drawn, this.#arms.digits)} ${span}. The table has the present figures.`);
    const kept = this.#arms.evidence !== null;
    setHidden(parts["evidence-over-time-figure"], !kept);
    if (kept) this.#evidence.render(x, against, `Evidence against ${plural(against.length, "arm")}, logarithmic, ${span}.`);
    setText(parts.leaders, leadersInWords(drawn));
    this.#renderLegend(drawn.arms);
  }

  #whyNothing() {
    return this.#view.plays === 0 && !this.#view.done
      ? "The first answers will show here."
      : "Nothing was kept of how this came about: it was played before an upgrade, or within one second.";
  }

  #renderLegend(arms) {
    const key = JSON.stringify(arms.map(({ label }) => label));
    if (key === this.#legend) return;
    this.#legend = key;
    lineColour(0); // colours are there
    this.#parts["curve-legend"].replaceChildren(
      ...arms.map(({ label }, index) => {
        const item = document.createElement("li");
        const name = document.createElement("span");
        name.className = "label";
        name.textContent = labelText(label);
        item.append(swatch(index), name);
        return item;
      }),
    );
    const left = this.#arms.size - arms.length;
    setText(this.#parts["curve-others"], left > 0 ? `The best ${arms.length} of ${plural(this.#arms.size, "arm")}.` : "");
  }

  /** Say what is under the pointer. */
  #read(index) {
    if (index === null || this.#drawn === null) return setText(this.#parts["curve-readout"], "");
    const { at, plays, arms } = this.#drawn;
    const known = arms.filter(({ mean }) => mean[index] !== null && mean[index] !== undefined).slice(0, 3);
    const facts = known.map(({ label, mean }) => `${labelText(label)} ${percent(mean[index], this.#arms.digits)}`);
    setText(this.#parts["curve-readout"], `${when(at[index])}, ${plural(plays[index], "play")}: ${facts.join(", ")}`);
  }
}

function linesOf({ arms }) {
  return {
    estimates: arms.map(({ label, mean, low, high }, style) => ({
      label,
      y: mean,
      style,
      ...(style < BANDS && { low, high }),
    })),
    against: arms.map(({ label, evidence }, style) => ({ label, y: evidence, style })),
  };
}

function estimatesInWords({ arms }, digits) {
  const [{ label, mean }] = arms;
  const last = mean.findLast((value) => value !== null);
  const now = last === undefined ? "" : `; ${labelText(label)} is at ${percent(last, digits)} now`;
  return `Estimates of ${plural(arms.length, "arm")}${now},`;
}

/** Who has led, and since when; the last few changes. */
function leadersInWords(drawn) {
  const changes = leadersOver(drawn);
  if (changes.length === 0) return "No leader yet: every arm still in needs ten samples first.";
  const shown = changes.slice(-3).map(({ names, plays }) => `${names} since ${plural(plays, "play")}`);
  const before = changes.length > 3 ? `${plural(changes.length - 3, "change")} before, then ` : "";
  return `Who led: ${before}${shown.join(", then ")}.`;
}
