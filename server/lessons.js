'use strict';
// The routes of the lessons. A program runs while nothing else does, and ends when its client disconnects.
const express = require('express');
const { CrossingsError } = require('../lib/channel/errors.js');
const { findLesson } = require('../lib/lessons/folders.js');
const { describeGlossary, describeLesson, listAll, presentRun, runLesson } = require('../lib/lessons/lesson.js');
const { remember } = require('./answers.js');
const { HttpError, errorBody } = require('./http-error.js');
const schema = require('./request-schema.js');

/** @typedef {import('../lib/lessons/lesson.js').LessonRun} LessonRun */

/** @param {unknown} name */
function lessonOf(name) {
  try {
    return findLesson(String(name));
  } catch (error) {
    if (!(error instanceof CrossingsError) || error.code !== 'ERR_USAGE') throw error;
    throw new HttpError(404, 'ERR_NO_LESSON', error.message);
  }
}

/** Runs the programs of lessons. */
class Lessons {
  #runs;
  #closing = new AbortController();
  /** @type {Promise<LessonRun> | null} */
  #running = null;

  /** @param {InstanceType<typeof import('./runs.js').Runs>} runs */
  constructor(runs) {
    this.#runs = runs;
  }

  /**
   * @param {import('../lib/lessons/folders.js').Lesson} lesson
   * @param {number | null} which
   * @param {AbortSignal} disconnected aborted when the client disconnects
   * @param {import('../lib/lessons/experiment.js').OnProgress} [onProgress]
   */
  async run(lesson, which, disconnected, onProgress) {
    /** @type {AbortSignal | undefined} */ let signal;
    try {
      return await this.#runs.runExclusively('A lesson', () => {
        signal = AbortSignal.any([disconnected, this.#closing.signal]);
        this.#running = runLesson(lesson, which, { signal, onProgress });
        return this.#running;
      });
    } catch (error) {
      if (signal?.aborted) throw new HttpError(503, 'ERR_CANCELLED', 'The run was canceled.');
      if (error instanceof CrossingsError && !(error instanceof HttpError))
        throw new HttpError(503, error.code, error.message); // for example, its program was killed
      throw error;
    }
  }

  /** Cancel the run in progress and wait until its processes have ended. */
  async close() {
    this.#closing.abort();
    await this.#running?.catch(() => {}); // run() has thrown this error to its caller
  }
}

const LINES = 'application/x-ndjson';

/**
 * Answers with lines of JSON: {"progress": …} whenever something else begins, and in the end {"run": …} or {"error": …}. What goes
 * wrong before the first line is an ordinary error with its status.
 * @param {import('express').Response} response
 * @param {(onProgress: import('../lib/lessons/experiment.js').OnProgress) => Promise<object>} run
 */
async function answerInLines(response, run) {
  const write = (/** @type {object} */ line) => {
    if (!response.headersSent) response.status(201).type(LINES);
    response.write(`${JSON.stringify(line)}\n`);
  };
  try {
    write({ run: await run((progress) => write({ progress })) });
  } catch (error) {
    if (!response.headersSent || !(error instanceof CrossingsError)) throw error;
    write(errorBody(error));
  }
  response.end();
}

/**
 * @param {Lessons} lessons
 * @param {(response: import('express').Response) => AbortSignal} disconnectOf
 */
function lessonRoutes(lessons, disconnectOf) {
  const router = express.Router();
  const list = remember(listAll);
  const glossary = remember(() => ({ terms: describeGlossary() }));
  const lesson = remember((name) => describeLesson(lessonOf(name)));
  router.get('/lessons', (_request, response) => {
    response.type('json').send(list(''));
  });
  router.get('/glossary', (_request, response) => {
    response.type('json').send(glossary(''));
  });
  router.get('/lessons/:name', (request, response) => {
    response.type('json').send(lesson(request.params.name));
  });
  router.post('/lessons/:name/runs', async (request, response) => {
    const lesson = lessonOf(request.params.name);
    const { try: which } = schema.parse(schema.lessonBody(lesson.try?.length ?? 0), request.body);
    const disconnected = disconnectOf(response);
    const run = async (/** @type {import('../lib/lessons/experiment.js').OnProgress} */ onProgress) =>
      presentRun(lesson, await lessons.run(lesson, which, disconnected, onProgress), 'here');
    if (request.accepts(['json', LINES]) === LINES) return answerInLines(response, run);
    response.status(201).json(await run(() => {}));
  });
  return router;
}

module.exports = { Lessons, lessonRoutes };
