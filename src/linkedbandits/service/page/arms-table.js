// The arms, a page of rows at a time. Rows are places, made once; an arm is written into its place, and only where
// something changed.

import { instantiate, setAttribute, setHidden, setProperty, setText } from "./dom.js";
import { amount, count, evidence as evidenceText, labelText, NOTHING, percent, roundPercent } from "./format.js";

export const ROWS_A_PAGE = 25;

export class ArmsTable {
  #parts;
  #rows = [];
  #page = 0;
  #last = null;

  constructor(parts) {
    this.#parts = parts;
    const form = parts["arm-choice"];
    form.addEventListener("change", () => this.#turnTo(0));
    form.addEventListener("submit", (event) => event.preventDefault());
    parts.previous.addEventListener("click", () => this.#turnTo(this.#page - 1));
    parts.next.addEventListener("click", () => this.#turnTo(this.#page + 1));
  }

  render(view, arms) {
    this.#last = { view, arms };
    const order = this.#order(arms);
    const pages = Math.max(1, Math.ceil(order.length / ROWS_A_PAGE));
    this.#page = Math.max(0, Math.min(this.#page, pages - 1));
    const first = this.#page * ROWS_A_PAGE;
    const shown = order.slice(first, first + ROWS_A_PAGE);

    while (this.#rows.length < shown.length) this.#addRow();
    const tag = !view.done ? "leads" : view.verdict.proved ? "best" : view.verdict.status === "confident" ? "named" : "led";
    this.#rows.forEach((row, place) => row.render(arms, shown[place], tag));
    this.#renderFrame(arms, order.length, first, shown.length, pages);
  }

  #turnTo(page) {
    this.#page = page;
    if (this.#last !== null) this.render(this.#last.view, this.#last.arms);
  }

  /** Indices of the arms to show, in the order that the reader chose. */
  #order({ size, stillIn, mean, costs, leading }) {
    const { order, "still-in": onlyStillIn } = this.#parts["arm-choice"].elements;
    let indices = [...Array(size).keys()];
    if (onlyStillIn.checked) indices = indices.filter((index) => stillIn[index] || leading.has(index));
    // Arms without samples come last; the sort is stable, so ties stay in order.
    const worth = (index) => (mean[index] === null ? -1 : mean[index] / (costs?.[index] ?? 1));
    if (order.value === "estimate") indices.sort((a, b) => worth(b) - worth(a));
    return indices;
  }

  #addRow() {
    const row = new Row();
    this.#rows.push(row);
    this.#parts["arms-rows"].append(row.element);
  }

  /** Everything around the rows: scales, caption, pager. */
  #renderFrame(arms, matching, first, shown, pages) {
    const parts = this.#parts;
    const table = parts["arms-table"];
    const hasEvidence = arms.evidence !== null;
    setAttribute(table, "data-evidence", String(hasEvidence));
    setAttribute(table, "data-costs", String(arms.costs !== null));
    setHidden(parts["no-evidence"], hasEvidence);
    setText(parts["interval-end"], roundPercent(arms.shareEnd));
    const hasLine = hasEvidence && arms.threshold !== null;
    const line = hasLine ? `out at ${evidenceText(arms.threshold)}` : "";
    setText(parts["evidence-end"], line);
    if (hasLine) setProperty(table, "--line-at", (arms.threshold / arms.evidenceEnd).toFixed(4));
    setAttribute(table, "data-line", String(hasLine));
    const intervals = `Intervals are drawn from 0 to ${roundPercent(arms.shareEnd)}`;
    setText(parts.scales, hasLine ? `${intervals}; an arm is ${line}, the dashed line.` : `${intervals}.`);

    const left = arms.stillIn.filter(Boolean).length;
    const share = left === arms.size ? `all ${count(left)}` : `${count(left)} of ${count(arms.size)}`;
    setText(parts["arms-left"], `${share} still in`);
    const range = `${count(first + 1)} to ${count(first + shown)} of ${count(matching)}`;
    const counted = arms.onlyFirstTries ? "First tries" : "Samples";
    setText(parts["samples-heading"], counted);
    const perCost = arms.costs === null ? "" : " successes per cost,";
    const columns = `${counted.toLowerCase()}, estimate with interval,${perCost} evidence against it, in or out`;
    setText(parts["arms-caption"], `Arms ${range}: ${columns}`);
    setHidden(parts["no-arms"], matching > 0);
    setHidden(parts.pager, pages === 1);
    setText(parts.shown, range);
    setDisabled(parts.previous, this.#page === 0);
    setDisabled(parts.next, this.#page === pages - 1);
  }
}

class Row {
  #parts;

  constructor() {
    const { content, parts } = instantiate("arm-row");
    this.element = content.firstElementChild;
    this.#parts = parts;
  }

  render(arms, index, tag) {
    setHidden(this.element, index === undefined);
    if (index === undefined) return;
    const parts = this.#parts;
    const leads = arms.leading.has(index);
    const kind = leads ? "leading" : arms.stillIn[index] ? "in" : "out";
    setAttribute(this.element, "data-kind", kind);
    setText(parts.position, count(index + 1));
    setText(parts.label, labelText(arms.label[index]));
    setText(parts.tag, leads ? tag : "");
    setText(parts.state, arms.stillIn[index] ? "In" : "Out");
    this.#renderEstimate(arms, index);
    if (arms.costs !== null) this.#renderPerCost(arms, index, arms.costs[index]);
    if (arms.evidence !== null) this.#renderEvidence(arms, arms.evidence[index]);
  }

  #renderEstimate({ samples, onlyFirstTries, mean, low, high, shareEnd, digits }, index) {
    const { interval, limits } = this.#parts;
    const known = mean[index] !== null;
    const counted = onlyFirstTries ? "first tries" : "samples";
    setText(this.#parts.samples, count(samples[index]));
    setAttribute(this.#parts.samples, "data-label", counted);
    setText(this.#parts.mean, known ? percent(mean[index], digits) : NOTHING);
    setText(limits, known ? `${percent(low[index], digits)} to ${percent(high[index], digits)}` : `no ${counted} yet`);
    setHidden(interval, !known);
    if (!known) return;
    setProperty(interval, "--mean", within(mean[index] / shareEnd));
    setProperty(interval, "--low", within(low[index] / shareEnd));
    setProperty(interval, "--high", within(high[index] / shareEnd));
    setAttribute(interval, "data-beyond", String(high[index] > shareEnd));
  }

  /** The limits of a share for a cost that is known are those of successes for it. */
  #renderPerCost({ mean, low, high }, index, cost) {
    const known = mean[index] !== null;
    setText(this.#parts["per-cost"], known ? amount(mean[index] / cost) : NOTHING);
    const limits = known ? `${amount(low[index] / cost)} to ${amount(high[index] / cost)}, ` : "";
    setText(this.#parts["cost"], `${limits}cost ${amount(cost)}`);
  }

  #renderEvidence({ evidenceEnd }, log10) {
    setText(this.#parts["evidence-text"], log10 === null ? NOTHING : evidenceText(log10));
    setProperty(this.#parts.evidence, "--evidence", within((log10 ?? 0) / evidenceEnd));
  }
}

/** A place on a scale from 0 to 1, coarse enough that changes too small to see are not drawn. */
const within = (share) => Math.min(1, Math.max(0, share)).toFixed(3);

/** A button that becomes disabled under the reader's finger must not lose the keyboard's focus. */
function setDisabled(button, disabled) {
  setAttribute(button, "aria-disabled", String(disabled));
}
