'use strict';
// The lab where there are no compiled programs, such as on macOS and Windows: a copy of it, as `crossings lab --export` writes it, with
// the recordings and runs that ship. Its pages say that they cannot run programs.
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const express = require('express');
const { CrossingsError } = require('../lib/channel/errors.js');
const { reasonOf } = require('../lib/terminal/files.js');
const { Connections, HTTP_LIMITS } = require('./connections.js');
const { exportLab } = require('./export.js');
const { logToStandardError } = require('./log.js');
const { oneATurn } = require('./one-a-turn.js');
const security = require('./security.js');
const { ADDRESS, FILES, answerErrors, listen, refusePage } = require('./server.js');

function makeFolder() {
  try {
    return mkdtempSync(join(tmpdir(), 'crossings-lab-'));
  } catch (error) {
    throw new CrossingsError(
      'ERR_WRITE',
      `Cannot write to the folder for temporary files, ${tmpdir()}: ${reasonOf(error)}`,
    );
  }
}

/** Serve a copy. @param {{port: number, runs?: string, signal?: AbortSignal}} options */
async function serveCopy({ port: requested, runs, signal }) {
  const folder = makeFolder();
  const remove = () => {
    process.off('exit', remove);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove); // such as when its address cannot be written
  const { log, flushed } = logToStandardError();
  try {
    const copy = join(folder, 'lab');
    await exportLab(copy, { runs, signal });
    const app = express();
    const server = createServer({ requireHostHeader: false, ...HTTP_LIMITS }, (request, response) => {
      if (connections.accepts(request, response)) app(request, response);
    });
    const connections = new Connections(server);
    const port = await listen(server, requested);
    server.on('error', (error) => log.error(error)); // as in server.js
    app.disable('x-powered-by').use(oneATurn()); // as for strangers in server.js
    app.use(security.headers([]), security.checkHost(security.hostsOf(port)));
    app.use(express.static(copy, FILES), refusePage, answerErrors(log));
    return {
      port,
      address: `http://${ADDRESS}:${port}/`,
      browserAddress: `http://${ADDRESS}:${port}/`,
      async close() {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
        remove();
        await flushed();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

module.exports = { serveCopy };
