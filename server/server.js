'use strict';
// The lab's server: starts, answers, stops. It is bound to this machine's own address and lets in who has its token.
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { dirname, join } = require('node:path');
const express = require('express');
const pino = require('pino').default;
const { listMechanisms } = require('../lib/bench/runner.js');
const { programPath } = require('../lib/measure/programs.js');
const { CrossingsError } = require('../lib/channel/errors.js');
const { KeptRuns, defaultFolder } = require('./keeping.js');
const { LabRefusal, errorBody } = require('./refusal.js');
const { routes } = require('./routes.js');
const { Runs } = require('./runs.js');
const security = require('./security.js');
const { Traces } = require('./traces.js');

const PUBLIC = join(__dirname, '..', 'public');
const CHART = join(dirname(require.resolve('chart.js')), 'chart.umd.min.js');
const ADDRESS = '127.0.0.1';
const MOST_CONNECTIONS = 500; // each takes a descriptor, and starting a program takes some, too

/** One line for each request: never its query, which may hold the token. @param {import('pino').Logger} log @returns {import('express').RequestHandler} */
const logRequests = (log) => (request, response, next) => {
  const began = performance.now();
  const { method, path } = request; // a router changes the path
  response.once('close', () => {
    const ms = Number((performance.now() - began).toFixed(1));
    log.info({ method, path: path.slice(0, 200), status: response.statusCode, ms }, 'request');
  });
  next();
};

/** What Express and its parsers throw, in our words. @param {any} error */
function refusalOf(error) {
  if (error instanceof LabRefusal) return error;
  if (error instanceof CrossingsError) return new LabRefusal(500, error.code, error.message);
  const { type, status } = error ?? {};
  if (type === 'entity.too.large') {
    return new LabRefusal(413, 'ERR_TOO_LARGE', 'A request may be 16 kB long: nothing the lab does needs more.');
  }
  if (type === 'entity.parse.failed') return new LabRefusal(400, 'ERR_JSON', 'What was sent is not JSON.');
  if (status >= 400 && status < 500) return new LabRefusal(status, 'ERR_REQUEST', 'The request cannot be understood.');
  return null;
}

/** @param {import('pino').Logger} log @returns {import('express').ErrorRequestHandler} */
const answerErrors = (log) => (error, request, response, next) => {
  const refusal = refusalOf(error) ?? new LabRefusal(500, 'ERR_INTERNAL', 'The lab failed; its log tells more.');
  if (refusal.code === 'ERR_INTERNAL') log.error(error);
  if (response.headersSent) return next(error);
  response.status(refusal.status).set('cache-control', 'no-store');
  if (request.path.startsWith('/api')) response.json(errorBody(refusal));
  else response.type('text/plain').send(`${refusal.message}\n`);
};

/** @param {{port: number, token: string, log: import('pino').Logger} & Parameters<typeof routes>[0]} lab */
function buildApp({ port, token, log, ...lab }) {
  const hosts = security.hostsOf(port);
  const cookie = `crossings-${port}`;
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', 'simple');
  app.use(logRequests(log), security.headers(), security.checkHost(hosts), security.checkChange(hosts));
  app.use('/api', security.checkSite(hosts), security.checkToken(token, cookie), routes(lab));
  app.use(security.acceptToken(token, cookie));
  app.get('/vendor/chart.umd.min.js', (_request, response) => response.sendFile(CHART));
  app.use(express.static(PUBLIC, { cacheControl: false }));
  app.use((request) => {
    throw new LabRefusal(404, 'ERR_NO_PAGE', `There is no page ${request.path} here.`);
  });
  app.use(answerErrors(log));
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
      throw new CrossingsError(
        'ERR_PORT_IN_USE',
        `Port ${port} is in use by another program: choose another with --port.`,
      );
    }
    if (code === 'EACCES') {
      throw new CrossingsError(
        'ERR_PORT_REFUSED',
        `Port ${port} may not be used by you: choose one above 1023 with --port.`,
      );
    }
    throw error;
  }
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

/**
 * Start the lab.
 * @param {object} options
 * @param {number} options.port 0: any that is free
 * @param {string} [options.dataFolder] where finished runs are kept
 * @param {import('pino').Logger} [options.log]
 * @param {Partial<typeof import('./runs.js').LIMITS_MS>} [options.limitsMs] how long a run may take
 */
async function startServer({ port: wanted, dataFolder = defaultFolder(), log = logToStandardError(), limitsMs }) {
  programPath('crossings-count'); // refuses when nothing has been built
  const catalogue = await listMechanisms();
  const token = randomBytes(32).toString('base64url');
  const runs = new Runs(new KeptRuns(dataFolder, log), log, limitsMs);
  const traces = new Traces();
  /** @type {import('express').Express | null} */
  let app = null;
  // The names it answers to hold its port, which is known only once it listens.
  const server = createServer({ requireHostHeader: false }, (request, response) => app?.(request, response));
  server.maxConnections = MOST_CONNECTIONS;
  const port = await listen(server, wanted);
  app = buildApp({ port, token, log, runs, traces, catalogue });

  return {
    port,
    token,
    address: `http://${ADDRESS}:${port}/?token=${token}`,
    /** Ends every run and connection; settles when their processes are gone. */
    async close() {
      const closed = once(server, 'close');
      server.close();
      await Promise.all([traces.close(), runs.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Short lines of JSON on standard error. */
function logToStandardError() {
  const target = pino.destination({ fd: 2, sync: false, maxLength: 1 << 20 });
  target.on('error', () => {}); // a log that cannot be written, or that nobody reads, stops nobody
  return pino({ base: null }, target);
}

module.exports = { startServer };
