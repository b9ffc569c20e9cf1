'use strict';
// The samples of a sweep: the order in which they are taken, and the points that collect them.
const { randomNumbers } = require('../../measure/bootstrap.js');
const { summarize } = require('../../measure/statistics.js');
const { pointText } = require('./arguments.js');

/** @typedef {import('./arguments.js').Plan} Plan */
/** @typedef {import('./arguments.js').Configuration} Configuration */

const READ_SIZES_SHOWN = 4;

/**
 * A point of the run file.
 * @typedef {object} Point
 * @property {string} mechanism
 * @property {'process' | 'thread'} mode
 * @property {'default' | 'matched'} buffers
 * @property {number} sizeBytes of the buffer
 * @property {number} totalBytes moved by each sample
 * @property {{median: number, q1: number, q3: number, samples: number[]}} bytesPerSecond
 * @property {{sendBytes: number, receiveBytes: number}} granted the kernel's buffers; the ring's capacity
 * @property {{count: number, sizes: {bytes: number, count: number}[]}} reads per sample, with the most frequent sizes first
 */

/**
 * The items in an order that depends on the seed only (Fisher and Yates).
 * @template T
 * @param {readonly T[]} items
 * @param {number} seed
 */
function shuffled(items, seed) {
  const next = randomNumbers(seed);
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor((next() / 2 ** 32) * (last + 1));
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}

/** Every point once, in the order of this round. @param {Plan} plan @param {number} round */
function roundOrder({ configurations, sizes, seed }, round) {
  const points = configurations.flatMap((configuration) => sizes.map((size) => pointText(configuration, size)));
  return shuffled(points, (seed + round) >>> 0);
}

/** Bytes per second. @param {any} event a "sample" line of crossings-sweep */
const rateOf = ({ totalBytes, elapsedNs }) => (totalBytes / elapsedNs) * 1e9;

/** The samples of one point. */
class PointSamples {
  /** @type {number[]} */ rates = []; // bytes per second
  /** @type {Map<number, number>} */ #reads = new Map(); // bytes -> how many, over all samples
  #readCount = 0;
  /** @type {any} */ #last = null;

  /** @param {any} event */
  add(event) {
    this.rates.push(rateOf(event));
    this.#last = event;
    this.#readCount += event.reads.count;
    for (const [bytes, count] of event.reads.sizes) this.#reads.set(bytes, (this.#reads.get(bytes) ?? 0) + count);
  }

  /** @returns {Point} */
  point() {
    const { mechanism, mode, buffers, sizeBytes, totalBytes, granted } = this.#last;
    const perSample = (/** @type {number} */ count) => Number((count / this.rates.length).toFixed(2));
    const sizes = [...this.#reads]
      .sort(([a, countA], [b, countB]) => countB - countA || b - a)
      .slice(0, READ_SIZES_SHOWN)
      .map(([bytes, count]) => ({ bytes, count: perSample(count) }));
    const bytesPerSecond = { ...summarize(this.rates), samples: [...this.rates] };
    const reads = { count: perSample(this.#readCount), sizes };
    return { mechanism, mode, buffers, sizeBytes, totalBytes, bytesPerSecond, granted, reads };
  }
}

/** All samples of a sweep. */
class Samples {
  /** @type {Map<string, PointSamples>} in the order of the plan */
  #points = new Map();

  /** @param {Plan} plan */
  constructor({ configurations, sizes }) {
    for (const configuration of configurations)
      for (const size of sizes) this.#points.set(pointText(configuration, size), new PointSamples());
  }

  /** @param {any} event */
  add(event) {
    this.#points.get(pointText(event, event.sizeBytes))?.add(event);
  }

  /** The points that have at least one sample. */
  points() {
    return [...this.#points.values()].filter(({ rates }) => rates.length > 0).map((samples) => samples.point());
  }
}

module.exports = { rateOf, roundOrder, Samples, shuffled };
