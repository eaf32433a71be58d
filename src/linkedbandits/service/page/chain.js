// Whole chains: the order to serve customers in, and what learning it has cost them.

import { setHidden, setText } from "./dom.js";
import { about, amount, count, labelText, percent, plural } from "./format.js";

export class Chain {
  #parts;

  constructor(parts) {
    this.#parts = parts;
  }

  render({ order, learning, done }) {
    setHidden(this.#parts.chain, learning === null);
    if (learning === null) return;
    setText(this.#parts["chain-heading"], done ? "Serve in this order" : "Best order so far");
    setText(this.#parts["chain-order"], order.map(labelText).join(", then "));
    setText(this.#parts["chain-price"], priceOf(learning));
  }
}

/** What customers have paid for the experiment, in attempts and where costs are known in these. */
export function priceOf({ plays, attempts, failed, of_best_order: best, cost, cost_of_best_order: bestCost }) {
  if (plays === 0) return "The first answers will show what learning costs.";
  const above = attempts - best;
  const more = above > 0 ? `about ${about(above)} above those of this order` : "no more than this order would have taken";
  const nothing = `${plural(failed, "play")} found nothing (${percent(failed / plays, 2)}), with all arms tried.`;
  const served = failed === 0 ? "Every play found something that works." : nothing;
  const paid = cost === null ? "" : ` ${paidFor(plays, cost, bestCost)}`;
  return `${count(attempts)} attempts in ${plural(plays, "play")}, ${more}.${paid} ${served}`;
}

/** The same in costs, in all and for a play. */
function paidFor(plays, cost, best) {
  const more = cost > best ? `about ${amount(cost - best)} above this order` : "no more than this order would have";
  return `They cost ${amount(cost)}, ${more}: ${amount(cost / plays)} a play instead of ${amount(best / plays)}.`;
}
