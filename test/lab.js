'use strict';
// Support for tests of the lab's server: one in this process, with a folder of its own for runs, and requests to it
// written header by header.
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const http = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const pino = require('pino').default;
const { startServer } = require('../server/server.js');

/** @typedef {{status: number, headers: http.IncomingHttpHeaders, text: string, body: any}} Answer */
/** @typedef {{method?: string, headers?: Record<string, string | undefined>, body?: unknown}} Request */

/** @param {http.IncomingMessage} response @returns {Promise<string>} */
async function textOf(response) {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return text;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Headers without those that a test removes with undefined. @param {Record<string, string | undefined>} headers */
const present = (headers) =>
  /** @type {Record<string, string>} */ (
    Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  );

/**
 * A client of the server on a port, with valid credentials unless a test overrides headers.
 * @param {{port: number, token: string}} server
 */
function clientOf({ port, token }) {
  const host = `127.0.0.1:${port}`;

  /** @param {string} path @param {Request} options @returns {Promise<http.IncomingMessage>} */
  const open = (path, { method = 'GET', headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const changing = method === 'GET' ? {} : { origin: `http://${host}`, 'content-type': 'application/json' };
      const all = present({ host, 'x-crossings-token': token, ...changing, ...headers });
      // Without an agent, so that no connection outlives its test; setHost: a test may send no Host at all.
      const options = { host: '127.0.0.1', port, path, method, headers: all, agent: false, setHost: false };
      const request = http.request(options, resolve).on('error', reject);
      request.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    });

  return {
    host,
    /** @param {string} path @param {Request} [options] @returns {Promise<Answer>} */
    async ask(path, options = {}) {
      const response = await open(path, options);
      const text = await textOf(response);
      return { status: Number(response.statusCode), headers: response.headers, text, body: parsed(text) };
    },
    /** All events of a run, to the end of the stream. @param {string} id @returns {Promise<{event: string, data: any}[]>} */
    async events(id) {
      const text = await textOf(await open(`/api/runs/${id}/events`, {}));
      return text.split('\n\n').flatMap((block) => {
        const [, event] = /^event: ?(.*)$/m.exec(block) ?? [];
        const [, data] = /^data: ?(.*)$/m.exec(block) ?? [];
        return event && data ? [{ event, data: JSON.parse(data) }] : [];
      });
    },
  };
}

/**
 * A server in this process. `logged` collects its log lines.
 * @param {{dataFolder?: string, limitsMs?: Record<string, number>}} [options]
 */
async function startLabHere({ dataFolder, limitsMs } = {}) {
  const folder = dataFolder ?? mkdtempSync(join(tmpdir(), 'lab-'));
  /** @type {string[]} */
  const logged = [];
  const log = pino({ base: null }, { write: (line) => logged.push(line) });
  const server = await startServer({ port: 0, dataFolder: folder, log, limitsMs });
  return {
    ...server,
    ...clientOf(server),
    folder,
    logged,
    async close() {
      await server.close();
      if (dataFolder === undefined) rmSync(folder, { recursive: true });
    },
  };
}

/** Every process that descends from one. @param {number} pid @returns {number[]} */
function descendantsOf(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    return []; // it has just ended
  }
}

/** @param {number} pid */
function hasEnded(pid) {
  try {
    return /\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

module.exports = { clientOf, descendantsOf, hasEnded, startLabHere };
