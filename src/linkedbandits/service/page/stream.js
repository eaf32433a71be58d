// Server-sent events, read with fetch: EventSource cannot send a token. A connection that ends is made again, and says
// which event it saw last, so that the service goes on after it.

import { request } from "./session.js";

const FIRST_WAIT = 500; // milliseconds, doubled with every failure in a row
const LONGEST_WAIT = 10_000;
const SILENCE = 45_000; // the service sends a sign of life every 15 seconds

/**
 * Follow a stream. `onEvent({type, id, data})` gets every event, `onState(state, problem)` one of
 * "connecting", "live", "lost" (it tries again by itself) and "refused" (it does not). Returns how to stop.
 */
export function follow(path, { onEvent, onState }) {
  const stop = new AbortController();
  let lastId = null;
  let failures = 0;

  async function read(signal, stillAlive) {
    const headers = { Accept: "text/event-stream", ...(lastId !== null && { "Last-Event-ID": lastId }) };
    const response = await request(path, { headers, signal });
    const parser = new EventParser((event) => {
      failures = 0;
      lastId = event.id ?? lastId;
      onState("live");
      onEvent(event);
    });
    for await (const text of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
      stillAlive();
      parser.push(text);
    }
  }

  async function run() {
    onState("connecting");
    while (!stop.signal.aborted) {
      const silence = new AbortController();
      let timer = 0;
      const stillAlive = () => {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE);
      };
      let retryAfter = 0;
      try {
        await read(AbortSignal.any([stop.signal, silence.signal]), stillAlive);
      } catch (problem) {
        const hopeless = problem.status >= 400 && problem.status < 500 && problem.status !== 429;
        if (hopeless) return onState("refused", problem);
        retryAfter = 1000 * (problem.retryAfter ?? 0);
      } finally {
        clearTimeout(timer);
      }
      if (stop.signal.aborted) return;
      onState("lost");
      await pause(Math.max(retryAfter, backoff(failures++)), stop.signal);
    }
  }

  run();
  return () => stop.abort();
}

/** Turns text, cut anywhere, into events. */
export class EventParser {
  #rest = "";
  #event = {};

  constructor(onEvent) {
    this.onEvent = onEvent;
  }

  push(text) {
    this.#rest += text;
    // A carriage return at the very end may be half of a line end; it waits for the next piece.
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#take(line);
  }

  #take(line) {
    if (line === "") {
      const { type = "message", id, data } = this.#event;
      this.#event = {};
      if (data !== undefined) this.onEvent({ type, id, data });
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event.type = value;
    else if (field === "id") this.#event.id = value;
    else if (field === "data")
      this.#event.data = this.#event.data === undefined ? value : `${this.#event.data}\n${value}`;
  }
}

/** Not every browser can iterate over a stream. */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** Waits of many readers are spread, so that they do not all come back in the same moment. */
const backoff = (failures) => Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures) * (0.75 + 0.5 * Math.random());

/** Wait, but not after the network came back or the reader has turned to the page again. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, milliseconds);
    const visible = () => document.visibilityState === "visible" && finish();
    function finish() {
      clearTimeout(timer);
      removeEventListener("online", finish);
      document.removeEventListener("visibilitychange", visible);
      signal.removeEventListener("abort", finish);
      resolve();
    }
    addEventListener("online", finish);
    document.addEventListener("visibilitychange", visible);
    signal.addEventListener("abort", finish);
  });
}
