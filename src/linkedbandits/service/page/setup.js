// How the experiment was set up.

import { labelText, when } from "./format.js";

export class Setup {
  #list;
  #tags = null;

  constructor(parts) {
    this.#list = parts.setup;
  }

  /** A setup never changes, so it is written once; tags do. */
  render({ policy, linkage, learning, created_at, id, tags }) {
    if (this.#tags !== null) this.#tags.textContent = tags.join(", ") || "none";
    if (this.#list.childElementCount > 0) return;
    const given = Object.entries(policy.parameters).filter(([, value]) => value !== null);
    this.#add("Policy", policy.name);
    this.#add("Parameters", given.map(([name, value]) => `${name} = ${labelText(value)}`).join(", ") || "none");
    this.#add("Linkage", linkage);
    if (learning !== null) this.#add("Plays", "whole chains");
    this.#add("Created", when(created_at));
    this.#add("Id", id);
    this.#tags = this.#add("Tags", tags.join(", ") || "none");
  }

  #add(term, description) {
    const group = document.createElement("div");
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = description;
    group.append(dt, dd);
    this.#list.append(group);
    return dd;
  }
}
