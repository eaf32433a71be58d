// Requests to the service, with the reader's token where it wants one.

import { setText } from "./dom.js";

const KEY = "linkedbandits-token";

/** What the service answered instead of what was asked for (RFC 9457). */
export class Problem extends Error {
  constructor(status, detail, retryAfter, document = {}) {
    super(detail);
    this.status = status;
    this.document = document;
    this.retryAfter = retryAfter;
  }
}

/** Fetch; where the service demands a token, ask the reader for it and fetch again. */
export async function request(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(path, { ...options, headers, cache: "no-store" });
    if (response.ok) return response;
    const problem = await readProblem(response);
    if (response.status !== 401) throw problem;
    // Another request may have been given a new token in the meantime; then this one tries that first.
    if (sessionStorage.getItem(KEY) === token) await askForToken(token === null ? "" : problem.message);
  }
}

/** May the reader create, pause and archive? Where that is not known, the answer to an attempt says it. */
export async function mayManage() {
  try {
    return (await (await request("v1/me")).json()).role === "admin";
  } catch {
    return true;
  }
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

export function forgetToken() {
  sessionStorage.removeItem(KEY);
  location.reload();
}

async function readProblem(response) {
  const body = await response.json().catch(() => ({}));
  const detail = body.detail ?? body.title ?? `the service answered with status ${response.status}`;
  return new Problem(response.status, detail, Number(response.headers.get("Retry-After")) || 0, body);
}

let asking = null; // one form, however many requests wait for it

function askForToken(refusal) {
  asking ??= new Promise((resolve) => {
    const section = document.getElementById("sign-in");
    const page = document.getElementById("page");
    const form = section.querySelector("form");
    section.hidden = false;
    page.hidden = true;
    setText(document.getElementById("token-refused"), refusal && `That token was not accepted: ${refusal}`);
    form.token.value = "";
    form.token.focus();
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, form.token.value.trim());
      section.hidden = true;
      page.hidden = false;
      document.getElementById("forget-token").hidden = false;
      document.getElementById("main").focus();
      asking = null;
      resolve();
    };
  });
  return asking;
}
