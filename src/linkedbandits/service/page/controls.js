// Pause, resume, archive, export. The service decides who may: the page offers only what it would not refuse.

import { setHidden, setText } from "./dom.js";
import { Problem, request } from "./session.js";

export class Controls {
  #parts;
  #path;
  #view = null;
  #mayManage = false;

  constructor(parts, id) {
    this.#parts = parts;
    this.#path = `v1/experiments/${encodeURIComponent(id)}`;
    parts.pause.addEventListener("click", () => this.#change("pause"));
    parts.resume.addEventListener("click", () => this.#change("resume"));
    parts.archive.addEventListener("click", () => parts.confirm.showModal());
    parts.confirm.addEventListener("close", () => parts.confirm.returnValue === "archive" && this.#change("archive"));
    for (const format of ["jsonl", "parquet"]) parts[format].addEventListener("click", () => this.#export(format));
    this.#askWhoIAm();
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
  }

  async #askWhoIAm() {
    try {
      this.#mayManage = (await (await request("v1/me")).json()).role === "admin";
    } catch {
      this.#mayManage = true; // not known: then the service's answer to an attempt says it
    }
    if (this.#view !== null) this.#show();
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
