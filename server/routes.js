'use strict';
// What the lab answers under /api: each route reads what was asked, asks the right room, and says what came of it.
const express = require('express');
const { version } = require('../package.json');
const { explainCharts } = require('../lib/bench/charts.js');
const { compareRuns } = require('../lib/bench/compare.js');
const { toCsv, toJson, toMarkdown } = require('../lib/bench/export.js');
const { explain } = require('../lib/bench/sentences.js');
const asked = require('./asked.js');
const { createSession } = require('./events.js');
const { LabRefusal } = require('./refusal.js');

/** @typedef {import('express').Request} Request */
/** @typedef {import('express').Response} Response */

const BODY_LIMIT = '16kb';

/** How a run is saved: its conversion, its type, the end of its name. */
const FILES = /** @type {const} */ ({
  json: [toJson, 'application/json', 'json'],
  csv: [toCsv, 'text/csv', 'csv'],
  markdown: [toMarkdown, 'text/markdown', 'md'],
});

/** @param {string} id @returns {never} */
function noRun(id) {
  throw new LabRefusal(404, 'ERR_NO_RUN', `There is no run ${id}: it was removed, or it belongs to another folder.`);
}

/** @param {Response} response @param {string} name @param {string} type @param {string} text */
function attach(response, name, type, text) {
  response.attachment(name).type(`${type}; charset=utf-8`).send(text);
}

/** Aborted when the client goes away before it was answered. @param {Response} response */
function goneWith(response) {
  const gone = new AbortController();
  response.once('close', () => response.writableFinished || gone.abort());
  return gone.signal;
}

/**
 * @param {object} lab
 * @param {InstanceType<typeof import('./runs.js').Runs>} lab.runs
 * @param {InstanceType<typeof import('./traces.js').Traces>} lab.traces
 * @param {{name: string, title: string, source: string}[]} lab.catalogue
 */
function routes({ runs, traces, catalogue }) {
  const router = express.Router();
  const names = catalogue.map(({ name }) => name);
  /** @param {Request} request */
  const idOf = (request) => asked.read(asked.id, request.params.id);
  /** @param {Request} request */
  const mechanismOf = (request) => {
    const { mechanism } = request.params;
    if (names.includes(String(mechanism))) return String(mechanism);
    throw new LabRefusal(404, 'ERR_USAGE', `There is no mechanism ${mechanism}: there are ${names.join(', ')}.`);
  };
  /** @param {string} id */
  const describe = (id) => {
    const found = runs.describe(id) ?? noRun(id);
    const { run } = found;
    return { ...found, sentences: run && explainCharts(run), summary: run ? explain(run) : [] };
  };
  /** @param {string} id */
  const finished = (id) => {
    const found = runs.finished(id);
    if (found) return found;
    if (!runs.session(id)) noRun(id);
    throw new LabRefusal(409, 'ERR_NOT_FINISHED', `The run ${id} has no results: it goes on, or it was stopped.`);
  };

  router.use((_request, response, next) => {
    response.set('cache-control', 'no-store');
    next();
  });
  router.use(express.json({ limit: BODY_LIMIT, strict: false }));

  router.get('/mechanisms', async (_request, response) => {
    response.json({ mechanisms: catalogue, tracing: await traces.tracing(), running: runs.running, version });
  });

  router.get('/traces/:mechanism', (request, response) => {
    response.json(traces.find(mechanismOf(request)));
  });
  router.get('/traces/:mechanism/perfetto', (request, response) => {
    // Only here: a lab without it would still play.
    const { toTraceEvents } = require('../lib/trace/perfetto.js');
    const mechanism = mechanismOf(request);
    const text = JSON.stringify(toTraceEvents(traces.find(mechanism)));
    attach(response, `crossings-${mechanism}.perfetto.json`, 'application/json', text);
  });
  router.post('/traces', async (request, response) => {
    const what = asked.read(asked.traceBody(names), request.body);
    const gone = goneWith(response);
    const trace = await runs.alone('A recording', () => traces.record(what, gone));
    response.status(201).json(trace);
  });

  router.get('/runs', (_request, response) => {
    response.json({ runs: runs.list() });
  });
  router.post('/runs', (request, response) => {
    response.status(202).json({ id: runs.start(asked.readRun(request.body, catalogue)) });
  });
  router.get('/runs/:id', (request, response) => {
    response.json(describe(idOf(request)));
  });
  router.get('/runs/:id/file', (request, response) => {
    const { format } = asked.read(asked.fileQuery, request.query);
    const run = finished(idOf(request));
    const [convert, type, extension] = FILES[format];
    attach(response, `crossings-${run.startedAt.slice(0, 10)}-${run.id.slice(0, 8)}.${extension}`, type, convert(run));
  });
  router.get('/runs/:id/events', async (request, response) => {
    const id = idOf(request);
    describe(id); // refuses before the stream begins
    const listener = await createSession(request, response);
    // Taken only now: nothing can happen between the snapshot and the first event after it.
    const now = describe(id);
    listener.push(now, 'snapshot');
    const session = runs.session(id);
    if (session && now.state === 'running') {
      session.channel.register(listener);
      await session.ended;
    } else {
      listener.push(now.state === 'done' ? { id } : (now.error ?? {}), now.state);
    }
    response.end();
  });
  router.delete('/runs/:id', async (request, response) => {
    const id = idOf(request);
    response.json({ state: (await runs.remove(id)) ?? noRun(id) });
  });
  router.get('/compare', (request, response) => {
    const { a, b } = asked.read(asked.compareQuery, request.query);
    response.json(compareRuns(finished(a), finished(b)));
  });

  router.use((request) => {
    throw new LabRefusal(404, 'ERR_NO_ROUTE', `There is no ${request.method} ${request.baseUrl}${request.path} here.`);
  });
  return router;
}

module.exports = { routes };
