// What can be chosen for a new experiment, in plain words. The service decides what is right; this is what it offers
// to people. A test holds the names against the library.

const DELTA = {
  name: "delta",
  label: "Chance of a wrong answer",
  hint: "At most this often the answer may be wrong, such as 0.05.",
  kind: "number",
  value: "0.05",
  required: true,
};
const GAP_HINT = "The best option is ahead of every other by at least this much, such as 0.05. The answer relies on it.";
const GAP = { name: "gap", label: "Told gap", hint: `${GAP_HINT} Leave it empty if you do not know.`, kind: "number" };
const ANY_ORDER = ["free"];
const ALL = ["ordered", "free", "single", "suffix"];

export const LINKAGES = {
  ordered: ["In their order", "A play may leave out options, and never swaps them."],
  free: ["In any order", "A play may begin with any option."],
  single: ["One at a time", "A play tries one option, so it does not matter whether they fail together."],
  suffix: ["From some option on", "A play goes on to the last option, in their order."],
};

export const POLICIES = [
  {
    name: "linked-duels",
    title: "The best option, where options may fail together",
    words: "Compares two options in both orders. Right also if one request can make several fail. If in doubt, this one.",
    linkages: ANY_ORDER,
    parameters: [DELTA, GAP],
    attempts: "duels",
  },
  {
    name: "linked-elimination",
    title: "The best option, of independent options",
    words: "Needs the fewest plays if options fail for reasons of their own. Also for the k best, and for success per cost.",
    linkages: ALL,
    parameters: [
      DELTA,
      { name: "k", label: "How many", hint: "The number of best options to find.", kind: "whole", value: "1" },
      { name: "epsilon", label: "Tolerance", hint: "An option this close to the best is right as well, such as 0.02.", kind: "number" },
      { name: "costs", label: "Costs", hint: "What a try of each option costs, one a line, in the order of the options. Then the most successes per cost are sought.", kind: "numbers" },
    ],
  },
  {
    name: "linked-lead",
    title: "The best option, of independent options, told what difference matters",
    words: "Needs about a quarter of the plays. The answer relies on the difference that you tell: say exactly one.",
    linkages: ALL,
    parameters: [
      DELTA,
      { name: "lift", label: "Told lift", hint: "The best option works this much more often, relatively: 0.2 for a fifth.", kind: "number" },
      { name: "gap", label: "Told gap", hint: GAP_HINT, kind: "number" },
      { name: "odds_ratio", label: "Told odds ratio", hint: "By what the odds of the best option exceed those of every other, such as 2.", kind: "number" },
    ],
  },
  {
    name: "linked-halving",
    title: "A good answer in a number of plays",
    words: "Takes the plays that you give it, and names the best option it has found. No chance of error is stated.",
    linkages: ALL,
    parameters: [{ name: "plays", label: "Plays", hint: "All that it may take, such as 2000.", kind: "whole", value: "", required: true }],
  },
];

/** What a reader wrote, as the service wants it; null if nothing was written. Throws an Error in words. */
export function readParameter({ kind, label, required }, text) {
  const written = text.trim();
  if (written === "") {
    if (required) throw new Error(`${label} is needed.`);
    return null;
  }
  if (kind === "numbers") return written.split(/[\s,;]+/).map((part) => toNumber(part, label));
  const number = toNumber(written, label);
  if (kind === "whole" && !Number.isInteger(number)) throw new Error(`${written} is not a whole number.`);
  return number;
}

function toNumber(text) {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Error(`${text} is not a number; write it with a point, such as 0.05.`);
  return number;
}
