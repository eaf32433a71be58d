// Starts the page and shows what its address asks for: #/ the list, #/new the form for a new experiment,
// #/experiments/<id> one experiment, #/compare/<id>/<id> two of them side by side.

import { ComparePage } from "./compare.js";
import { CreatePage } from "./create.js";
import { setAttribute, setHidden, setText } from "./dom.js";
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
const BEST_LAST = ["refused", "lost", "connecting", "live"];

const place = document.getElementById("page");
let leave = () => {};

function showConnection(states) {
  const chip = document.getElementById("connection");
  setHidden(chip, states.length === 0);
  const state = BEST_LAST.find((candidate) => states.includes(candidate)) ?? "connecting";
  setAttribute(chip, "data-state", state);
  setText(chip, STATES[state]);
}

/** Put up a page. It says which streams of events it follows, and may ask for others later. */
function show(page) {
  leave();
  place.replaceChildren(page.content);
  let stops = [];
  page.follow = (paths) => {
    for (const stop of stops) stop();
    const states = paths.map(() => "connecting");
    showConnection(states);
    stops = paths.map((path, index) =>
      follow(path, {
        onEvent: (event) => page.receive(event, index),
        onState: (state, problem) => {
          states[index] = state;
          showConnection(states);
          if (state === "refused") showMissing(problem.message);
        },
      }),
    );
  };
  page.follow(page.paths);
  leave = () => {
    for (const stop of stops) stop();
    page.close();
  };
}

function showMissing(reason) {
  leave();
  leave = () => {};
  place.replaceChildren(new MissingPage(reason).content);
}

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, ...ids] = path.split("/").map(decodeURIComponent);
  if (kind === "experiments" && ids.length === 1) show(new ExperimentPage(ids[0]));
  else if (kind === "compare" && ids.length === 2) show(new ComparePage(ids));
  else if (kind === "new") show(new CreatePage());
  else show(new ListPage(query));
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
