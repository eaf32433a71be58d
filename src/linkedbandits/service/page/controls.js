// Pause, resume, archive, tag, export. The service decides who may: the page offers only what it would not refuse.

import { setHidden, setText } from "./dom.js";
import { mayManage, Problem, request } from "./session.js";

export class Controls {
  #parts;
  #path;
  #view = null;
  #mayManage = false;
  #tags = null;

  constructor(parts, id) {
    this.#parts = parts;
    this.#path = `v1/experiments/${encodeURIComponent(id)}`;
    parts.pause.addEventListener("click", () => this.#change("pause"));
    parts.resume.addEventListener("click", () => this.#change("resume"));
    parts.archive.addEventListener("click", () => parts.confirm.showModal());
    parts.confirm.addEventListener("close", () => parts.confirm.returnValue === "archive" && this.#change("archive"));
    for (const format of ["jsonl", "parquet"]) parts[format].addEventListener("click", () => this.#export(format));
    parts["tags-form"].addEventListener("submit", (event) => {
      event.preventDefault();
      this.#saveTags();
    });
    mayManage().then((may) => {
      this.#mayManage = may;
      if (this.#view !== null) this.#show();
    });
  }

  render(view) {
    this.#view = view;
    this.#show();
  }

  #show() {
    const { status, done } = this.#view;
    setHidden(this.#parts.pause, !this.#mayManage || status !== "running" || done);
    setHidden(this.#parts.resume, !this.#mayManage || status !== "paused");
    setHidden(this.#parts.archive, !this.#mayManage || status === "archived");
    setHidden(this.#parts["tags-form"], !this.#mayManage);
    const { tags } = this.#parts["tags-form"].elements;
    if (document.activeElement !== tags && !this.#edited(tags)) tags.value = this.#view.tags.join(", ");
    this.#tags = this.#view.tags.join(", ");
  }

  /** Has the reader begun to write something else? */
  #edited(tags) {
    return this.#tags !== null && tags.value !== this.#tags;
  }

  #saveTags() {
    const { tags } = this.#parts["tags-form"].elements;
    const wanted = tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
    return this.#attempt("", async () => {
      await request(`${this.#path}/tags`, {
        method: "PUT",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ tags: wanted }),
      });
      this.#tags = tags.value = wanted.join(", ");
    });
  }

  #change(action) {
    return this.#attempt("", () => request(`${this.#path}/${action}`, { method: "POST" }));
  }

  #export(format) {
    return this.#attempt("Fetching the journal", async () => {
      const response = await request(`${this.#path}/journal?format=${format}`);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await response.blob());
      link.download = `journal.${format}`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  async #attempt(meanwhile, action) {
    const message = this.#parts["control-message"];
    setText(message, meanwhile);
    try {
      await action();
      setText(message, "");
    } catch (error) {
      setText(message, error instanceof Problem ? error.message : "The service could not be reached; try again.");
    }
  }
}
