// What a reader asks of the list, in the address of the page and in that of the service.

const DEFAULTS = { search: "", status: "", tag: "", sort: "-created", page: "1" };

export class ListQuery {
  constructor(text = "") {
    const given = new URLSearchParams(text);
    for (const [name, value] of Object.entries(DEFAULTS)) this[name] = given.get(name) ?? value;
    if (!/^[1-9]\d{0,5}$/.test(this.page)) this.page = "1";
  }

  /** Another query; whatever else than the page changes, it begins at the first. */
  with(changes) {
    return Object.assign(new ListQuery(), this, { page: "1" }, changes);
  }

  get isNarrowed() {
    return this.search !== "" || this.status !== "" || this.tag !== "";
  }

  /** Only what is not as it would be anyway. */
  get text() {
    const chosen = Object.keys(DEFAULTS).filter((name) => this[name] !== DEFAULTS[name]);
    return new URLSearchParams(chosen.map((name) => [name, this[name]])).toString();
  }

  get hash() {
    return this.text === "" ? "#/" : `#/?${this.text}`;
  }

  get path() {
    return this.text === "" ? "v1/events" : `v1/events?${this.text}`;
  }
}
