// Pause, resume, archive, export. The service decides who may; the page says what it answered.

import { setHidden, setText } from "./dom.js";
import { Problem, request } from "./session.js";

export class Controls {
  #parts;
  #path;

  constructor(parts, id) {
    this.#parts = parts;
    this.#path = `v1/experiments/${encodeURIComponent(id)}`;
    parts.pause.addEventListener("click", () => this.#change("pause"));
    parts.resume.addEventListener("click", () => this.#change("resume"));
    parts.archive.addEventListener("click", () => parts.confirm.showModal());
    parts.confirm.addEventListener("close", () => parts.confirm.returnValue === "archive" && this.#change("archive"));
    for (const format of ["jsonl", "parquet"]) parts[format].addEventListener("click", () => this.#export(format));
  }

  render({ status, done }) {
    setHidden(this.#parts.pause, status !== "running" || done);
    setHidden(this.#parts.resume, status !== "paused");
    setHidden(this.#parts.archive, status === "archived");
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
