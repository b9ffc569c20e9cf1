'use strict';
// The times of round trips, in ticks of the clock, without rounding: their percentiles, and their distribution at the
// steps that HdrHistogram uses.

/** @type {Record<string, number>} */
const PERCENTILES = { p50: 50, p90: 90, p99: 99, 'p99.9': 99.9, 'p99.99': 99.99 };
const TICKS_PER_HALF_DISTANCE = 5; // steps between p and the middle of p and 100 %, as HdrHistogram's programs use

/** Times, and how often each occurred. On a busy machine, nearly all of millions of times differ. */
class Times {
  /** Each time once, in ascending order. */ #ticks = new Float64Array(0);
  /** How often it occurred. */ #counts = new Uint32Array(0);
  count = 0;

  /** @param {[number, number][]} pairs [ticks, count] */
  add(pairs) {
    const [oldTicks, oldCounts] = [this.#ticks, this.#counts];
    const ticks = new Float64Array(oldTicks.length + pairs.length);
    const counts = new Uint32Array(ticks.length);
    let size = 0;
    const put = (/** @type {number} */ time, /** @type {number} */ times) => {
      if (size === 0 || ticks[size - 1] !== time) ticks[size++] = time;
      counts[size - 1] += times;
    };
    let i = 0;
    for (const [time, times] of [...pairs].sort(([a], [b]) => a - b)) {
      for (; i < oldTicks.length && oldTicks[i] <= time; i++) put(oldTicks[i], oldCounts[i]);
      put(time, times);
      this.count += times;
    }
    for (; i < oldTicks.length; i++) put(oldTicks[i], oldCounts[i]);
    this.#ticks = ticks.subarray(0, size);
    this.#counts = counts.subarray(0, size);
  }

  /**
   * Percentiles by nearest rank, and the mean. A percentile with no round trip beyond it is null: it would be the maximum.
   * @param {number} nsPerTick
   * @returns {Record<string, number | null>}
   */
  summary(nsPerTick) {
    /** @type {Record<string, number | null>} */
    const ns = { min: this.#ticks[0] * nsPerTick };
    let at = 0;
    let below = this.#counts[0]; // round trips that took at most as long
    for (const [name, percent] of Object.entries(PERCENTILES)) {
      const rank = Math.ceil(round((percent / 100) * this.count));
      while (below < rank) below += this.#counts[++at];
      ns[name] = this.count - rank >= 1 ? this.#ticks[at] * nsPerTick : null;
    }
    const { mean, deviation } = this.#moments();
    return {
      ...ns,
      max: this.#ticks[this.#ticks.length - 1] * nsPerTick,
      mean: mean * nsPerTick,
      standardDeviation: deviation * nsPerTick,
    };
  }

  #moments() {
    let sum = 0;
    for (let i = 0; i < this.#ticks.length; i++) sum += this.#ticks[i] * this.#counts[i];
    const mean = sum / this.count;
    let squares = 0;
    for (let i = 0; i < this.#ticks.length; i++) squares += (this.#ticks[i] - mean) ** 2 * this.#counts[i];
    return { mean, deviation: Math.sqrt(squares / this.count) };
  }

  /** The share of round trips that took longer. @param {number} ticks */
  shareAbove(ticks) {
    let above = 0;
    for (let i = this.#ticks.length - 1; i >= 0 && this.#ticks[i] > ticks; i--) above += this.#counts[i];
    return above / this.count;
  }

  /**
   * The distribution, with finer steps toward 100 %: at each step, the distance to 100 % shrinks by a tenth of what it was
   * at the last halving (HdrHistogram's percentile iterator).
   * @param {number} nsPerTick
   * @returns {[number, number, number][]} [percentile, ns, round trips that took at most as long]
   */
  distribution(nsPerTick) {
    /** @type {[number, number, number][]} */
    const points = [];
    let at = 0;
    let below = this.#counts[0];
    for (let percent = 0; below < this.count || points.length === 0; percent += step(percent)) {
      const rank = Math.max(1, Math.ceil(round((percent / 100) * this.count)));
      while (below < rank) below += this.#counts[++at];
      points.push([Number(percent.toFixed(10)), this.#ticks[at] * nsPerTick, below]);
    }
    points.push([100, this.#ticks[this.#ticks.length - 1] * nsPerTick, this.count]);
    return points;
  }
}

/** Without the error of binary fractions: 99.9 % of 1,000 is 999, not 999.0000000000001. @param {number} rank */
const round = (rank) => Number(rank.toFixed(6));

/** @param {number} percent */
const step = (percent) => 100 / (TICKS_PER_HALF_DISTANCE * 2 ** (Math.floor(Math.log2(100 / (100 - percent))) + 1));

module.exports = { Times, PERCENTILES };
