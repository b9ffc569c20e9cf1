'use strict';
// The routes of the pitfalls: what the page shows of each, and a run of both programs while nothing else runs.
const express = require('express');
const { CrossingsError } = require('../lib/channel/errors.js');
const { compareLines } = require('../lib/lessons/differences.js');
const { findPitfall } = require('../lib/lessons/folders.js');
const { listAll, runPitfall, shippedRun, sourcesOf } = require('../lib/lessons/pitfalls.js');
const { remember } = require('./answers.js');
const { HttpError } = require('./http-error.js');

const LIMIT_MS = 60_000; // of both programs together; each also has its own smaller limit

/** @param {string} name */
function find(name) {
  try {
    return findPitfall(name);
  } catch (error) {
    if (!(error instanceof CrossingsError) || error.code !== 'ERR_USAGE') throw error;
    throw new HttpError(404, 'ERR_NO_PITFALL', `Pitfall ${name.slice(0, 60)} not found.`);
  }
}

/** Runs the programs of pitfalls. */
class Pitfalls {
  #runs;
  /** @type {ReturnType<typeof listAll> | null} */
  #list = null;
  #closing = new AbortController();
  /** @type {Promise<any> | null} */
  #running = null;

  /** @param {InstanceType<typeof import('./runs.js').Runs>} runs */
  constructor(runs) {
    this.#runs = runs;
  }

  /** Read once: it takes a hundred files. */
  list() {
    this.#list ??= listAll();
    return this.#list;
  }

  /** @param {string} name */
  describe(name) {
    const pitfall = find(name);
    const { title, lesson, wrong, right, text } = pitfall;
    const sources = sourcesOf(pitfall);
    return {
      name,
      title,
      lesson,
      text,
      fails: wrong.fails,
      programs: { wrong: wrong.program, right: right.program },
      lines: compareLines(sources.wrong, sources.right),
      shipped: shippedRun(pitfall),
    };
  }

  /**
   * Run both programs.
   * @param {string} name
   * @param {AbortSignal} disconnected aborted when the client disconnects
   */
  async run(name, disconnected) {
    const pitfall = find(name);
    /** @type {AbortSignal | undefined} */ let timeLimit;
    /** @type {AbortSignal | undefined} */ let signal;
    try {
      return await this.#runs.runExclusively('A pitfall', () => {
        timeLimit = AbortSignal.timeout(LIMIT_MS); // not for the requests that are refused: each would be kept for so long
        signal = AbortSignal.any([disconnected, timeLimit, this.#closing.signal]);
        this.#running = runPitfall(pitfall, { signal });
        return this.#running;
      });
    } catch (error) {
      if (timeLimit?.aborted) {
        throw new HttpError(
          503,
          'ERR_TIME_LIMIT',
          `The run was stopped: it reached the limit of ${LIMIT_MS / 1000} s.`,
        );
      }
      if (signal?.aborted) throw new HttpError(503, 'ERR_CANCELLED', 'The run was canceled.');
      if (error instanceof CrossingsError && !(error instanceof HttpError))
        throw new HttpError(503, error.code, error.message);
      throw error;
    }
  }

  /** Cancel the run in progress and wait until its processes have ended. */
  async close() {
    this.#closing.abort();
    await this.#running?.catch(() => {}); // run() has thrown this error to its caller
  }
}

/**
 * @param {Pitfalls} pitfalls
 * @param {(response: import('express').Response) => AbortSignal} disconnectOf
 */
function pitfallRoutes(pitfalls, disconnectOf) {
  const router = express.Router();
  const describe = remember((name) => pitfalls.describe(name));
  router.get('/pitfalls', (_request, response) => {
    response.json(pitfalls.list());
  });
  router.get('/pitfalls/:name', (request, response) => {
    response.type('json').send(describe(request.params.name));
  });
  router.post('/pitfalls/:name/runs', async (request, response) => {
    response.status(201).json(await pitfalls.run(request.params.name, disconnectOf(response)));
  });
  return router;
}

module.exports = { Pitfalls, pitfallRoutes };
