// What the table and the overview of the arms both need to know of a view: who leads, and the scales to draw on.

/**
 * The arms of a view as columns (label, samples, mean, low, high, stillIn, evidence), with
 * `onlyFirstTries`, whether samples are those alone in which an arm was the first tried of a play;
 * `costs`, what a try of each arm costs, or null where that does not matter;
 * `leading`, the set of indices of the arms that lead (or were found best), empty before there is enough to say so;
 * `shareEnd`, where the scale of estimates ends, and `digits`, how many decimals its percentages deserve;
 * `threshold`, the log10 of the evidence at which an arm is out, or null;
 * `evidenceEnd`, where the scale of log10 evidence ends.
 */
export function readArms({ arms, goal, leading, leads, only_first_tries: onlyFirstTries = false }) {
  const evidence = arms.log10_evidence;
  const shareEnd = niceShare(highestStillIn(arms));
  const threshold = goal.delta === null ? null : -Math.log10(goal.delta);
  return {
    size: arms.label.length,
    label: arms.label,
    samples: arms.samples,
    mean: arms.mean,
    low: arms.low,
    high: arms.high,
    stillIn: arms.still_in,
    evidence,
    onlyFirstTries,
    costs: goal.costs?.length ? goal.costs : null,
    leading: leads ? leadingArms(arms.label, leading) : new Set(),
    shareEnd,
    digits: shareEnd > 0.1 ? 1 : shareEnd > 0.01 ? 2 : 3,
    threshold,
    evidenceEnd: evidence === null ? 1 : evidenceEnd(evidence, threshold),
  };
}

function leadingArms(labels, { arm, top }) {
  const names = new Set(top?.length ? top : [arm]);
  return new Set([...labels.keys()].filter((index) => names.has(labels[index])));
}

/** Arms that left early keep their wide intervals; the scale is for those the experiment still asks about. */
function highestStillIn({ high, samples, still_in: stillIn }) {
  let highest = 0;
  for (let index = 0; index < high.length; index += 1) {
    if (stillIn[index] && samples[index] > 0 && high[index] > highest) highest = high[index];
  }
  return highest || 1;
}

/** The next round number: a scale that does not move with every view. */
function niceShare(share) {
  const power = 10 ** Math.floor(Math.log10(share));
  const step = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((candidate) => candidate * power >= share * 0.999);
  return Math.min(1, step * power);
}

/** Far enough to see arms cross the line, and not so far that one extreme arm flattens all others. */
function evidenceEnd(evidence, threshold) {
  const highest = evidence.reduce((most, value) => Math.max(most, value ?? 0), 0);
  if (threshold === null) return Math.max(1, highest);
  return Math.max(1.25 * threshold, Math.min(highest, 1.6 * threshold));
}
