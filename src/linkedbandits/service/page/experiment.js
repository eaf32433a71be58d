// One experiment: takes in the views of its stream, and lets every section of the page show its part of the last one.

import { Alarms, newAlarms } from "./alarms.js";
import { ArmsOverview } from "./arms-overview.js";
import { ArmsTable } from "./arms-table.js";
import { readArms } from "./arms.js";
import { Chain } from "./chain.js";
import { Code } from "./code.js";
import { Controls } from "./controls.js";
import { Curves } from "./curves.js";
import { announce, instantiate, setAttribute, setText } from "./dom.js";
import { Expenses } from "./expenses.js";
import { count, standing } from "./format.js";
import { answerOf, Headline } from "./headline.js";
import { History } from "./history.js";
import { Outlook } from "./outlook.js";
import { PlaysChart } from "./plays-chart.js";
import { Setup } from "./setup.js";
import { Succession } from "./succession.js";

export class ExperimentPage {
  #parts;
  #sections;
  #history = new History();
  #view = null;
  #frame = 0;

  constructor(id) {
    const { content, parts } = instantiate("experiment-page");
    this.content = content;
    this.paths = [`v1/experiments/${encodeURIComponent(id)}/events`];
    this.#parts = parts;
    this.#sections = [
      new Succession(parts),
      new Headline(parts),
      new Alarms(parts),
      new Chain(parts),
      new Outlook(parts),
      new ArmsTable(parts),
      new ArmsOverview(parts),
      new Expenses(parts),
      new PlaysChart(parts, this.#history),
      new Curves(parts, id),
      new Code(parts, id),
      new Setup(parts),
      new Controls(parts, id),
    ];
    document.title = "Experiment · linkedbandits";
  }

  receive({ type, data }) {
    if (type !== "view") return;
    const before = this.#view;
    this.#view = JSON.parse(data);
    this.#history.add(this.#view.history);
    this.#tell(before);
    // Drawing waits for the next frame: never more than once a frame, and not at all in a hidden tab.
    this.#frame ||= requestAnimationFrame(() => this.#render());
  }

  close() {
    cancelAnimationFrame(this.#frame);
    for (const section of this.#sections) section.close?.();
  }

  /** What has to reach readers at once, also those who look elsewhere: the tab's title, and changes of status. */
  #tell(before) {
    const view = this.#view;
    const { word } = standing(view);
    document.title = `${view.done ? `✓ ${answerOf(view)}` : `${count(view.plays)} plays`} · ${view.name}`;
    const alarm = newAlarms(view, before);
    let said = "";
    if (before !== null && view.done && !before.done) {
      said = `${word} after ${count(view.verdict.plays)} plays: ${answerOf(view)}`;
    } else if (before !== null && view.status !== before.status) said = `This experiment is now: ${word}`;
    const message = [said, alarm].filter(Boolean).join(". ");
    if (message !== "") announce(message);
  }

  #render() {
    this.#frame = 0;
    const view = this.#view;
    const { kind, word } = standing(view);
    setText(this.#parts.name, view.name);
    setText(this.#parts.badge, word);
    setAttribute(this.#parts.badge, "data-kind", kind);
    const arms = readArms(view);
    for (const section of this.#sections) section.render(view, arms);
  }
}
