// What was told that a verdict could not bear: a block that is there only if there is something to say.

import { instantiate, setHidden, setPicture, setText } from "./dom.js";
import { count, plural } from "./format.js";

const KINDS = {
  drift: "Drift",
  dependence: "Dependence",
  position: "Effect of position",
  memory: "Memory",
  losses: "Lost plays",
};

/** What tells one alarm from another; everything else of it changes as more is told. */
const keyOf = ({ kind, option }) => JSON.stringify([kind, option]);

/** What to say to readers who do not see the block: those alarms that were not there before. */
export function newAlarms(view, before) {
  const known = new Set((before?.alarms ?? []).map(keyOf));
  const found = (view.alarms ?? []).filter((alarm) => !known.has(keyOf(alarm)));
  return found.map(({ sentence, remedy }) => `Alarm: ${sentence} ${remedy}`).join(" ");
}

export class Alarms {
  #parts;
  #rows = [];

  constructor(parts) {
    this.#parts = parts;
  }

  render({ alarms = [] }) {
    setHidden(this.#parts.alarms, alarms.length === 0);
    setText(this.#parts["alarms-heading"], alarms.length === 0 ? "" : plural(alarms.length, "alarm"));
    while (this.#rows.length < alarms.length) {
      const { content, parts } = instantiate("alarm-row");
      parts.row = content.firstElementChild;
      this.#parts["alarm-list"].append(content);
      this.#rows.push(parts);
    }
    for (const { row } of this.#rows.splice(alarms.length)) row.remove();
    alarms.forEach((alarm, index) => {
      const row = this.#rows[index];
      setText(row.sentence, alarm.sentence);
      setText(row.since, sinceOf(alarm));
      setHidden(row.picture, alarm.picture === null);
      setPicture(row.picture, alarm.picture);
      setText(row.remedy, alarm.remedy);
      setText(row.evidence, alarm.evidence);
    });
  }
}

function sinceOf({ kind, since }) {
  return `${KINDS[kind] ?? kind}, since request ${count(since)}`;
}
