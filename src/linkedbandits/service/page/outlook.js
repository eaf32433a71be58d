// Plays so far against the least that any method needs, and against what this one is expected to take.

import { setAttribute, setHidden, setProperty, setText } from "./dom.js";
import { about, count, NOTHING } from "./format.js";

export class Outlook {
  #parts;

  constructor(parts) {
    this.#parts = parts;
  }

  render({ plays, in_flight, waiting, abandoned, late, max_plays, done, outlook }) {
    const { lower_bound: lower, estimate_total: total, estimate_left: left } = outlook;
    const { gauge } = this.#parts;
    const end = scaleEnd(plays, done, lower ?? 0, total ?? 0);
    setHidden(gauge, lower === null && total === null); // nothing to hold the plays against
    setProperty(gauge, "--plays", share(plays, end));
    setProperty(gauge, "--lower", share(lower, end));
    setProperty(gauge, "--total", share(total, end));
    setAttribute(gauge, "data-lower", String(lower !== null));
    setAttribute(gauge, "data-total", String(total !== null));
    setAttribute(gauge, "aria-label", sentence(plays, lower, total));

    setText(this.#parts.plays, count(plays));
    setText(this.#parts["lower-bound"], lower === null ? NOTHING : about(lower));
    setText(this.#parts["estimate-total"], total === null ? NOTHING : about(total));
    setText(this.#parts["estimate-left"], left === null ? NOTHING : about(left));
    // Once it is decided nothing is left to expect.
    setHidden(this.#parts["estimate-total"].parentElement, done);
    setHidden(this.#parts["estimate-left"].parentElement, done);

    setText(this.#parts["in-flight"], count(in_flight));
    setText(this.#parts.waiting, count(waiting));
    setHidden(this.#parts.waiting.parentElement, done || waiting === 0);
    setText(this.#parts.abandoned, count(abandoned));
    setText(this.#parts.late, count(late));
    setHidden(this.#parts["max-plays"].parentElement, max_plays === null);
    setText(this.#parts["max-plays"], max_plays === null ? "" : count(max_plays));
  }
}

/** A full bar says "done"; before that there is always some room. */
function scaleEnd(plays, done, lower, total) {
  const expected = total > 0 || done ? plays : 1.25 * plays;
  return Math.max(expected, 1.04 * Math.max(lower, total), 1);
}

const share = (value, end) => ((value ?? 0) / end).toFixed(4);

function sentence(plays, lower, total) {
  const parts = [`${count(plays)} plays so far`];
  if (lower !== null) parts.push(`the lower bound is about ${about(lower)}`);
  if (total !== null) parts.push(`about ${about(total)} are expected in all`);
  return `${parts.join("; ")}.`;
}
