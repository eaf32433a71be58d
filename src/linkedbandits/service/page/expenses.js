// What first attempts took and cost, as the processes of chains have told it: there only if some have.

import { instantiate, setAttribute, setHidden, setText } from "./dom.js";
import { amount, count, labelText, NOTHING, percent, plural, roundPercent } from "./format.js";

const MOST_IN_ORDER = 10;

export class Expenses {
  #parts;
  #rows = [];

  constructor(parts) {
    this.#parts = parts;
  }

  render({ expenses = null }) {
    const parts = this.#parts;
    setHidden(parts.expenses, expenses === null);
    if (expenses === null) return;
    const { options, costs, order } = expenses;
    const measured = costs === "measured"; // costs that are known are in the table of arms
    setText(parts["expenses-about"], aboutExpenses(expenses));
    setHidden(parts["expenses-order"], !measured || order === null);
    setText(parts["expenses-order"], measured && order !== null ? orderByCost(order) : "");
    setAttribute(parts["expenses-table"], "data-costs", String(measured));
    while (this.#rows.length < options.length) {
      const { content, parts: row } = instantiate("expenses-row");
      row.row = content.firstElementChild;
      parts["expenses-rows"].append(content);
      this.#rows.push(row);
    }
    for (const { row } of this.#rows.splice(options.length)) row.remove();
    options.forEach((option, index) => renderRow(this.#rows[index], option));
  }
}

function renderRow(row, { option, tries, success, seconds, cost, success_per_cost: perCost }) {
  setText(row.label, labelText(option));
  setText(row.tries, count(tries));
  for (const [name, estimated, written] of [
    ["works", success, (share) => percent(share, 1)],
    ["seconds", seconds, amount],
    ["cost", cost, amount],
    ["per-cost", perCost, amount],
  ]) {
    setText(row[name], estimated === null ? NOTHING : written(estimated.mean));
    setText(row[`${name}-limits`], estimated === null ? "" : limitsOf(estimated, written));
  }
}

/** Limits in words; what is not proved says so. */
export function limitsOf({ low, high, proved }, written) {
  if (low === null) return "too few for limits";
  const limits = high === null ? `${written(low)} or more` : `${written(low)} to ${written(high)}`;
  return proved ? limits : `${limits}, asymptotic`;
}

/** Where the figures come from, and what they are worth. */
function aboutExpenses({ sources, confidence, options, arms, costs, order }) {
  const some = options.length < arms ? ` The best ${count(options.length)} of ${count(arms)} arms are shown.` : "";
  const asymptotic = options.some(({ seconds, cost }) => [seconds, cost].some((one) => one !== null && !one.proved));
  const proved = `Limits are of ${roundPercent(confidence)}, proved at all times together`;
  const unless = asymptotic
    ? ". Where nothing says what a single attempt can take or cost at most, they are asymptotic: they hold for those who begin to look late enough."
    : ".";
  const guess = costs === "measured" && order !== null ? " The order is an estimate, and the verdict does not go by it." : "";
  const measured = `Measured by ${plural(sources, "process", "processes")} of chains, in the attempts that calls began with.`;
  return `${measured}${some} ${proved}${unless}${guess}`;
}

function orderByCost(order) {
  const more = order.length - MOST_IN_ORDER;
  const first = order.slice(0, MOST_IN_ORDER).map(labelText).join(", then ");
  return `By success per cost: ${first}${more > 0 ? `, and ${count(more)} more` : ""}`;
}
