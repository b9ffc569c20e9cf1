'use strict';
// Samples of several builds, taken in turn: in each round, every build takes one sample of each mechanism. What the
// machine does meanwhile affects all builds alike, so the samples of one round belong together.
const { eventOf } = require('../measure/programs.js');
const { comparePairs } = require('./compare/verdicts.js');
const { PILOT_ROUND_TRIPS, takeSample, tripsFor } = require('./runner.js');

const PILOT_MESSAGES = 500;

/** @typedef {import('./compare/verdicts.js').Question} Question */

/**
 * What takes samples: a program, and options that only it gets.
 * @typedef {object} Build
 * @property {string} name
 * @property {string} [program] the path of another build's crossings-bench
 * @property {(mechanism: string) => (string | number)[]} [extra] options for a sample of this mechanism
 */

/** @typedef {{rates: number[], tripNs: number[]}} Samples of one build and mechanism, one for each round */

/** Every order of a list. @template T @param {readonly T[]} list @returns {T[][]} */
const ordersOf = (list) =>
  list.length < 2
    ? [[...list]]
    : list.flatMap((first) => ordersOf(list.filter((one) => one !== first)).map((rest) => [first, ...rest]));

class Interleaved {
  /** @type {Map<string, Samples>} */
  #samples = new Map();
  /** How many a sample has, by mechanism. @type {Map<string, {messages: number, trips: number}>} */
  #sizes = new Map();

  /**
   * @param {string[]} mechanisms
   * @param {Build[]} builds
   * @param {{messages: number, messagesMs?: number, tripsMs: number, placement: string[], signal?: AbortSignal} & import('./runner.js').SampleOptions} how
   */
  constructor(mechanisms, builds, how) {
    this.mechanisms = mechanisms;
    this.builds = builds;
    this.how = how;
    this.orders = ordersOf(builds);
    this.clear();
  }

  /** Forgets all samples. */
  clear() {
    for (const build of this.builds) {
      for (const mechanism of this.mechanisms)
        this.#samples.set(`${build.name} ${mechanism}`, { rates: [], tripNs: [] });
    }
  }

  /** @param {string} build @param {string} mechanism */
  samplesOf(build, mechanism) {
    return /** @type {Samples} */ (this.#samples.get(`${build} ${mechanism}`));
  }

  /** @param {Build} build @param {string} mechanism @param {{messages: number, trips: number}} size */
  async #sample({ program, extra }, mechanism, { messages, trips }) {
    const { placement, signal } = this.how;
    const options = [...placement, '--no-floors', ...(extra?.(mechanism) ?? []).map(String)];
    const events = await takeSample(
      { mechanism, tripsPerSample: trips },
      messages,
      options,
      { ...this.how, program },
      signal,
    );
    return { rate: eventOf(events, 'throughput').messagesPerSecond, tripNs: eventOf(events, 'roundTrip').ns.p50 };
  }

  /**
   * Takes one sample of each build. The first shows how many messages and round trips fit into the time of a sample; all
   * builds make as many.
   */
  async takePilots() {
    const { messages, messagesMs, tripsMs } = this.how;
    const pilot = { messages: Math.min(messages, PILOT_MESSAGES), trips: PILOT_ROUND_TRIPS };
    for (const mechanism of this.mechanisms) {
      for (const build of this.builds) {
        const { rate, tripNs } = await this.#sample(build, mechanism, pilot);
        this.#keep(build, mechanism, rate, tripNs);
        if (this.#sizes.has(mechanism)) continue;
        const fitting = messagesMs ? Math.round((rate * messagesMs) / 1e3) : messages;
        this.#sizes.set(mechanism, {
          messages: Math.min(Math.max(fitting, pilot.messages), messages),
          trips: tripsFor(tripNs, { tripsMs }),
        });
      }
    }
  }

  /** @param {Build} build @param {string} mechanism @param {number} rate @param {number} tripNs */
  #keep(build, mechanism, rate, tripNs) {
    const samples = this.samplesOf(build.name, mechanism);
    samples.rates.push(rate);
    samples.tripNs.push(tripNs);
  }

  /** @param {number} round the builds take their turns in another order in each */
  async takeRound(round) {
    for (const [index, mechanism] of this.mechanisms.entries()) {
      for (const build of this.orders[(round + index) % this.orders.length]) {
        const size = /** @type {{messages: number, trips: number}} */ (this.#sizes.get(mechanism));
        const { rate, tripNs } = await this.#sample(build, mechanism, size);
        this.#keep(build, mechanism, rate, tripNs);
      }
    }
  }

  /**
   * Two questions for each mechanism, in order: its throughput and its round trip.
   * @param {string} a the baseline
   * @param {string} b the candidate
   * @param {number} noise
   * @returns {Question[]}
   */
  questions(a, b, noise) {
    return this.mechanisms.flatMap((mechanism) => {
      const [x, y] = [this.samplesOf(a, mechanism), this.samplesOf(b, mechanism)];
      return [
        { difference: comparePairs(x.rates, y.rates), better: /** @type {const} */ ('higher'), noise },
        { difference: comparePairs(x.tripNs, y.tripNs), better: /** @type {const} */ ('lower'), noise },
      ];
    });
  }
}

module.exports = { Interleaved };
