// One experiment in the list.

import { instantiate, setAttribute, setHidden, setText } from "./dom.js";
import { count, labelText, NOTHING, standing, when } from "./format.js";

export class ListRow {
  #parts;
  #tags = "";
  #onTag;

  /** `onPick(id, picked)` is told when the row is chosen to be compared, `onTag(tag)` when a tag is clicked. */
  constructor(id, { onPick, onTag }) {
    const { content, parts } = instantiate("list-row");
    this.element = content.firstElementChild;
    this.#parts = parts;
    this.#onTag = onTag;
    parts.name.href = `#/experiments/${encodeURIComponent(id)}`;
    parts.pick.addEventListener("change", () => onPick(id, parts.pick.checked));
  }

  render(experiment, picked) {
    const { name, created, badge, arms, plays, leading, standing: tail, pick } = this.#parts;
    const { kind, word } = standing(experiment);
    setText(name, experiment.name);
    setText(created, when(experiment.created_at));
    setText(badge, word);
    setAttribute(badge, "data-kind", kind);
    setAttribute(badge, "title", experiment.detail ?? "");
    // A damaged experiment has no figures, and of one that is not opened yet the arms are not known.
    setText(arms, experiment.arms === null ? NOTHING : count(experiment.arms));
    setText(plays, experiment.plays === null ? NOTHING : count(experiment.plays));
    const [who, how] = leaderOf(experiment);
    setAttribute(this.#parts.leader, "data-nothing", String(who === NOTHING));
    setText(leading, who);
    setText(tail, how);
    if (pick.checked !== picked) pick.checked = picked;
    setHidden(pick.parentElement, experiment.status === "damaged");
    setAttribute(pick, "aria-label", `Compare ${experiment.name}`);
    this.#renderTags(experiment.tags ?? []);
  }

  #renderTags(tags) {
    if (tags.join() === this.#tags) return; // a button that is made anew would lose the focus
    this.#tags = tags.join();
    this.#parts.tags.replaceChildren(
      ...tags.map((tag) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "chip";
        button.textContent = tag;
        button.setAttribute("aria-label", `Only those with the tag ${tag}`);
        button.addEventListener("click", () => this.#onTag(tag));
        return button;
      }),
    );
  }
}

/** Who leads or is best, and how that is said. */
export function leaderOf({ status, leading, leads, done, plays, per_cost: perCost = false }) {
  if (status === "damaged" || (plays === 0 && !done)) return [NOTHING, ""];
  if (leading === null) return ["", "being looked at"];
  const names = (leading.top?.length > 1 ? leading.top : [leading.arm]).map(labelText).join(", ");
  if (!done) return leads ? [names, perCost ? "leads, by successes per cost" : "leads"] : ["", "too early to say"];
  if (leading.status !== "confident") return [names, "led at the end"];
  if (!leading.proved) return [names, "named, without a proof"];
  if (perCost) return [names, "has most successes per cost"];
  return [names, leading.top?.length > 1 ? "are best" : "is best"];
}
