'use strict';
// The routes under /api. Each parses its request, calls the runs or the recordings, and sends the answer.
const express = require('express');
const { version } = require('../package.json');
const { explainCharts } = require('../lib/bench/charts.js');
const { compareRuns } = require('../lib/bench/compare.js');
const { toCsv, toJson, toMarkdown } = require('../lib/bench/export.js');
const { explain } = require('../lib/bench/sentences.js');
const { HttpError } = require('./http-error.js');
const schema = require('./request-schema.js');
const { beginStream } = require('./subscribers.js');

/** @typedef {import('express').Request} Request */
/** @typedef {import('express').Response} Response */

const BODY_LIMIT = '16kb';

/** The file formats of a run: conversion, media type, extension. */
const FILES = /** @type {const} */ ({
  json: [toJson, 'application/json', 'json'],
  csv: [toCsv, 'text/csv', 'csv'],
  markdown: [toMarkdown, 'text/markdown', 'md'],
});

/** @param {string} id @returns {never} */
function noRun(id) {
  throw new HttpError(404, 'ERR_NO_RUN', `Run ${id} not found. It may have been removed or saved in another folder.`);
}

/** @param {Response} response @param {string} name @param {string} type @param {string} text */
function attach(response, name, type, text) {
  response.attachment(name).type(`${type}; charset=utf-8`).send(text);
}

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
 * @param {{name: string, title: string, source: string}[]} lab.catalogue
 */
function routes({ runs, traces, catalogue }) {
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
    const found = runs.describe(id) ?? noRun(id);
    const { run } = found;
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

  router.use((_request, response, next) => {
    response.set('cache-control', 'no-store');
    next();
  });
  router.use(express.json({ limit: BODY_LIMIT, strict: false, inflate: false }));

  router.get('/mechanisms', async (_request, response) => {
    response.json({ mechanisms: catalogue, tracing: await traces.tracing(), running: runs.running, version });
  });

  router.get('/traces/:mechanism', (request, response) => {
    response.json(traces.find(mechanismOf(request)));
  });
  router.get('/traces/:mechanism/perfetto', (request, response) => {
    // Loaded here because nothing else needs it.
    const { toTraceEvents } = require('../lib/trace/perfetto.js');
    const mechanism = mechanismOf(request);
    const text = JSON.stringify(toTraceEvents(traces.find(mechanism)));
    attach(response, `crossings-${mechanism}.perfetto.json`, 'application/json', text);
  });
  router.post('/traces', async (request, response) => {
    const options = schema.parse(schema.traceBody(names), request.body);
    const disconnected = disconnectOf(response);
    const trace = await runs.runExclusively('A recording', () => traces.record(options, disconnected));
    response.status(201).json(trace);
  });

  router.get('/runs', async (_request, response) => {
    response.json({ runs: await runs.list() });
  });
  router.post('/runs', (request, response) => {
    response.status(202).json({ id: runs.start(schema.parseRun(request.body, catalogue)) });
  });
  router.get('/runs/:id', (request, response) => {
    response.json(describe(idOf(request)));
  });
  router.get('/runs/:id/file', (request, response) => {
    const { format } = schema.parse(schema.fileQuery, request.query);
    const run = finished(idOf(request));
    const [convert, type, extension] = FILES[format];
    attach(response, `crossings-${run.startedAt.slice(0, 10)}-${run.id.slice(0, 8)}.${extension}`, type, convert(run));
  });
  router.get('/runs/:id/events', async (request, response) => {
    const id = idOf(request);
    describe(id); // throws a 404 before the stream begins
    if (request.method === 'HEAD') return void response.type('text/event-stream').end();
    const listener = await beginStream(request, response);
    if (!listener) return;
    // Taken after the await, so that no event is lost between this snapshot and the registration below.
    const now = describe(id);
    listener.push(now, 'snapshot');
    const session = runs.session(id);
    if (session && now.state === 'running') return session.subscribers.add(listener, response);
    listener.push(now.state === 'done' ? { id } : (now.error ?? {}), now.state);
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
  router.get('/compare', (request, response) => {
    const { a, b } = schema.parse(schema.compareQuery, request.query);
    response.json(compareRuns(finished(a), finished(b)));
  });

  router.use((request) => {
    throw new HttpError(404, 'ERR_NO_ROUTE', `Unknown route ${request.method} ${request.baseUrl}${request.path}.`);
  });
  return router;
}

module.exports = { routes };
