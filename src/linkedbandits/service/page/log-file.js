// A log to begin with, read from a file: what was offered in every request, and what worked.

const LARGEST = 1_000_000; // bytes that the service takes in one request

/** The requests in a file: a JSON array, or a JSON object a line, each {"order": [...], "hit": ... or null}. */
export async function readLog(file) {
  if (file.size > LARGEST) {
    throw new Error("The file is larger than the megabyte that one request may have. Use the last part of it, chosen by time.");
  }
  const text = (await file.text()).trim();
  if (text === "") throw new Error("The file is empty.");
  const requests = text.startsWith("[") ? parse(text, "The file") : linesOf(text);
  requests.forEach((request, index) => check(request, index + 1));
  return requests.map(({ order, hit }) => ({ order, hit }));
}

function linesOf(text) {
  return text.split(/\r?\n/).flatMap((line, index) => (line.trim() === "" ? [] : [parse(line, `Line ${index + 1}`)]));
}

function parse(text, where) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${where} is no JSON. Give a JSON array, or an object a line: {"order": ["north", "east"], "hit": "east"}`);
  }
}

function check(request, number) {
  if (!Array.isArray(request?.order) || request.hit === undefined) {
    throw new Error(`Request ${number} has no "order" and "hit": {"order": ["north", "east"], "hit": null} is one that nothing worked for.`);
  }
}
