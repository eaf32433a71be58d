// Times below a chart: as short as they can be, and never the same twice in a row.

const TIME_OF_DAY = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const TO_THE_SECOND = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });

const MINUTE = 60;
const HOUR = 3600;
const DAYS = 86_400;

/** Steps between times: whole seconds at least, since no label says less. */
export const TIME_STEPS = [
  1, 2, 5, 10, 15, 30,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 5, 10, 30, 90, 365].map((days) => days * DAYS),
];

/** A time of day; where a day begins, the day instead. */
export function timeLabels(splits, step) {
  const format = step < MINUTE ? TO_THE_SECOND : step < DAYS ? TIME_OF_DAY : step < 90 * DAYS ? DAY : YEAR;
  let day = null;
  return splits.map((at) => {
    const before = day;
    day = DAY.format(1000 * at);
    return step < DAYS && before !== null && before !== day ? day : format.format(1000 * at);
  });
}

/** Since something began: 90 s, 5 min, 2 h, 3 days. */
export function sinceLabels(splits, step) {
  const [size, unit] = step < MINUTE ? [1, "s"] : step < HOUR ? [MINUTE, "min"] : step < DAYS ? [HOUR, "h"] : [DAYS, "d"];
  return splits.map((seconds) => `${Number((seconds / size).toPrecision(6))} ${unit}`);
}
