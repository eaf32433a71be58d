// Figures and words as readers see them.

const LOCALE = "en-GB";
const whole = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const twoDigits = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 2 });
const threeDigits = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumSignificantDigits: 3 });
const moment = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const PERCENT = "\u00a0%"; // stays on the line of its number

export const NOTHING = "–";

export const count = (value) => whole.format(value);

/** An estimate: not more digits than it deserves. */
export const about = (value) => (value < 1e6 ? whole.format(Number(value.toPrecision(2))) : compact.format(value));

/** A cost, or successes per cost: of any size, so digits and not decimals. */
export const amount = (value) => (value < 1e6 ? threeDigits.format(value) : compact.format(value));

export const axisCount = (value) => (value < 1e4 ? whole.format(value) : compact.format(value));

/** A measured share, with as many decimals as its neighbours in a column. */
export const percent = (share, decimals) => `${(100 * share).toFixed(decimals)}${PERCENT}`;

/** A share that is round already, such as the end of a scale. */
export const roundPercent = (share) => `${Number((100 * share).toPrecision(3))}${PERCENT}`;

/** A probability that was chosen, not measured: 5 %, 0.1 %, 10⁻¹². */
export function chance(probability) {
  return probability < 1e-4 ? powerOfTen(Math.log10(probability)) : roundPercent(probability);
}

/** Evidence of which the logarithm is known. */
export function evidence(log10) {
  if (log10 < 0) return "below 1";
  if (log10 < 1) return String(Number((10 ** log10).toPrecision(2)));
  if (log10 < 6) return whole.format(Number((10 ** log10).toPrecision(2)));
  return powerOfTen(log10);
}

/** 10¹², or 3 × 10¹² where it is not a round power. */
export function powerOfTen(log10) {
  let exponent = Math.floor(log10 + 1e-9);
  let mantissa = Number((10 ** (log10 - exponent)).toPrecision(1));
  if (mantissa >= 10) {
    mantissa = 1;
    exponent += 1;
  }
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");
  const power = `10${exponent < 0 ? "⁻" : ""}${digits}`;
  return mantissa === 1 ? power : `${mantissa} × ${power}`;
}

export const when = (unixSeconds) => moment.format(1000 * unixSeconds);

export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${twoDigits.format(seconds / 3600)} h`;
  return `${twoDigits.format(seconds / 86400)} days`;
}

/** Labels are text, numbers or booleans. */
export const labelText = (label) => String(label);

export const plural = (number, noun, nouns = `${noun}s`) => `${count(number)} ${number === 1 ? noun : nouns}`;

/** How many samples an estimate is from; where arms may fail together these are the plays that an arm began. */
export const samplesText = (samples, onlyFirstTries) =>
  onlyFirstTries ? plural(samples, "first try", "first tries") : plural(samples, "sample");

/** One word for where an experiment stands, and the kind of badge that shows it. */
export function standing({ status, done, leading, verdict }) {
  const confident = (leading?.status ?? verdict) === "confident";
  const proved = leading?.proved ?? confident;
  if (status === "damaged") return { kind: "damaged", word: "Damaged" };
  if (status === "archived") return { kind: "archived", word: "Archived" };
  if (done && proved) return { kind: "decided", word: "Decided" };
  if (done && confident) return { kind: "spent", word: "Not proved" };
  if (done) return { kind: "spent", word: "Out of plays" };
  if (status === "paused") return { kind: "paused", word: "Paused" };
  return { kind: "running", word: "Running" };
}
