// The list of experiments: a row each, updated in place.

import { instantiate, setAttribute, setHidden, setText } from "./dom.js";
import { count, labelText, NOTHING, standing, when } from "./format.js";

export class ListPage {
  #parts;
  #rows = new Map();

  constructor() {
    const { content, parts } = instantiate("list-page");
    this.content = content;
    this.#parts = parts;
    document.title = "Experiments · linkedbandits";
  }

  receive({ type, data }) {
    if (type === "experiments") this.#render(JSON.parse(data));
  }

  close() {}

  #render(experiments) {
    const { waiting, empty, table, rows } = this.#parts;
    setHidden(waiting, true);
    setHidden(empty, experiments.length > 0);
    setHidden(table, experiments.length === 0);

    const isArchived = ({ status }) => Number(status === "archived");
    experiments.sort((a, b) => isArchived(a) - isArchived(b) || b.created_at - a.created_at);
    const present = new Set(experiments.map(({ id }) => id));
    for (const [id, row] of this.#rows) {
      if (!present.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
      }
    }
    experiments.forEach((experiment, position) => {
      const row = this.#rowOf(experiment.id);
      row.render(experiment);
      if (rows.children[position] !== row.element) rows.insertBefore(row.element, rows.children[position] ?? null);
    });
  }

  #rowOf(id) {
    if (!this.#rows.has(id)) this.#rows.set(id, new Row(id));
    return this.#rows.get(id);
  }
}

class Row {
  #parts;

  constructor(id) {
    const { content, parts } = instantiate("list-row");
    this.element = content.firstElementChild;
    this.#parts = parts;
    parts.name.href = `#/experiments/${encodeURIComponent(id)}`;
  }

  render(experiment) {
    const { name, created, badge, arms, plays, leading, standing: tail } = this.#parts;
    const { kind, word } = standing(experiment);
    setText(name, experiment.name);
    setText(created, when(experiment.created_at));
    setText(badge, word);
    setAttribute(badge, "data-kind", kind);
    setText(arms, count(experiment.arms));
    // A damaged experiment has no figures.
    setText(plays, experiment.plays === null ? NOTHING : count(experiment.plays));
    const played = experiment.plays > 0;
    setText(leading, played ? leadersOf(experiment).map(labelText).join(", ") : NOTHING);
    setText(tail, played ? tailOf(experiment) : "");
  }
}

const leadersOf = ({ leading: { arm, top } }) => (top?.length > 1 ? top : [arm]);

function tailOf({ done, leading, per_cost: perCost = false }) {
  if (!done) return perCost ? "leads, by successes per cost" : "leads";
  if (leading.status === "confident" && perCost) return "has most successes per cost";
  if (leading.status === "confident" && leading.settled?.length) return "in this order";
  return leading.status === "confident" ? (leading.top?.length > 1 ? "are best" : "is best") : "led at the end";
}
