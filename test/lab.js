'use strict';
// Support for tests of the lab's server: one in this process, with a folder of its own for runs.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const pino = require('pino').default;
const { startServer } = require('../server/server.js');
const { clientOf, descendantsOf, hasEnded } = require('./lab-client.js');

/** @typedef {import('./lab-client.js').Answer} Answer */

/** The servers that a failed test would leave open, so that Jest would never end. @type {Set<{close(): Promise<void>}>} */
const leftOpen = new Set();
afterAll(() => Promise.all([...leftOpen].map((lab) => lab.close())));

/**
 * A server in this process. `logged` collects its log lines.
 * @param {{dataFolder?: string, limitsMs?: Record<string, number>, embedders?: string[]}} [options]
 */
async function startLabHere({ dataFolder, limitsMs, embedders } = {}) {
  const folder = dataFolder ?? mkdtempSync(join(tmpdir(), 'lab-'));
  /** @type {string[]} */
  const logged = [];
  const log = pino({ base: null }, { write: (line) => logged.push(line) });
  const server = await startServer({ port: 0, dataFolder: folder, log, limitsMs, embedders });
  const lab = {
    ...server,
    ...clientOf(server),
    folder,
    logged,
    async close() {
      if (!leftOpen.delete(lab)) return; // it is closed already
      await server.close();
      if (dataFolder === undefined) rmSync(folder, { recursive: true });
    },
  };
  leftOpen.add(lab);
  return lab;
}

module.exports = { clientOf, descendantsOf, hasEnded, startLabHere };
