// The list of experiments, a page at a time: searched, filtered and sorted by the service, which sends what changes.

import { instantiate, setAttribute, setHidden, setText } from "./dom.js";
import { count, plural } from "./format.js";
import { ListQuery } from "./list-query.js";
import { ListRow } from "./list-row.js";
import { mayManage } from "./session.js";

const A_PAGE = 50;
const PAUSE = 250; // milliseconds after the last key until it is searched

export class ListPage {
  #parts;
  #query;
  #rows = new Map();
  #known = new Map();
  #order = [];
  #about = null;
  #picked = new Set();
  #timer = 0;

  constructor(query) {
    const { content, parts } = instantiate("list-page");
    this.content = content;
    this.#parts = parts;
    this.#query = new ListQuery(query);
    this.paths = [this.#query.path];
    document.title = "Experiments · linkedbandits";
    this.#listen();
    mayManage().then((may) => setHidden(parts["new"], !may));
  }

  receive({ type, data }) {
    if (type !== "list") return;
    const { order, experiments, ...about } = JSON.parse(data);
    this.#about = about;
    this.#order = order ?? this.#order;
    for (const experiment of experiments) this.#known.set(experiment.id, experiment);
    if (about.page > about.pages) return this.#ask(this.#query.with({ page: String(about.pages) }));
    this.#render();
  }

  close() {
    clearTimeout(this.#timer);
  }

  #listen() {
    const { form, previous, next, compare } = this.#parts;
    const { search, status, sort } = form.elements;
    [search.value, status.value, sort.value] = [this.#query.search, this.#query.status, this.#query.sort];
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(this.#query.with({ search: search.value.trim() }));
    });
    search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#ask(this.#query.with({ search: search.value.trim() })), PAUSE);
    });
    status.addEventListener("change", () => this.#ask(this.#query.with({ status: status.value })));
    sort.addEventListener("change", () => this.#ask(this.#query.with({ sort: sort.value })));
    this.#parts["drop-tag"].addEventListener("click", () => {
      this.#ask(this.#query.with({ tag: "" }));
      search.focus();
    });
    previous.addEventListener("click", () => this.#turn(-1));
    next.addEventListener("click", () => this.#turn(1));
    compare.addEventListener("click", () => {
      if (this.#picked.size === 2) location.hash = `#/compare/${[...this.#picked].map(encodeURIComponent).join("/")}`;
    });
    this.#renderPicked();
    this.#renderTag();
  }

  #turn(step) {
    const page = Number(this.#query.page) + step;
    if (page >= 1 && page <= (this.#about?.pages ?? 1)) this.#ask(this.#query.with({ page: String(page) }));
  }

  /** Follow another page of the list. What is shown stays until that has come. */
  #ask(query) {
    clearTimeout(this.#timer);
    if (query.text === this.#query.text) return;
    this.#query = query;
    this.#known.clear();
    this.#renderTag();
    history.replaceState(null, "", query.hash);
    this.follow([query.path]);
  }

  #pick(id, picked) {
    if (picked) this.#picked.add(id);
    else this.#picked.delete(id);
    if (this.#picked.size > 2) this.#picked.delete(this.#picked.values().next().value); // the one picked first
    this.#renderPicked();
    this.#render();
  }

  #renderPicked() {
    const { compare, picked } = this.#parts;
    setHidden(this.#parts["compare-bar"], this.#picked.size === 0);
    setAttribute(compare, "aria-disabled", String(this.#picked.size !== 2));
    setText(picked, this.#picked.size === 2 ? "Two are picked." : "One is picked; pick another one.");
  }

  #renderTag() {
    setHidden(this.#parts["tag-filter"], this.#query.tag === "");
    setText(this.#parts["tag-name"], this.#query.tag);
  }

  #render() {
    const { waiting, empty, nothing, table, rows, pager, shown, previous, next } = this.#parts;
    const { total, matching, page, pages } = this.#about;
    setHidden(waiting, true);
    setHidden(empty, total > 0);
    setHidden(nothing, total === 0 || matching > 0);
    setHidden(table, matching === 0);
    const first = (page - 1) * A_PAGE;
    const range = `${count(first + 1)} to ${count(first + this.#order.length)} of ${count(matching)}`;
    setText(this.#parts.caption, `Experiments ${range}`);
    setText(this.#parts.matching, this.#query.isNarrowed ? `${count(matching)} of ${plural(total, "experiment")}` : "");
    setHidden(pager, pages === 1);
    setText(shown, range);
    setAttribute(previous, "aria-disabled", String(page === 1));
    setAttribute(next, "aria-disabled", String(page === pages));

    const present = new Set(this.#order);
    for (const [id, row] of this.#rows) {
      if (!present.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
      }
    }
    this.#order.forEach((id, position) => {
      const row = this.#rowOf(id);
      row.render(this.#known.get(id), this.#picked.has(id));
      if (rows.children[position] !== row.element) rows.insertBefore(row.element, rows.children[position] ?? null);
    });
  }

  #rowOf(id) {
    if (!this.#rows.has(id)) {
      const onPick = (chosen, picked) => this.#pick(chosen, picked);
      const onTag = (tag) => this.#ask(this.#query.with({ tag }));
      this.#rows.set(id, new ListRow(id, { onPick, onTag }));
    }
    return this.#rows.get(id);
  }
}
