// Which experiment this one goes on from, and which one goes on from it.

import { setHidden } from "./dom.js";
import { labelText, plural } from "./format.js";

export class Succession {
  #parts;
  #shown = "";

  constructor(parts) {
    this.#parts = parts;
  }

  render({ before, successor }) {
    const { succession } = this.#parts;
    const shown = `${before?.experiment ?? ""} ${successor ?? ""}`;
    if (shown === this.#shown) return; // a link that is made anew would lose the focus
    this.#shown = shown;
    succession.replaceChildren(...fromBefore(before), ...toSuccessor(successor));
    setHidden(succession, before === null && successor === null);
  }
}

function fromBefore(before) {
  if (before === null) return [];
  const { experiment, why, arm, status, plays, kept } = before;
  const came = status === "confident" ? `whose verdict was ${labelText(arm)}` : `in which ${labelText(arm)} led`;
  const rest = kept > 0 ? `${plural(kept, "play")} of it ${kept === 1 ? "is" : "are"} used as a log` : "nothing of it is used";
  return ["Goes on from ", link(experiment, "an earlier experiment"), ` (${why}), ${came} after ${plural(plays, "play")}; ${rest}. `];
}

function toSuccessor(successor) {
  return successor === null ? [] : ["Another experiment ", link(successor, "goes on from this one"), "."];
}

function link(experiment, text) {
  const made = document.createElement("a");
  made.href = `#/experiments/${encodeURIComponent(experiment)}`;
  made.textContent = text;
  return made;
}
