'use strict';
// One run from its start to its file: the environment, rounds of samples until the medians are steady or the time is
// up, and the parts that every run file has. What one sample is, each benchmark defines itself.
const { randomUUID } = require('node:crypto');
const { version } = require('../../package.json');
const { describeEnvironment, stolenWarning, watchStolenTime } = require('./environment.js');

const SCHEMA = 'crossings/run/1';
const MOST_SHOWN = 0.99; // of the progress, until the run has ended

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
  #startedAt = new Date();
  #began = performance.now();
  #id;
  #onProgress;
  #expectedMs;
  #stolenShare = () => 0;
  /** @type {import('./environment.js').Environment} */
  environment = /** @type {any} */ (null);
  /** The options that place the compiled programs on their cores. @type {string[]} */
  placement = [];

  /** @param {number | null} expectedMs @param {RunControl} control */
  constructor(expectedMs, { id = randomUUID(), onProgress = () => {} }) {
    this.#id = id;
    this.#onProgress = onProgress;
    this.#expectedMs = expectedMs;
  }

  /** @param {{cores: number[] | null, pin: boolean, signal?: AbortSignal}} options */
  async examineMachine(options) {
    this.report('examining the machine');
    this.environment = await describeEnvironment(options);
    this.placement = this.environment.pinnedCores ? ['--cores', this.environment.pinnedCores.join(',')] : ['--no-pin'];
    this.#stolenShare = watchStolenTime();
  }

  elapsedMs() {
    return performance.now() - this.#began;
  }

  /** @param {string} doing @param {number} [share] of the samples done, for a run without an expected time */
  report(doing, share = 0) {
    const fraction = this.#expectedMs ? this.elapsedMs() / this.#expectedMs : share;
    this.#onProgress({ fraction: Math.min(MOST_SHOWN, fraction), doing });
  }

  /**
   * Takes rounds of samples. A round samples everything once, so that a disturbance affects all alike.
   * @param {Limits} limits
   * @param {(round: number) => Promise<void>} takeRound
   * @param {() => boolean} [isDone] checked before each round after the first minSamples
   * @returns {Promise<number>} the number of rounds taken
   */
  async takeRounds({ budgetMs, minSamples, maxSamples }, takeRound, isDone = () => false) {
    let longestMs = 0;
    for (let round = 0; round < maxSamples; round++) {
      if (round >= minSamples && (this.elapsedMs() + longestMs > budgetMs || isDone())) return round;
      const began = performance.now();
      await takeRound(round);
      longestMs = Math.max(longestMs, performance.now() - began);
    }
    return maxSamples;
  }

  /** After the last sample: adds to the warnings what happened to the machine meanwhile. */
  end() {
    const warning = stolenWarning(this.#stolenShare());
    if (warning) this.environment.warnings.push(warning);
  }

  /**
   * The run file.
   * @template {object} Parameters
   * @template {object} Rest
   * @param {Parameters} parameters
   * @param {Rest} rest floors, results, and what only one benchmark has
   */
  file(parameters, rest) {
    return {
      schema: SCHEMA,
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
 * @param {{cores: number[] | null, pin: boolean}} options
 * @param {number | null} expectedMs how long the run will take, for its progress; null: unknown
 * @param {RunControl} [control]
 */
async function beginRun({ cores, pin }, expectedMs, control = {}) {
  const run = new RunInProgress(expectedMs, control);
  await run.examineMachine({ cores, pin, signal: control.signal });
  return run;
}

module.exports = { beginRun };
