'use strict';
// The routes under /api. Each parses its request, calls the runs or the recordings, and sends the answer.
const express = require('express');
const { version } = require('../package.json');
const { explainCharts } = require('../lib/bench/charts.js');
const { toMarkdown } = require('../lib/bench/export.js');
const { explain } = require('../lib/bench/sentences.js');
const { EXPERIMENTS } = require('../lib/experiments/index.js');
const { tripsOf } = require('../lib/measure/statistics.js');
const { sourceOf } = require('../lib/experiments/documents.js');
const { checkExtent, reasonOf } = require('../lib/terminal/files.js');
const { Answers } = require('./answers.js');
const { Comparisons } = require('./comparisons.js');
const { MAX_BODY_BYTES } = require('./connections.js');
const { CostlyWork } = require('./costly-work.js');
const { HttpError, errorBody } = require('./http-error.js');
const { lessonRoutes } = require('./lessons.js');
const { oneATurn } = require('./one-a-turn.js');
const { pitfallRoutes } = require('./pitfalls.js');
const schema = require('./request-schema.js');
const { BENCH, csvOf, kindOf, textOf } = require('./run-kinds.js');
const { beginStream, wholeStream } = require('./subscribers.js');

/** @typedef {import('express').Request} Request */
/** @typedef {import('express').Response} Response */
/** @typedef {import('../lib/bench/runner.js').Run} Run */

/** Of a run that is compared. A thorough run of all mechanisms has a tenth of the samples. Comparing more would take minutes. */
const MOST_COMPARED = { results: 100, samples: 5000 };

/** The file formats of a run: conversion, media type, extension. An experiment has no Markdown. */
const FILES = /** @type {const} */ ({
  json: [textOf, 'application/json', 'json'],
  csv: [csvOf, 'text/csv', 'csv'],
  markdown: [toMarkdown, 'text/markdown', 'md'],
});

/** @param {string} id */
const noRunError = (id) =>
  new HttpError(404, 'ERR_NO_RUN', `Run ${id} not found. It may have been removed or saved in another folder.`);

/** @param {string} id @returns {never} */
function noRun(id) {
  throw noRunError(id);
}

/** @param {Response} response @param {string} name @param {string} type @param {string | Buffer} text */
function attach(response, name, type, text) {
  response.attachment(name).type(`${type}; charset=utf-8`).send(text);
}

/** What the pages show of an experiment. @param {import('../lib/experiments/command.js').Experiment} experiment */
const aboutExperiment = ({ name, title, document, claim, question, choices, argument }) => ({
  name,
  title,
  source: sourceOf(document),
  claim,
  question,
  choices,
  command: `npx crossings-lab ${name}`,
  argument: argument ?? null,
});

/** A signal that is aborted when the client disconnects before it is answered. @param {Response} response */
function disconnectOf(response) {
  const disconnected = new AbortController();
  response.once('close', () => response.writableFinished || disconnected.abort());
  return disconnected.signal;
}

/**
 * @param {object} lab
 * @param {InstanceType<typeof import('./runs.js').Runs>} lab.runs
 * @param {InstanceType<typeof import('./traces.js').Traces>} lab.traces
 * @param {InstanceType<typeof import('./lessons.js').Lessons>} lab.lessons
 * @param {InstanceType<typeof import('./pitfalls.js').Pitfalls>} lab.pitfalls
 * @param {{name: string, title: string, source: string}[]} lab.catalogue
 */
function routes({ runs, traces, lessons, pitfalls, catalogue }) {
  const router = express.Router();
  const names = catalogue.map(({ name }) => name);
  /** @param {Request} request */
  const idOf = (request) => schema.parse(schema.runId, request.params.id);
  /** @param {Request} request */
  const mechanismOf = (request) => {
    const { mechanism } = request.params;
    if (names.includes(String(mechanism))) return String(mechanism);
    throw new HttpError(404, 'ERR_USAGE', `Unknown mechanism "${mechanism}". Mechanisms: ${names.join(', ')}.`);
  };
  /** @param {string} id */
  const describe = (id) => {
    const found = runs.describe(id);
    if (!found) return null;
    if (found.kind !== BENCH) return { ...found, sentences: null, summary: [] }; // they are in its file
    const run = /** @type {Run | null} */ (found.run);
    return { ...found, sentences: run && explainCharts(run), summary: run ? explain(run) : [] };
  };
  /** @param {string} id */
  const finished = (id) => {
    const found = runs.finished(id);
    if (found) return found;
    if (!runs.session(id)) noRun(id);
    throw new HttpError(
      409,
      'ERR_NOT_FINISHED',
      `Run ${id} has no results: it is still running, failed or was canceled.`,
    );
  };

  /** @param {string} id */
  const finishedBench = (id) => {
    const run = finished(id);
    if (kindOf(run.schema) === BENCH) return /** @type {Run} */ (run);
    throw new HttpError(
      400,
      'ERR_USAGE',
      `Run ${id} must be a run of the benchmark; it is a run of ${kindOf(run.schema)}.`,
    );
  };

  const work = new CostlyWork();
  const answers = new Answers(work);
  const comparisons = new Comparisons();

  /** @param {string} id */
  const isRunning = (id) => runs.session(id)?.state === 'running';
  /** @param {string} id */
  const stampOf = (id) => runs.stamp(id) ?? noRun(id);
  /** @param {string} id @param {string} what of the run @param {() => string} compute @returns {[string, () => string]} */
  const answerOf = (id, what, compute) => [`${id} ${stampOf(id)} ${what}`, compute];
  /** Everything about a run, as JSON. @param {string} id */
  const everything = (id) => answerOf(id, 'everything', () => JSON.stringify(describe(id) ?? noRun(id)));
  /** All events of a run that has ended. @param {string} id */
  const lastEvents = (id) =>
    answerOf(id, 'events', () => {
      const { state, error } = runs.session(id) ?? { state: 'done', error: null };
      const snapshot = answers.now(...everything(id)).toString();
      return wholeStream(snapshot, state, state === 'done' ? { id } : (error ?? {}));
    });

  /** @param {string} id */
  const comparable = (id) => {
    const run = finishedBench(id);
    const { results } = run;
    const samples = results.reduce(
      (sum, result) => sum + result.throughput.messagesPerSecond.samples.length + tripsOf(result).length,
      0,
    );
    if (results.length <= MOST_COMPARED.results && samples <= MOST_COMPARED.samples) return run;
    throw new HttpError(
      400,
      'ERR_USAGE',
      `Run ${id} must have at most ${MOST_COMPARED.results} results with ${MOST_COMPARED.samples} samples to be compared here; ` +
        `it has ${results.length} with ${samples}. \`npx crossings-lab compare\` accepts ten times as many.`,
    );
  };

  router.use((_request, response, next) => {
    response.set('cache-control', 'no-store');
    next();
  });
  router.use((request, _response, next) => {
    // express.json() would read all of it before it refuses it.
    if (Number(request.headers['content-length']) > MAX_BODY_BYTES)
      throw new HttpError(413, 'ERR_TOO_LARGE', 'Request body must be at most 16 KiB.');
    next();
  });
  router.use(express.json({ limit: MAX_BODY_BYTES, strict: false, inflate: false }));
  router.use(oneATurn()); // to look at a body may take a millisecond, and many may arrive in one turn
  router.use(({ body }, _response, next) => {
    try {
      checkExtent(body); // zod takes milliseconds for values inside values inside values
    } catch (error) {
      throw new HttpError(400, 'ERR_JSON', `Request body is refused: ${reasonOf(error)}.`);
    }
    next();
  });

  router.get('/mechanisms', async (_request, response) => {
    const { running, runningKind } = runs;
    response.json({ mechanisms: catalogue, tracing: await traces.tracing(), running, runningKind, version });
  });
  router.get('/experiments', (_request, response) => {
    response.json({ experiments: EXPERIMENTS.map(aboutExperiment) });
  });

  router.get('/traces/:mechanism', (request, response) => {
    response.type('json').end(traces.answer(mechanismOf(request)));
  });
  router.get('/traces/:mechanism/perfetto', (request, response) => {
    // Loaded here because nothing else needs it.
    const { toTraceEvents } = require('../lib/trace/perfetto.js');
    const mechanism = mechanismOf(request);
    const bytes = traces.answer(mechanism, toTraceEvents);
    attach(response, `crossings-${mechanism}.perfetto.json`, 'application/json', bytes);
  });
  router.get('/gates', (_request, response) => {
    response.type('json').end(traces.gates());
  });
  router.post('/gates', async (request, response) => {
    schema.parse(schema.gatesBody, request.body);
    const disconnected = disconnectOf(response);
    const file = await runs.runExclusively('A recording', () => traces.recordGates(disconnected));
    response.status(201).json(file);
  });
  router.post('/traces', async (request, response) => {
    const options = schema.parse(schema.traceBody(names), request.body);
    const disconnected = disconnectOf(response);
    const trace = await runs.runExclusively('A recording', () => traces.record(options, disconnected));
    response.status(201).json(trace);
  });

  router.use(lessonRoutes(lessons, disconnectOf));
  router.use(pitfallRoutes(pitfalls, disconnectOf));

  router.get('/runs', async (_request, response) => {
    response.type('json').send(await runs.listText());
  });
  router.post('/runs', (request, response) => {
    response.status(202).json({ id: runs.start(schema.parseTask(request.body, catalogue)) });
  });
  router.get('/runs/:id', async (request, response) => {
    response.type('json').send(await answers.later(...everything(idOf(request))));
  });
  router.get('/runs/:id/file', async (request, response) => {
    const { format } = schema.parse(schema.fileQuery, request.query);
    const id = idOf(request);
    const [convert, type, extension] = FILES[format];
    const compute = () => convert(/** @type {Run} */ (format === 'markdown' ? finishedBench(id) : finished(id)));
    const bytes = await answers.later(...answerOf(id, format, compute));
    const { startedAt } = runs.line(id) ?? noRun(id);
    attach(response, `crossings-${startedAt.slice(0, 10)}-${id.slice(0, 8)}.${extension}`, type, bytes);
  });
  router.get('/runs/:id/events', async (request, response) => {
    const id = idOf(request);
    // An error comes before the stream begins.
    const ended = isRunning(id) ? null : await answers.later(...lastEvents(id));
    if (ended || request.method === 'HEAD') return void response.type('text/event-stream').end(ended);
    const listener = await beginStream(request, response);
    if (!listener) return;
    const session = runs.session(id);
    if (session && isRunning(id)) {
      // Taken after the await, so that no event is lost between this snapshot and the registration.
      listener.push(answers.now(...everything(id)).toString(), 'snapshot');
      return session.subscribers.add(listener, response);
    }
    // It has ended or was removed during the await, and a stream that has begun cannot answer 404.
    if (runs.stamp(id) === null) listener.push(errorBody(noRunError(id)).error, 'failed');
    else response.write(await answers.later(...lastEvents(id)));
    response.end();
  });
  // Apart from DELETE, because a second DELETE, as from a double click, removes the canceled run.
  router.post('/runs/:id/cancel', async (request, response) => {
    const id = idOf(request);
    response.json({ state: (await runs.cancel(id)) ?? noRun(id) });
  });
  router.delete('/runs/:id', async (request, response) => {
    const id = idOf(request);
    response.json({ state: (await runs.remove(id)) ?? noRun(id) });
  });
  router.get('/compare', async (request, response) => {
    const { a, b } = schema.parse(schema.compareQuery, request.query);
    const key = `${a} ${stampOf(a)} compared with ${b} ${stampOf(b)}`;
    const compare = async (/** @type {AbortSignal} */ signal) => {
      const [baseline, candidate] = await work.run(() => [comparable(a), comparable(b)]);
      const comparison = await comparisons.compare(baseline, candidate, signal);
      return comparison && JSON.stringify(comparison);
    };
    const bytes = await answers.shared(key, compare, disconnectOf(response));
    if (bytes !== null) response.type('json').send(bytes);
  });

  router.use((request) => {
    throw new HttpError(404, 'ERR_NO_ROUTE', `Unknown route ${request.method} ${request.baseUrl}${request.path}.`);
  });
  return router;
}

module.exports = { routes };
