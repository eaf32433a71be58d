// To which field of the form for a new experiment a refusal of the service belongs.

const BY_TYPE = {
  "urn:linkedbandits:invalid-labels": "arms",
  "urn:linkedbandits:invalid-attempts": "log",
  "urn:linkedbandits:linkage-mismatch": "linkage",
  "urn:linkedbandits:request-too-large": "log",
};

/** Pairs of a field and what is said there; of "form" what belongs to none. */
export function fieldOf({ message, document: problem = {} }) {
  if (Array.isArray(problem.errors)) {
    return problem.errors.slice(0, 5).map(({ at, says }) => [placeOf(at), sentence(says)]);
  }
  if (problem.type in BY_TYPE) return [[BY_TYPE[problem.type], sentence(message)]];
  const [, named] = message.match(/^([a-z_]+)=/) ?? [];
  if (named !== undefined) return [[named, sentence(message)]];
  if (/\bcosts?\b/.test(message)) return [["costs", sentence(message)]];
  return [["form", sentence(message)]];
}

/** Where in the body it is: ["body", "policy", "parameters", "delta"] is the field "delta". */
function placeOf([, field, part, parameter]) {
  return field === "policy" && part === "parameters" && parameter !== undefined ? parameter : (field ?? "form");
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
