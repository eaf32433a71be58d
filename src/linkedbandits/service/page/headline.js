// The answer so far, or the verdict, in words.

import { setAttribute, setHidden, setText } from "./dom.js";
import { chance, count, labelText, percent, plural, samplesText, standing } from "./format.js";

const namesOf = ({ arm, top }) => (top?.length ? top : [arm]).map(labelText);

/** The verdict, or what leads, in a few words. */
export function answerOf({ done, leading, goal }) {
  const names = namesOf(leading);
  const subject = names.join(", ");
  if (!done) return subject;
  if (leading.status !== "confident") return `${subject} led at the end`;
  if (!leading.proved) return `${subject} named, without a proof`;
  if (perCost(goal)) return `${subject} has most successes per cost`;
  return `${subject} ${names.length > 1 ? `are the ${names.length} best` : "is best"}${toleranceOf(goal)}`;
}

/** Is the best arm the one with most successes per cost? */
const perCost = ({ costs = [] }) => costs.length > 0;

function toleranceOf({ tolerance, neighbours }) {
  const value = tolerance > 0 ? `, or within ${tolerance} of it` : "";
  return neighbours > 0 ? `${value}, or at most ${plural(neighbours, "place")} from it` : value;
}

export class Headline {
  #parts;

  constructor(parts) {
    this.#parts = parts;
  }

  render(view, arms) {
    const { headline, answer, question } = this.#parts;
    const { kind, detail, note } = wordsFor(view, arms);
    setAttribute(headline, "data-kind", standing(view).kind);
    setText(question, questionOf(view, arms));
    setText(this.#parts["headline-kind"], kind);
    setText(answer, !begun(view) ? "No plays yet" : view.leads ? answerOf(view) : "Too early to say who leads");
    setText(this.#parts["answer-detail"], detail);
    const assumed = assumedBy(view);
    setText(this.#parts.assumed, assumed);
    setHidden(this.#parts.assumed, assumed === "");
    const notes = [note.trim(), logNote(view.from_log), upgradeNote(view.upgrade)];
    setText(this.#parts["answer-note"], notes.filter(Boolean).join(" "));
  }
}

/** Has anything been told, or read from a log? */
const begun = ({ plays, from_log: log }) => plays > 0 || (log?.read ?? 0) > 0;

/** What was read of the log that the experiment began with. */
export function logNote(log) {
  if (!log) return "";
  const what = { first: "first tries", duels: "pairs", all: "tries" }[log.attempts];
  const word = log.on_your_word
    ? " It has one order, which cannot show whether options are independent: the word was given that they are."
    : "";
  return `Began with a log of ${plural(log.requests, "request")}: ${count(log.read)} of its ${count(log.samples)} ${what} ` +
    `were used.${word}`;
}

function questionOf({ linkage_words: tried, goal }, { size }) {
  const { delta, k } = goal;
  let which = k > 1 ? `Which ${count(k)} of ${count(size)} arms are best?` : `Which of ${count(size)} arms is best?`;
  if (perCost(goal)) which = `Which of ${count(size)} arms has most successes per cost?`;
  const level = delta === null ? "" : `; the answer may be wrong with probability ${chance(delta)}`;
  return `${which} Arms are tried ${tried}${level}.`;
}

function wordsFor(view, arms) {
  if (!begun(view)) return unplayed(view);
  return view.done ? decided(view, arms) : undecided(view, arms);
}

function unplayed({ status }) {
  return { kind: "Not begun", detail: "The first answers will show here.", note: statusNote(status) };
}

function undecided({ status, leading, leads }, arms) {
  const { stillIn, size } = arms;
  const left = stillIn.filter(Boolean).length;
  const share = left === size ? `All ${count(size)}` : `${count(left)} of ${count(size)}`;
  return {
    kind: leads ? "Leading so far" : "Begun",
    detail: leads ? estimateOf(arms, leading) : `A leader is named once every arm that is still in has ten ${arms.onlyFirstTries ? "first tries" : "samples"}.`,
    note: `${share} arms are still in. ${statusNote(status)}`,
  };
}

/** What the policy takes for granted, and what to use instead: for readers of a verdict as much as before it. */
const assumedBy = ({ assumptions = [] }) =>
  assumptions.map(({ sentence, remedy }) => `${sentence} ${remedy}`).join(" ");

const conditionsOf = ({ assumptions = [] }) =>
  assumptions.length > 0 ? `, if ${assumptions.map(({ condition }) => condition).join(" and ")}` : "";

function decided(view, arms) {
  const { verdict, policy } = view;
  const confident = verdict.status === "confident";
  let note = `The plays ran out before the policy was sure, so no chance of error is stated.`;
  if (verdict.proved)
    note = `Wrong with probability at most ${chance(verdict.error_bound)}${conditionsOf(view)}.${contradictionIn(verdict)}`;
  else if (confident) note = `Stopped by its own rule; no bound on its error is proved for ${policy.name}.`;
  return {
    kind: confident ? `Verdict after ${plural(verdict.plays, "play")}` : `Out of plays after ${count(verdict.plays)}`,
    detail: estimateOf(arms, verdict),
    note,
  };
}

/** What was told and does not look true; no bound holds then. */
function contradictionIn({ contradicted = [] }) {
  if (contradicted.length === 0) return "";
  return ` But what was seen speaks against the ${contradicted.join(" and the ")}: do not rely on that bound.`;
}

function estimateOf({ label, mean, low, high, samples, onlyFirstTries, digits }, { arm, top }) {
  const index = label.indexOf(arm);
  if (mean[index] === null) return "";
  const subject = top?.length > 1 ? `${labelText(arm)} worked` : "Worked";
  const interval = `95\u00a0% interval ${percent(low[index], digits)} to ${percent(high[index], digits)}`;
  const tries = samplesText(samples[index], onlyFirstTries);
  return `${subject} in ${percent(mean[index], digits)} of ${tries} (${interval}).`;
}

/** What `upgrade_sentence` in view.py says. */
export function upgradeNote(upgrade) {
  if (!upgrade) return "";
  const { version, plays, evidence } = upgrade;
  if (plays === 0) return `Goes on with version ${version}; nothing was told before that.`;
  const before = `${plural(plays, "play")} before that`;
  return evidence
    ? `Goes on with version ${version}, with the evidence of ${before}.`
    : `Goes on with version ${version}; its decision begins anew, and ${before} count in the estimates alone.`;
}

function statusNote(status) {
  if (status === "paused") return "Paused: no plays are handed out.";
  if (status === "archived") return "Archived: no plays are handed out, no answers taken.";
  return "";
}
