'use strict';
// All round trips of one mechanism, from all its samples, in an HDR histogram (Node's, which is HdrHistogram_c).
const { createHistogram } = require('node:perf_hooks');

const PERCENTILES = { p50: 50, p90: 90, p99: 99, 'p99.9': 99.9, 'p99.99': 99.99 };
const FIGURES = 3; // significant decimal digits kept by the histogram
const BANDS_PER_DECADE = 40; // each 5.9 % wide, which still resolves single polling turns
const LONGEST_NS = 1e12; // 17 minutes; a longer round trip is recorded as this

/** A histogram of round-trip times, nanoseconds. */
class RoundTrips {
  #histogram = createHistogram({ lowest: 1, highest: LONGEST_NS, figures: FIGURES });
  /** @type {Map<number, number>} */
  #bands = new Map();
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;

  /**
   * Records every round trip of one sample.
   * @param {[number, number][]} values [nanoseconds, count]
   */
  record(values) {
    for (const [ns, times] of values) {
      for (let i = 0; i < times; i++) this.#histogram.record(Math.min(Math.max(ns, 1), LONGEST_NS));
      const band = Math.floor(Math.log10(Math.max(ns, 1)) * BANDS_PER_DECADE);
      this.#bands.set(band, (this.#bands.get(band) ?? 0) + times);
      this.#sum += ns * times;
      this.#min = Math.min(this.#min, ns);
      this.#max = Math.max(this.#max, ns);
    }
  }

  get count() {
    return this.#histogram.count;
  }

  /**
   * The percentiles of the run file. A percentile with no round trip beyond it would equal the maximum, so it is null.
   * @returns {Record<string, number | null>}
   */
  summary() {
    /** @type {Record<string, number | null>} */
    const ns = { min: this.#min };
    for (const [name, percent] of Object.entries(PERCENTILES)) {
      const beyond = this.count * (1 - percent / 100);
      ns[name] = beyond >= 1 ? Math.min(this.#histogram.percentile(percent), this.#max) : null;
    }
    return { ...ns, max: this.#max, mean: this.#sum / this.count };
  }

  /**
   * The distribution for a plot whose axis adds a nine at each tick (90, 99, 99.9, ...): ten steps per nine, up to the
   * last percentile that has a round trip beyond it.
   * @returns {[number, number][]} [percentile, nanoseconds]
   */
  distribution() {
    /** @type {[number, number][]} */
    const points = [];
    for (let step = 0; this.count * 10 ** (-step / 10) > 0.999; step++) {
      const percent = 100 * (1 - 10 ** (-step / 10));
      points.push([Number(percent.toFixed(6)), this.#histogram.percentile(Math.max(percent, 1e-9))]);
    }
    return points;
  }

  /**
   * The counts in bands of equal width on a logarithmic scale, without the empty bands.
   * @returns {[number, number, number][]} [from, below, count], nanoseconds
   */
  histogram() {
    const edge = (/** @type {number} */ band) => Number((10 ** (band / BANDS_PER_DECADE)).toPrecision(6));
    return [...this.#bands].sort(([a], [b]) => a - b).map(([band, count]) => [edge(band), edge(band + 1), count]);
  }
}

module.exports = { RoundTrips, PERCENTILES };
