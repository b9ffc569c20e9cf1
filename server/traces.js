'use strict';
// Recordings of the demos: those that ship with the lab, and the latest that this server made of each.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError } = require('../lib/channel/errors.js');
const { eventOf, runProgram } = require('../lib/measure/programs.js');
const { Answers } = require('./answers.js');
const { HttpError } = require('./http-error.js');

const SHIPPED = join(__dirname, 'recordings');
const LIMIT_MS = 60_000; // of one recording
const PROBE_LIMIT_MS = 10_000; // it takes milliseconds, unless something has stopped it
const GATES = 'gates'; // no mechanism has this name

/** @typedef {{allowed: boolean, reason: string | null}} Tracing */

/** Does this machine allow tracing? @returns {Promise<Tracing>} */
async function probeTracing() {
  const events = await runProgram('crossings-count', ['--probe'], { limitMs: PROBE_LIMIT_MS });
  const { ptrace } = eventOf(events, 'methods');
  return { allowed: ptrace.allowed === 'yes', reason: ptrace.reason ?? null };
}

/** A recording as it is. @param {object} trace @returns {object} */
const asItIs = (trace) => trace;

class Traces {
  /** @type {Map<string, {number: number, trace: any}>} */
  #recorded = new Map();
  #recordedCount = 0;
  #answers = new Answers();
  #closing = new AbortController();
  /** @type {Promise<Tracing> | null} */
  #tracing = null;
  /** @type {Promise<any> | null} */
  #recording = null;

  /**
   * Probed until there is an answer, which does not change while the server runs. A failure to ask, as for lack of descriptors, may pass.
   * @returns {Promise<Tracing>}
   */
  async tracing() {
    this.#tracing ??= probeTracing();
    const asked = this.#tracing;
    try {
      return await asked;
    } catch (error) {
      if (this.#tracing === asked) this.#tracing = null;
      return { allowed: false, reason: /** @type {Error} */ (error).message };
    }
  }

  /**
   * A recording as the bytes of an answer, which are made once.
   * @param {string} mechanism a valid name, since it becomes part of a path
   * @param {(trace: any) => object} [form] what to make of it
   */
  answer(mechanism, form = asItIs) {
    const { number = 0 } = this.#recorded.get(mechanism) ?? {};
    return this.#answers.now(`${mechanism} ${number} ${form.name}`, () => JSON.stringify(form(this.#find(mechanism))));
  }

  /** @param {string} mechanism */
  #find(mechanism) {
    const recorded = this.#recorded.get(mechanism);
    if (recorded) return { ...recorded.trace, origin: 'recorded' };
    try {
      return { ...JSON.parse(readFileSync(join(SHIPPED, `${mechanism}.json`), 'utf8')), origin: 'shipped' };
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
      throw new HttpError(404, 'ERR_NO_TRACE', `No recording of ${mechanism} exists yet. Record one.`);
    }
  }

  /** The recording of the gates, as the bytes of an answer. */
  gates() {
    return this.answer(GATES);
  }

  /**
   * Record a demo's system calls.
   * @param {{mechanism: string, messages: number}} options
   * @param {AbortSignal} disconnected aborted when the client disconnects
   */
  record(options, disconnected) {
    // Loaded here because nothing else needs it.
    const { recordTrace } = require('../lib/trace/record.js');
    return this.#keep(options.mechanism, (signal) => recordTrace(options, { signal }), disconnected);
  }

  /** Try the gates again. @param {AbortSignal} disconnected aborted when the client disconnects */
  recordGates(disconnected) {
    const { tryGates } = require('../lib/trace/gates/gates.js');
    return this.#keep(GATES, (signal) => tryGates({ signal }), disconnected);
  }

  /**
   * Make a recording, and keep it in place of the one that ships.
   * @param {string} name
   * @param {(signal: AbortSignal) => Promise<any>} make
   * @param {AbortSignal} disconnected
   */
  async #keep(name, make, disconnected) {
    const timeLimit = AbortSignal.timeout(LIMIT_MS);
    const signal = AbortSignal.any([disconnected, timeLimit, this.#closing.signal]);
    try {
      this.#recording = make(signal);
      const trace = await this.#recording;
      this.#recorded.set(name, { number: ++this.#recordedCount, trace });
      return { ...trace, origin: 'recorded' };
    } catch (error) {
      if (timeLimit.aborted) {
        throw new HttpError(
          503,
          'ERR_TIME_LIMIT',
          `The recording was stopped: it reached the limit of ${LIMIT_MS / 1000} seconds.`,
        );
      }
      if (disconnected.aborted || this.#closing.signal.aborted) {
        throw new HttpError(503, 'ERR_CANCELLED', 'The recording was canceled.');
      }
      if (error instanceof CrossingsError) throw new HttpError(503, error.code, error.message);
      throw error;
    }
  }

  /** Cancel the recording in progress and wait until its processes have ended. */
  async close() {
    this.#closing.abort();
    await this.#recording?.catch(() => {}); // #keep() has thrown this error to its caller
  }
}

module.exports = { Traces };
