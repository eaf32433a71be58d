// What was known of the arms as plays were told: fetched from the service now and then, with the present view behind it.

import { request } from "./session.js";

const GROWTH = 1.05; // fetched again when so much more was told,
const LEAST_WAIT = 5_000; // and not sooner

export class CurveData {
  #path;
  #onChange;
  #curves = null;
  #fetchedAt = -Infinity;
  #fetchedPlays = 0;
  #fetchedDone = false;
  #fetching = false;
  #closed = false;

  constructor(id, onChange) {
    this.#path = `v1/experiments/${encodeURIComponent(id)}/curves`;
    this.#onChange = onChange;
  }

  /** Fetch the curves if it is time for that. */
  follow({ plays, done }) {
    const news = this.#curves === null || plays > GROWTH * this.#fetchedPlays || done !== this.#fetchedDone;
    if (!news || this.#fetching || performance.now() < this.#fetchedAt + LEAST_WAIT) return;
    this.#fetching = true;
    [this.#fetchedAt, this.#fetchedPlays, this.#fetchedDone] = [performance.now(), plays, done];
    request(this.#path)
      .then((response) => response.json())
      .then((curves) => {
        this.#curves = curves;
        if (!this.#closed) this.#onChange();
      })
      .catch(() => {}) // the next view tries again
      .finally(() => {
        this.#fetching = false;
      });
  }

  close() {
    this.#closed = true;
  }

  /** Is there something to draw, once the service has answered? */
  get isThere() {
    return this.#curves !== null;
  }

  /** Columns to draw: at, plays, leading, and of each arm label, mean, low, high and evidence; the view's come last. */
  with(view) {
    const { at, plays, leading, arms } = this.#curves;
    const ahead = view.plays > (plays.at(-1) ?? -1) && arms.length > 0;
    const more = (values, value) => (ahead ? [...values, value] : values);
    const now = view.history.at(-1)?.[1] ?? 0;
    const names = view.leading.top?.length ? view.leading.top : [view.leading.arm];
    return {
      at: more(at, Math.max(now, (at.at(-1) ?? 0) + 0.001)),
      plays: more(plays, view.plays),
      leading: more(leading, view.leads ? names : []),
      arms: arms.map((arm) => {
        const index = view.arms.label.indexOf(arm.label);
        const seen = view.arms.mean[index] !== null;
        return {
          label: arm.label,
          mean: more(arm.mean, view.arms.mean[index]),
          low: more(arm.low, seen ? view.arms.low[index] : null),
          high: more(arm.high, seen ? view.arms.high[index] : null),
          evidence: more(arm.log10_evidence, view.arms.log10_evidence?.[index] ?? null),
        };
      }),
    };
  }
}

/** When who led: [{names, at, plays}], for every change. */
export function leadersOver({ at, plays, leading }) {
  const changes = [];
  leading.forEach((names, index) => {
    const said = names.map(String).join(", ");
    if (said !== "" && said !== changes.at(-1)?.names) changes.push({ names: said, at: at[index], plays: plays[index] });
  });
  return changes;
}
