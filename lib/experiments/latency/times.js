'use strict';
// The times of round trips, in ticks of the clock, without rounding: their percentiles, and their distribution at the
// steps that HdrHistogram uses.

/** @type {Record<string, number>} */
const PERCENTILES = { p50: 50, p90: 90, p99: 99, 'p99.9': 99.9, 'p99.99': 99.99 };
const TICKS_PER_HALF_DISTANCE = 5; // steps between p and the middle of p and 100 %, as HdrHistogram's programs use

/** Times, and how often each occurred. */
class Times {
  /** @type {Map<number, number>} */ #counts = new Map();
  count = 0;

  /** @param {[number, number][]} pairs [ticks, count] */
  add(pairs) {
    for (const [ticks, times] of pairs) {
      this.#counts.set(ticks, (this.#counts.get(ticks) ?? 0) + times);
      this.count += times;
    }
  }

  /** Each time once, in ascending order, with the number of round trips that took at most as long. */
  #cumulative() {
    let below = 0;
    return [...this.#counts]
      .sort(([a], [b]) => a - b)
      .map(([ticks, times]) => {
        below += times;
        return { ticks, below };
      });
  }

  /**
   * Percentiles by nearest rank, and the mean. A percentile with no round trip beyond it is null: it would be the maximum.
   * @param {number} nsPerTick
   * @returns {Record<string, number | null>}
   */
  summary(nsPerTick) {
    const all = this.#cumulative();
    /** @type {Record<string, number | null>} */
    const ns = { min: all[0].ticks * nsPerTick };
    for (const [name, percent] of Object.entries(PERCENTILES)) {
      const rank = Math.ceil(round((percent / 100) * this.count));
      const value = all.find(({ below }) => below >= rank);
      ns[name] = this.count - rank >= 1 && value ? value.ticks * nsPerTick : null;
    }
    const { mean, deviation } = this.#moments();
    return {
      ...ns,
      max: all[all.length - 1].ticks * nsPerTick,
      mean: mean * nsPerTick,
      standardDeviation: deviation * nsPerTick,
    };
  }

  #moments() {
    let sum = 0;
    for (const [ticks, times] of this.#counts) sum += ticks * times;
    const mean = sum / this.count;
    let squares = 0;
    for (const [ticks, times] of this.#counts) squares += (ticks - mean) ** 2 * times;
    return { mean, deviation: Math.sqrt(squares / this.count) };
  }

  /** The share of round trips that took longer. @param {number} ticks */
  shareAbove(ticks) {
    let above = 0;
    for (const [value, times] of this.#counts) if (value > ticks) above += times;
    return above / this.count;
  }

  /**
   * The distribution, with finer steps toward 100 %: at each step, the distance to 100 % shrinks by a tenth of what it was
   * at the last halving (HdrHistogram's percentile iterator).
   * @param {number} nsPerTick
   * @returns {[number, number, number][]} [percentile, ns, round trips that took at most as long]
   */
  distribution(nsPerTick) {
    const all = this.#cumulative();
    /** @type {[number, number, number][]} */
    const points = [];
    let at = 0;
    for (let percent = 0; all[at].below < this.count || points.length === 0; percent += step(percent)) {
      const rank = Math.max(1, Math.ceil(round((percent / 100) * this.count)));
      while (all[at].below < rank) at++;
      points.push([Number(percent.toFixed(10)), all[at].ticks * nsPerTick, all[at].below]);
    }
    points.push([100, all[all.length - 1].ticks * nsPerTick, this.count]);
    return points;
  }
}

/** Without the error of binary fractions: 99.9 % of 1,000 is 999, not 999.0000000000001. @param {number} rank */
const round = (rank) => Number(rank.toFixed(6));

/** @param {number} percent */
const step = (percent) => 100 / (TICKS_PER_HALF_DISTANCE * 2 ** (Math.floor(Math.log2(100 / (100 - percent))) + 1));

module.exports = { Times, PERCENTILES };
