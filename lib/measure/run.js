'use strict';
// One run from its start to its file: the environment, rounds of samples until the medians are steady or the time is
// up, and the parts that every run file has. Each benchmark defines for itself what one sample is.
const { randomUUID } = require('node:crypto');
const { version } = require('../../package.json');
const {
  describeEnvironment,
  isBusyWarning,
  otherWorkWarning,
  stolenWarning,
  watchOtherWork,
  watchStolenTime,
} = require('./environment.js');

const MAX_SHOWN = 0.99; // of the progress, until the run has ended
/** The tests shorten runs with this variable: a number of rounds instead of a time budget, and fewer messages. */
const FIXED_ROUNDS = Number(process.env.CROSSINGS_TEST_ROUNDS ?? 0);
const SHORTER = 20;

/** The number of messages, unless a test shortens the run. @param {number} messages */
const unlessShortened = (messages) => (FIXED_ROUNDS > 0 ? Math.ceil(messages / SHORTER) : messages);

/**
 * When to stop. Once minSamples rounds are done, no round begins that would end after budgetMs.
 * @typedef {{budgetMs: number, minSamples: number, maxSamples: number}} Limits
 */

/**
 * Receives the progress of a run.
 * @typedef {(progress: {fraction: number, doing: string}) => void} ProgressListener
 */

/**
 * @typedef {object} RunControl
 * @property {AbortSignal} [signal]
 * @property {string} [id]
 * @property {ProgressListener} [onProgress]
 */

/** A run in progress. */
class RunInProgress {
  #schema;
  #startedAt;
  #began;
  #id;
  #onProgress;
  #expectedMs;
  #stolenShare = watchStolenTime();
  #otherShare = watchOtherWork();

  /**
   * @param {string} schema of the file
   * @param {import('./environment.js').Environment} environment
   * @param {{startedAt: Date, began: number, expectedMs: number | null}} times
   * @param {RunControl} control
   */
  constructor(schema, environment, { startedAt, began, expectedMs }, { id = randomUUID(), onProgress = () => {} }) {
    this.environment = environment;
    /** The options that place the compiled programs on their cores. */
    this.placement = environment.pinnedCores ? ['--cores', environment.pinnedCores.join(',')] : ['--no-pin'];
    this.#schema = schema;
    this.#startedAt = startedAt;
    this.#began = began;
    this.#id = id;
    this.#onProgress = onProgress;
    this.#expectedMs = expectedMs;
  }

  elapsedMs() {
    return performance.now() - this.#began;
  }

  /** @param {string} doing @param {number} [share] of the samples done, for a run without an expected time */
  report(doing, share = 0) {
    const fraction = this.#expectedMs ? this.elapsedMs() / this.#expectedMs : share;
    this.#onProgress({ fraction: Math.min(MAX_SHOWN, fraction), doing });
  }

  /**
   * Takes rounds of samples. A round samples everything once, so that a disturbance affects all alike.
   * @param {Limits} limits
   * @param {(round: number) => Promise<void>} takeRound
   * @param {() => boolean} [isDone] checked before each round after the first minSamples
   * @returns {Promise<number>} the number of rounds taken
   */
  async takeRounds({ budgetMs, minSamples, maxSamples }, takeRound, isDone = () => false) {
    const fixed = Number.isFinite(budgetMs) ? FIXED_ROUNDS : 0;
    const isOver = () => this.elapsedMs() + longestMs > budgetMs || isDone();
    let longestMs = 0;
    for (let round = 0; round < maxSamples; round++) {
      if (fixed > 0 ? round === fixed : round >= minSamples && isOver()) return round;
      const began = performance.now();
      await takeRound(round);
      longestMs = Math.max(longestMs, performance.now() - began);
    }
    return maxSamples;
  }

  /** Call it after the last sample: records what others did with the machine during the run, and warns of it. */
  end() {
    const other = this.#otherShare();
    this.environment.otherWork = Number(other.toFixed(3));
    const busy = otherWorkWarning(other);
    // The share of the whole run replaces the one from before it.
    if (busy) this.environment.warnings = this.environment.warnings.filter((warning) => !isBusyWarning(warning));
    for (const warning of [stolenWarning(this.#stolenShare()), busy]) {
      if (warning) this.environment.warnings.push(warning);
    }
  }

  /**
   * The run file.
   * @template {object} Parameters
   * @template {object} Rest
   * @param {Parameters} parameters
   * @param {Rest} rest floors, results, and the members that only one benchmark has
   */
  file(parameters, rest) {
    return {
      schema: this.#schema,
      id: this.#id,
      startedAt: this.#startedAt.toISOString(),
      tool: { version },
      environment: this.environment,
      parameters: { ...parameters, seconds: Number((this.elapsedMs() / 1000).toFixed(1)) },
      ...rest,
    };
  }
}

/**
 * Begins a run by examining the machine.
 * @param {import('./environment.js').Placement} placement
 * @param {number | null} expectedMs how long the run will take, for its progress; null: unknown
 * @param {RunControl} [control]
 * @param {string} [schema] of the file
 */
async function beginRun({ cores, pin, sameCore }, expectedMs, control = {}, schema = 'crossings/run/1') {
  const times = { startedAt: new Date(), began: performance.now(), expectedMs };
  control.onProgress?.({ fraction: 0, doing: 'examining the machine' });
  const environment = await describeEnvironment({ cores, pin, sameCore, signal: control.signal });
  return new RunInProgress(schema, environment, times, control);
}

module.exports = { beginRun, unlessShortened };
