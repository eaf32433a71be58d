// A form for a new experiment. What is wrong with it is said at the field it belongs to.

import { instantiate, setAttribute, setHidden, setText } from "./dom.js";
import { fieldOf } from "./create-problems.js";
import { readLog } from "./log-file.js";
import { LINKAGES, POLICIES, readParameter } from "./policies.js";
import { mayManage, Problem, request } from "./session.js";

const PLAIN = ["max_plays", "parallel", "lease_seconds", "seed"];

export class CreatePage {
  paths = [];
  #parts;
  #form;
  #policy = POLICIES[0];
  #fields = new Map(); // of the parameters of the policy

  constructor() {
    const { content, parts } = instantiate("create-page");
    this.content = content;
    this.#parts = parts;
    this.#form = parts.form;
    document.title = "New experiment · linkedbandits";
    this.#addPolicies();
    this.#choose(POLICIES[0]);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#form.elements.linkage.addEventListener("change", () => this.#showLinkage());
    this.#form.elements.log.addEventListener("change", () => this.#showLog());
    this.#showLog();
    mayManage().then((may) => setHidden(parts["may-not"], may));
  }

  receive() {}
  close() {}

  #addPolicies() {
    for (const policy of POLICIES) {
      const { content, parts } = instantiate("policy-choice");
      parts.choice.value = policy.name;
      parts.choice.checked = policy === POLICIES[0];
      setText(parts.title, policy.title);
      setText(parts.words, policy.words);
      setText(parts.code, policy.name);
      parts.choice.addEventListener("change", () => this.#choose(policy));
      this.#parts.policies.append(content);
    }
  }

  /** Show the parameters of this policy, with what was written for those that it shares with the last. */
  #choose(policy) {
    const written = new Map([...this.#fields].map(([name, { input }]) => [name, input.value]));
    this.#policy = policy;
    this.#fields.clear();
    this.#parts.parameters.replaceChildren(
      ...policy.parameters.map((parameter) => {
        const field = parameterField(parameter, written.get(parameter.name));
        this.#fields.set(parameter.name, field);
        return field.element;
      }),
    );
    const { linkage } = this.#form.elements;
    const before = linkage.value;
    linkage.replaceChildren(...policy.linkages.map((name) => new Option(LINKAGES[name][0], name, false, name === before)));
    this.#showLinkage();
    this.#form.elements.log_attempts.value = policy.attempts ?? "first";
  }

  #showLinkage() {
    setText(this.#parts["linkage-words"], LINKAGES[this.#form.elements.linkage.value][1]);
  }

  #showLog() {
    setHidden(this.#parts["log-options"], this.#form.elements.log.files.length === 0);
  }

  async #submit() {
    const { create } = this.#parts;
    if (create.getAttribute("aria-disabled") === "true") return; // sent already
    this.#clear();
    try {
      const body = await this.#body();
      if (body === null) return this.#focusFirst();
      setAttribute(create, "aria-disabled", "true");
      const response = await request("v1/experiments", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      location.hash = `#/experiments/${encodeURIComponent((await response.json()).id)}`;
    } catch (problem) {
      if (!(problem instanceof Problem)) this.#say("form", "The service could not be reached; try again.");
      else for (const [field, message] of fieldOf(problem)) this.#say(field, message);
      this.#focusFirst();
    } finally {
      setAttribute(create, "aria-disabled", "false");
    }
  }

  /** What to send, or null where something is wrong that can be seen here. */
  async #body() {
    const { name, arms, linkage, tags, whole_chains, log, log_judged } = this.#form.elements;
    let good = true;
    const attempt = (field, read) => {
      try {
        return read();
      } catch (error) {
        this.#say(field, error.message);
        good = false;
      }
    };
    const parameters = {};
    for (const parameter of this.#policy.parameters) {
      const value = attempt(parameter.name, () => readParameter(parameter, this.#fields.get(parameter.name).input.value));
      if (value !== null && value !== undefined) parameters[parameter.name] = value;
    }
    const body = {
      name: attempt("name", () => needed(name.value.trim(), "Give it a name.")),
      arms: attempt("arms", () => options(arms.value)),
      policy: { name: this.#policy.name, parameters },
      linkage: linkage.value,
      whole_chains: whole_chains.checked,
      tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean),
    };
    for (const field of PLAIN) {
      const kind = field === "lease_seconds" ? "number" : "whole";
      const value = attempt(field, () => readParameter({ kind }, this.#form.elements[field].value));
      if (value !== null && value !== undefined) body[field] = value;
    }
    if (log.files.length > 0) {
      body.log_judged = attempt("log_judged", () => readParameter({ kind: "number" }, log_judged.value)) ?? 0;
      try {
        Object.assign(body, { log: await readLog(log.files[0]) }, this.#logOptions());
      } catch (error) {
        this.#say("log", error.message);
        good = false;
      }
    }
    return good ? body : null;
  }

  #logOptions() {
    const { log_attempts: attempts, log_others: others, log_independent: independent } = this.#form.elements;
    return {
      log_attempts: attempts.value,
      log_others: others.checked ? "ignore" : "refuse",
      log_independent: independent.checked,
    };
  }

  #errorOf(field) {
    const own = this.#fields.get(field);
    if (own !== undefined) return [own.error, own.input];
    const error = this.#parts[`error-${field}`];
    if (error !== undefined) return [error, this.#form.elements[field] ?? null];
    return [this.#parts["error-form"], null];
  }

  #say(field, message) {
    const [error, input] = this.#errorOf(field);
    setText(error, error.textContent === "" ? message : `${error.textContent} ${message}`);
    if (input instanceof HTMLElement) setAttribute(input, "aria-invalid", "true");
    const details = error.closest("details");
    if (details !== null) details.open = true;
  }

  #clear() {
    for (const error of this.#form.querySelectorAll(".refusal")) setText(error, "");
    for (const input of this.#form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  }

  #focusFirst() {
    const target = this.#form.querySelector("[aria-invalid=true]") ?? this.#parts["error-form"];
    target.focus();
  }
}

function parameterField({ name, label, hint, kind, value = "" }, written) {
  const { content, parts } = instantiate("parameter-field");
  const many = kind === "numbers";
  const input = document.createElement(many ? "textarea" : "input");
  if (many) input.rows = 3;
  else input.inputMode = kind === "whole" ? "numeric" : "decimal";
  input.id = `parameter-${name}`;
  input.name = `parameter-${name}`;
  input.value = written ?? value;
  input.autocomplete = "off";
  input.setAttribute("aria-describedby", `hint-${name} refusal-${name}`);
  parts.label.htmlFor = input.id;
  setText(parts.label, label);
  parts.hint.id = `hint-${name}`;
  setText(parts.hint, hint);
  parts.error.id = `refusal-${name}`;
  parts.hint.before(input);
  return { element: content.firstElementChild, input, error: parts.error };
}

function needed(text, message) {
  if (text === "") throw new Error(message);
  return text;
}

/** The options, one a line. */
function options(text) {
  const found = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (found.length < 2) throw new Error("Give at least two options, one a line.");
  const twice = found.find((option, index) => found.indexOf(option) !== index);
  if (twice !== undefined) throw new Error(`${twice} is there twice; give every option its own name.`);
  return found;
}
