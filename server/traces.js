'use strict';
// Recordings of the demos: those that ship with the lab, and the last one of each that this server made.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError } = require('../lib/channel/errors.js');
const { eventOf, runProgram } = require('../lib/measure/programs.js');
const { LabRefusal } = require('./refusal.js');

const SHIPPED = join(__dirname, 'recordings');
const LIMIT_MS = 60_000; // of one recording

/** May processes of this machine be traced? @returns {Promise<{allowed: boolean, reason: string | null}>} */
async function probeTracing() {
  try {
    const { ptrace } = eventOf(await runProgram('crossings-count', ['--probe']), 'methods');
    return { allowed: ptrace.allowed === 'yes', reason: ptrace.reason ?? null };
  } catch (error) {
    return { allowed: false, reason: /** @type {Error} */ (error).message };
  }
}

/** All recordings, by mechanism. */
class Traces {
  /** @type {Map<string, any>} */
  #recorded = new Map();
  #closing = new AbortController();
  /** @type {Promise<{allowed: boolean, reason: string | null}> | null} */
  #tracing = null;
  /** @type {Promise<any> | null} */
  #recording = null;

  /** Asked once: the answer does not change while the server runs. */
  tracing() {
    this.#tracing ??= probeTracing();
    return this.#tracing;
  }

  /** @param {string} mechanism one of those there are: it becomes part of a path */
  find(mechanism) {
    const recorded = this.#recorded.get(mechanism);
    if (recorded) return { ...recorded, origin: 'recorded' };
    try {
      return { ...JSON.parse(readFileSync(join(SHIPPED, `${mechanism}.json`), 'utf8')), origin: 'shipped' };
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
      throw new LabRefusal(404, 'ERR_NO_TRACE', `There is no recording of ${mechanism} yet: record one.`);
    }
  }

  /**
   * Record a demo's system calls.
   * @param {{mechanism: string, messages: number}} what
   * @param {AbortSignal} gone aborted when nobody waits for it any more
   */
  async record(what, gone) {
    // Only here: it is not needed for anything else.
    const { recordTrace } = require('../lib/trace/record.js');
    const late = AbortSignal.timeout(LIMIT_MS);
    const signal = AbortSignal.any([gone, late, this.#closing.signal]);
    try {
      this.#recording = recordTrace(what, { signal });
      const trace = await this.#recording;
      this.#recorded.set(what.mechanism, trace);
      return { ...trace, origin: 'recorded' };
    } catch (error) {
      if (late.aborted) {
        throw new LabRefusal(503, 'ERR_TIME_LIMIT', 'The recording was stopped: it took more than a minute.');
      }
      if (gone.aborted || this.#closing.signal.aborted) {
        throw new LabRefusal(503, 'ERR_CANCELLED', 'The recording was stopped.');
      }
      if (error instanceof CrossingsError) throw new LabRefusal(503, error.code, error.message);
      throw error;
    }
  }

  /** End what is being recorded and wait until its processes are gone. */
  async close() {
    this.#closing.abort();
    await this.#recording?.catch(() => {});
  }
}

module.exports = { Traces };
