'use strict';
// The bill of one mechanism: its rounds, and their summary as the file has it.
const { median } = require('../../measure/statistics.js');
const { CONFIGURATIONS, PARTS, figureOf, partsOf, totalOf } = require('./parts.js');

/** @typedef {import('./parts.js').Round} Round */
/** @typedef {import('./parts.js').Figure} Figure */
/** @typedef {Pick<import('../../measure/crossings.js').Crossings, 'perRoundTrip' | 'method' | 'notice'>} Count */

/**
 * A part of the bill.
 * @typedef {object} Part
 * @property {string} name
 * @property {string} title
 * @property {Figure | null} ns null: not measured, see `reason`
 * @property {Figure | null} share of the round trip, from 0 to 1
 * @property {string} how
 * @property {string | null} reason why it was not measured, or what else it contains
 */

/** The bill of one mechanism. */
class Bill {
  /** @type {Round[]} */ rounds = [];
  /** @type {Map<string, Count>} */ counts = new Map();
  /** @type {Map<string, string>} */ #reasons = new Map();

  /** @param {string} mechanism @param {string} title @param {number[]} cores */
  constructor(mechanism, title, cores) {
    this.mechanism = mechanism;
    this.title = title;
    this.cores = cores;
    this.twoCores = cores[0] !== cores[1];
    for (const { name, twoCores } of CONFIGURATIONS) {
      if (twoCores && !this.twoCores) this.exclude(name, `it needs two cores, and only core ${cores[0]} is used`);
    }
  }

  /** A configuration cannot be measured here. @param {string} configuration @param {string} reason */
  exclude(configuration, reason) {
    this.#reasons.set(configuration, reason);
  }

  /** The configurations that can be measured here. */
  get configurations() {
    return CONFIGURATIONS.filter(({ name }) => !this.#reasons.has(name));
  }

  /** System calls per round trip, by configuration; null: at least one could not be counted. */
  #countsOrNull() {
    const counts = [...this.counts].map(([name, { perRoundTrip }]) => [name, perRoundTrip]);
    return counts.some(([, calls]) => calls === null) ? null : Object.fromEntries(counts);
  }

  /** Why a part is null, or what it contains because another is. @param {string} name @param {boolean} counted */
  #reasonOf(name, counted) {
    const awake = this.#reasons.get('two-cores-awake');
    if (['between-cores', 'wake-other-core'].includes(name)) {
      const reason = this.#reasons.get('two-cores') ?? null;
      if (reason || !awake || name === 'between-cores') return reason;
      return 'includes leaving idle, which could not be measured separately';
    }
    if (name === 'idle-exit') return awake ?? null;
    if (name === 'crossings' && !counted) {
      const notice = [...this.counts.values()].find(({ perRoundTrip }) => perRoundTrip === null)?.notice;
      return notice?.replace(/^Cannot count system calls: (.*)\.$/, '$1') ?? 'the system calls could not be counted';
    }
    return name === 'own-code' && !counted ? 'includes the crossings, which could not be counted' : null;
  }

  /** This mechanism's members of the file. */
  summary() {
    const total = totalOf(this.twoCores);
    const counts = this.#countsOrNull();
    const split = this.rounds.map((round) => partsOf(round, counts, this.twoCores));
    const roundTripNs = /** @type {Figure} */ (figureOf(this.rounds.map(({ ns }) => ns[total])));
    /** @param {(values: Record<string, number>) => number} read */
    const shareOf = (read) => figureOf(this.rounds.map(({ ns }, i) => read(split[i]) / ns[total]));
    const parts = Object.entries(PARTS).map(([name, { title, how }]) => ({
      name,
      title,
      ns: figureOf(split.map((values) => values[name])),
      share: shareOf((values) => values[name]),
      how,
      reason: this.#reasonOf(name, counts !== null),
    }));
    const lines = this.rounds.flatMap(({ cacheLineNs }) => cacheLineNs ?? []);
    return {
      mechanism: this.mechanism,
      title: this.title,
      roundTripNs,
      parts,
      remainderNs: parts.reduce((rest, { ns }) => rest - (ns?.median ?? 0), roundTripNs.median),
      waitingShare: shareOf((values) =>
        ['sleep-and-wake', 'wake-other-core', 'idle-exit'].reduce((sum, name) => sum + (values[name] || 0), 0),
      ),
      floors: {
        syscallNs: median(this.rounds.map(({ syscallNs }) => syscallNs)),
        copyNs: median(this.rounds.map(({ copyNs }) => copyNs)),
        cacheLineRoundTripNs: lines.length > 0 ? median(lines) : null,
      },
      crossings: this.counts.get(total) ?? null,
      configurations: CONFIGURATIONS.map(({ name, what, options }) => ({
        name,
        what,
        options: options(this.cores),
        ns: figureOf(this.rounds.map(({ ns }) => ns[name] ?? Number.NaN)),
        samples: this.rounds.map(({ ns }) => ns[name] ?? null),
        crossingsPerRoundTrip: this.counts.get(name)?.perRoundTrip ?? null,
        reason: this.#reasons.get(name) ?? null,
      })),
    };
  }
}

/** @typedef {ReturnType<Bill['summary']>} BillSummary */

module.exports = { Bill };
