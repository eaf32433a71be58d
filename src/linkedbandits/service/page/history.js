// Plays over time, as the views bring it, piece by piece; thinned so that weeks of it stay cheap to draw.

const MOST_POINTS = 4000;

export class History {
  times = [];
  plays = [];
  #lastSeq = -1;

  /** Points are [seq, at, plays]. Those seen before are left out: a view after a reconnect may repeat some. */
  add(points) {
    for (const [seq, at, plays] of points) {
      if (seq <= this.#lastSeq) continue;
      this.#lastSeq = seq;
      this.times.push(at);
      this.plays.push(plays);
    }
    while (this.times.length > MOST_POINTS) this.#thin();
  }

  /**
   * Times and plays to draw: from nothing when the experiment was created to its present plays. Points are sparse;
   * plays that none shows yet were made shortly after the last.
   */
  drawn(createdAt, plays) {
    const times = [createdAt, ...this.times];
    const counts = [0, ...this.plays];
    if (plays > counts.at(-1)) {
      times.push(times.at(-1) + 1);
      counts.push(plays);
    }
    return [times, counts];
  }

  /** Plays a second over about the last minute, or null. */
  rate() {
    const last = this.times.length - 1;
    let first = last;
    while (first > 0 && this.times[last] - this.times[first] < 60) first -= 1;
    const seconds = this.times[last] - this.times[first];
    return seconds > 0 ? (this.plays[last] - this.plays[first]) / seconds : null;
  }

  /** Leave out every other point, but neither the first nor the last. */
  #thin() {
    const last = this.times.length - 1;
    const keep = (_, index) => index % 2 === 0 || index === last;
    this.times = this.times.filter(keep);
    this.plays = this.plays.filter(keep);
  }
}
