'use strict';
// A client of the lab whose requests a test writes header by header or byte by byte, and a lab in its own process. Without Jest,
// so that the long run can use it too.
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { root, start } = require('./support.js');

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
      const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
      // Node does not send the length of a body of DELETE.
      const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
      const all = present({ host, 'x-crossings-token': token, ...changing, ...length, ...headers });
      // Without an agent, so that no connection outlives its test; setHost: a test may send no Host at all.
      const options = { host: '127.0.0.1', port, path, method, headers: all, agent: false, setHost: false };
      const request = http.request(options, resolve).on('error', reject);
      request.end(text);
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

/**
 * Send these bytes and collect what comes back until the server closes the connection, or `ms` are over. A reset ends it too.
 * @param {number} port
 * @param {string} bytes in latin1
 * @param {number} [ms]
 * @returns {Promise<string>}
 */
const exchange = (port, bytes, ms = 60_000) =>
  new Promise((resolve) => {
    let answer = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const timer = setTimeout(() => socket.destroy(), ms);
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text;
    });
    socket.on('error', () => {}); // a reset is an answer too
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });

/**
 * Connections that send these bytes and then neither send nor read anything.
 * @param {number} port
 * @param {number} count
 * @param {string} bytes
 * @returns {Promise<{sockets: net.Socket[], drop(): void}>}
 */
async function holdConnections(port, count, bytes) {
  const connecting = Array.from({ length: count }, async () => {
    const socket = net.connect(port, '127.0.0.1').pause();
    socket.on('error', () => {}); // the server may drop it
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    if (bytes && !socket.destroyed) socket.write(bytes);
    return socket;
  });
  const sockets = await Promise.all(connecting);
  return {
    sockets,
    drop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** How many connections to this port of a process are open. @param {number} pid @param {number} port */
function establishedOf(pid, port) {
  const own = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  // State 01: established; 08: closed by the client only. An inode of 0: no process holds it any longer.
  return lines.filter(([, local, , state, , , , , , inode]) => local === own && /^0[18]$/.test(state) && inode !== '0')
    .length;
}

/**
 * Start `crossings lab` in its own process, on a free port, with its own folder for runs.
 * @param {{descriptors?: number}} [options] how many file descriptors it may have
 */
async function startLabProcess({ descriptors } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'lab-'));
  const command = [
    process.execPath,
    join(root, 'server', 'cli.js'),
    'lab',
    '--port',
    '0',
    '--no-open',
    '--data',
    folder,
  ];
  const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `;
  const child = start('sh', ['-c', `${limit}exec "$@"`, 'sh', ...command]);
  /** @type {string[]} */
  const logged = [];
  createInterface({ input: child.stderr }).on('line', (line) => logged.push(line));
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.once('close', resolve));
  /** @type {string} */
  const address = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    ended.then((status) => Promise.reject(new Error(`the lab ended with status ${status}: ${logged.join('\n')}`))),
  ]);
  const { port, searchParams } = new URL(address);
  const server = { port: Number(port), token: String(searchParams.get('token')) };
  const pid = Number(child.pid);
  return {
    ...server,
    ...clientOf(server),
    pid,
    folder,
    logged,
    /** Of the server's process, in bytes. */
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
    /** Its open TCP connections. */
    connections: () => establishedOf(pid, server.port),
    /** Its programs that are still running. */
    programs: () => descendantsOf(pid).filter((child) => !hasEnded(child)),
    /** End it; resolves with its exit status. */
    async close() {
      child.kill('SIGTERM');
      const status = await ended;
      rmSync(folder, { recursive: true, force: true });
      return status;
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startLabProcess>>} LabProcess */

module.exports = { clientOf, descendantsOf, exchange, hasEnded, holdConnections, startLabProcess };
