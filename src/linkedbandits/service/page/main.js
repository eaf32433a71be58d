// Starts the page and shows what its address asks for: #/ the list, #/experiments/<id> one experiment.

import { setAttribute, setText } from "./dom.js";
import { ExperimentPage } from "./experiment.js";
import { ListPage } from "./list.js";
import { MissingPage } from "./missing.js";
import { forgetToken, hasToken } from "./session.js";
import { follow } from "./stream.js";
import { isDark, onThemeChange, toggleTheme } from "./theme.js";

const STATES = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost, trying again",
  refused: "Not connected",
};

const place = document.getElementById("page");
let leave = () => {};

function showConnection(state) {
  const chip = document.getElementById("connection");
  setAttribute(chip, "data-state", state);
  setText(chip, STATES[state]);
}

/** Put up a page that follows one stream of events. */
function show(page, path) {
  leave();
  place.replaceChildren(page.content);
  const stop = follow(path, {
    onEvent: (event) => page.receive(event),
    onState: (state, problem) => {
      showConnection(state);
      if (state === "refused") showMissing(problem.message);
    },
  });
  leave = () => {
    stop();
    page.close();
  };
}

function showMissing(reason) {
  leave();
  leave = () => {};
  place.replaceChildren(new MissingPage(reason).content);
}

function route() {
  const [, id] = location.hash.match(/^#\/experiments\/([^/]+)$/) ?? [];
  if (id !== undefined) show(new ExperimentPage(decodeURIComponent(id)), `v1/experiments/${id}/events`);
  else show(new ListPage(), "v1/events");
}

function showTheme() {
  setAttribute(document.getElementById("theme"), "aria-pressed", String(isDark()));
}

document.getElementById("theme").addEventListener("click", toggleTheme);
onThemeChange(showTheme);
showTheme();

document.getElementById("forget-token").hidden = !hasToken();
document.getElementById("forget-token").addEventListener("click", forgetToken);

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after # is the page's own
  document.getElementById("main").focus();
});

addEventListener("hashchange", () => {
  route();
  // A screen reader starts at the new page's heading, as it would after a page load.
  place.querySelector("h1")?.focus({ preventScroll: true });
  scrollTo(0, 0);
});
route();
