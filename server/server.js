'use strict';
// Starts and stops the lab's HTTP server, which is bound to 127.0.0.1.
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { readdirSync, readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { dirname, join } = require('node:path');
const express = require('express');
const { version } = require('../package.json');
const { listMechanisms } = require('../lib/bench/runner.js');
const { programPath } = require('../lib/measure/programs.js');
const { CrossingsError } = require('../lib/channel/errors.js');
const { Connections, HTTP_LIMITS } = require('./connections.js');
const { HttpError, errorBody } = require('./http-error.js');
const { Lessons } = require('./lessons.js');
const { logToStandardError } = require('./log.js');
const { oneATurn } = require('./one-a-turn.js');
const { Opening } = require('./opening.js');
const { Pitfalls } = require('./pitfalls.js');
const { routes } = require('./routes.js');
const { defaultFolder } = require('./run-store.js');
const { Runs } = require('./runs.js');
const security = require('./security.js');
const { Traces } = require('./traces.js');

const PUBLIC = join(__dirname, '..', 'public');
const RECORDINGS = join(__dirname, 'recordings'); // those that ship: as public as the pages
const CHART = join(dirname(require.resolve('chart.js')), 'chart.umd.min.js');
const ADDRESS = '127.0.0.1';

/**
 * Options of express.static(). Without cache-control browsers would go on using the files of an older package for days, and mix them with
 * new ones. Package managers may give every file the same time, so the ETag also has the version.
 * @type {NonNullable<Parameters<typeof express.static>[1]>}
 */
const FILES = {
  cacheControl: false,
  setHeaders(response, _path, { size, mtimeMs }) {
    response.setHeader('cache-control', 'no-cache'); // to be asked for each time; the answer is mostly 304
    response.setHeader('etag', `W/"${version}-${size}-${Math.floor(mtimeMs)}"`);
  },
};

/**
 * One request with the token and one without start in each turn of the event loop, whatever they ask for. Node accepts one connection in
 * each turn, so with hundreds of such requests in each, a new connection would wait for as long as others like.
 * @param {ReturnType<typeof security.tokenCheck>} hasToken
 * @param {InstanceType<typeof Connections>} connections
 * @returns {import('express').RequestHandler}
 */
function admitMembers(hasToken, connections) {
  const [strangers, members] = [oneATurn(), oneATurn()];
  return (request, response, next) => {
    if (!hasToken(request)) return strangers(request, response, next);
    connections.admit(request.socket);
    members(request, response, next);
  };
}

/** One line for each request, without its query, which may contain the token. @param {import('pino').Logger} log @returns {import('express').RequestHandler} */
const logRequests = (log) => (request, response, next) => {
  const began = performance.now();
  const { method, path } = request; // read now: a router changes the path
  response.once('close', () => {
    const ms = Number((performance.now() - began).toFixed(1));
    log.info({ method, path: path.slice(0, 200), status: response.statusCode, ms }, 'request');
  });
  next();
};

/** An error of Express or its parsers as an HttpError; null for a fault of ours. @param {any} error */
function httpErrorOf(error) {
  if (error instanceof HttpError) return error;
  if (error instanceof CrossingsError) return new HttpError(500, error.code, error.message);
  const { type, status } = error ?? {};
  if (type === 'entity.parse.failed') return new HttpError(400, 'ERR_JSON', 'Request body must be valid JSON.');
  if (status >= 400 && status < 500) return new HttpError(status, 'ERR_REQUEST', 'Malformed request.');
  return null;
}

/** @type {import('express').RequestHandler} */
function refusePage({ path }) {
  throw new HttpError(404, 'ERR_NO_PAGE', `Page ${path} not found.`);
}

/**
 * The members of a query; one that is there several times becomes a list. Not Express's own parser: for invalid escapes it takes a
 * hundred times as long.
 * @param {string} text
 */
function parseQuery(text) {
  /** @type {Record<string, string | string[]>} */ const query = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const former = query[name];
    if (former === undefined) query[name] = value;
    else if (Array.isArray(former)) former.push(value);
    else query[name] = [former, value];
  }
  return query;
}

/** @param {import('pino').Logger} log @returns {import('express').ErrorRequestHandler} */
const answerErrors = (log) => (error, request, response, _next) => {
  const known = httpErrorOf(error) ?? new HttpError(500, 'ERR_INTERNAL', 'Internal error in the lab; see its log.');
  if (known.code === 'ERR_INTERNAL') log.error(error);
  if (response.headersSent) return void response.destroy(); // Express would print the stack, outside the log
  response.status(known.status).set('cache-control', 'no-store');
  if (known.status === 503 && known.code === 'ERR_BUSY') response.set('retry-after', '2'); // others wait, for seconds
  if (request.path.startsWith('/api')) response.json(errorBody(known));
  else response.type('text/plain').send(`${known.message}\n`);
};

/**
 * @param {{port: number, token: string, opening: InstanceType<typeof Opening>, log: import('pino').Logger, connections: InstanceType<typeof Connections>, embedders: string[]} & Parameters<typeof routes>[0]} lab
 */
function buildApp({ port, token, opening, log, connections, embedders, ...lab }) {
  const hosts = security.hostsOf(port);
  const cookie = `crossings-${port}`;
  const hasToken = security.tokenCheck(token, cookie);
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', parseQuery);
  app.use(logRequests(log), admitMembers(hasToken, connections));
  app.use(security.headers(embedders), security.checkHost(hosts), security.checkChange(hosts));
  app.use('/api', security.checkSite(hosts), security.checkToken(hasToken), routes(lab));
  app.use(security.acceptToken(token, cookie, opening));
  app.use('/vendor/chart.umd.min.js', express.static(CHART, FILES));
  app.use(express.static(PUBLIC, FILES));
  app.use('/recordings', express.static(RECORDINGS, { ...FILES, index: false }));
  app.use(refusePage, answerErrors(log));
  return app;
}

/** @param {import('node:http').Server} server @param {number} port */
async function listen(server, port) {
  server.listen(port, ADDRESS);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EADDRINUSE') {
      throw new CrossingsError('ERR_PORT_IN_USE', `Port ${port} is already in use. Choose another with --port.`);
    }
    if (code === 'EACCES') {
      throw new CrossingsError(
        'ERR_PORT_REFUSED',
        `No permission to listen on port ${port}. Choose one above 1023 with --port.`,
      );
    }
    throw new CrossingsError(
      'ERR_SYSTEM',
      `The lab cannot listen on port ${port}: ${/** @type {Error} */ (error).message}.`,
    );
  }
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

/** Why there are no programs for this platform, as a sentence; null if there are. Throws where they only have to be compiled. */
function whyNoPrograms() {
  try {
    programPath('crossings-count');
    return null;
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    if (!message.startsWith('No build')) throw error;
    return message;
  }
}

/** The mechanisms that can be shown where there are no programs: those with a recording that ships. */
function recordedMechanisms() {
  const recordings = readdirSync(RECORDINGS)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(RECORDINGS, name), 'utf8')));
  return recordings
    .filter(({ mechanism, title }) => mechanism !== undefined && title !== undefined)
    .map(({ mechanism, title }) => ({ special: false, name: mechanism, title, source: `c-bench/${mechanism}.c` }));
}

/**
 * Start the lab.
 * @param {object} options
 * @param {number} options.port 0 for any free port
 * @param {string} [options.dataFolder] where finished runs are saved
 * @param {string[]} [options.embedders] origins whose pages may show a moment of a recording in a frame
 * @param {import('pino').Logger} [options.log] default: on standard error
 * @param {Partial<typeof import('./runs.js').LIMITS_MS>} [options.limitsMs] of a run, by effort
 * @param {AbortSignal} [options.signal] ends the start
 */
async function startServer({
  port: requestedPort,
  dataFolder = defaultFolder(),
  embedders = [],
  log: given,
  limitsMs,
  signal,
}) {
  const { log, flushed } = given ? { log: given, flushed: () => {} } : logToStandardError();
  const catalogue =
    whyNoPrograms() === null ? (await listMechanisms(signal)).filter(({ special }) => !special) : recordedMechanisms();
  const token = randomBytes(32).toString('base64url');
  const opening = new Opening();
  const runs = new Runs(dataFolder, log, limitsMs);
  const traces = new Traces();
  const lessons = new Lessons(runs);
  const pitfalls = new Pitfalls(runs);
  /** @type {import('express').Express | null} */
  let app = null;
  // The app is built later: the valid Host headers contain the port, which is known once the server listens.
  const server = createServer({ requireHostHeader: false, ...HTTP_LIMITS }, (request, response) => {
    if (connections.accepts(request, response)) app?.(request, response);
  });
  const connections = new Connections(server);
  const port = await listen(server, requestedPort);
  // Such as an accept() for which the system lacks memory; the connections that are open continue.
  server.on('error', (error) => log.error(error));
  app = buildApp({ port, token, opening, log, connections, embedders, runs, traces, lessons, pitfalls, catalogue });

  return {
    port,
    token,
    address: `http://${ADDRESS}:${port}/?token=${token}`,
    browserAddress: `http://${ADDRESS}:${port}/?code=${opening.code}`,
    /** Ends every run and connection; resolves when their processes have ended. */
    async close() {
      const closed = once(server, 'close');
      server.close();
      await Promise.all([traces.close(), lessons.close(), pitfalls.close(), runs.close()]);
      server.closeAllConnections();
      await closed;
      await flushed();
    },
  };
}

module.exports = {
  ADDRESS,
  CHART,
  FILES,
  PUBLIC,
  answerErrors,
  listen,
  parseQuery,
  refusePage,
  startServer,
  whyNoPrograms,
};
