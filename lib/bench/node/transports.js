'use strict';
// The transports that two Node processes (or threads) can use to exchange messages, each used in its usual way. A transport
// provides one End per side: {send(message), onMessage(listener), close()}, and the channel if the transport is the ring. A
// message is a Buffer whose first four bytes are its number, or a string that begins with its number.
const { fork } = require('node:child_process');
const { rmSync } = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Worker, parentPort } = require('node:worker_threads');
const { channelPair, openChannel } = require('../../index.js');
const { startNodeOrExit } = require('../../measure/start.js');
const { bareMemory, bareWake } = require('./bare.js');
const { spawnOther } = require('./spawn-other.js');

const LARGE_BYTES = 4096;

// Round trips and messages per sample, chosen so that a sample takes a few tenths of a second.
const WORK = {
  loop: { small: { trips: 300_000, messages: 5_000_000 }, large: { trips: 6000, messages: 31_000 } },
  loopTrips: { small: { trips: 300_000, messages: 0 }, large: { trips: 6000, messages: 0 } },
  promises: { small: { trips: 100_000, messages: 3_000_000 }, large: { trips: 2000, messages: 20_000 } },
  bursts: { small: { trips: 100_000, messages: 5_000_000 }, large: { trips: 400, messages: 31_000 } },
  requests: { small: { trips: 100_000, messages: 400_000 }, large: { trips: 1000, messages: 5000 } },
  kernel: { small: { trips: 1000, messages: 20_000 }, large: { trips: 300, messages: 500 } },
  trips: { small: { trips: 100_000, messages: 0 }, large: { trips: 2000, messages: 0 } },
  asleep: { small: { trips: 8000, messages: 100 }, large: { trips: 1500, messages: 100 } },
  oneCore: { small: { trips: 15_000, messages: 0 }, large: { trips: 300, messages: 0 } },
  wakeOnly: { small: { trips: 8000, messages: 0 }, large: { trips: 1500, messages: 0 } },
};

/**
 * @typedef {object} End
 * @property {(message: any) => unknown} send if it returns false or a promise, wait before the next send
 * @property {(listener: (message: any) => void) => void} onMessage
 * @property {() => unknown} close
 * @property {(resume: () => void) => void} [onDrain]
 * @property {boolean} [awaited] send() returns a promise that should be awaited
 * @property {any} [channel] only for the ring
 * @property {import('./bare.js').Memory} [memory] only for bare memory
 *
 * @typedef {import('./spawn-other.js').Place} Place
 *
 * @typedef {object} Transport
 * @property {string} title
 * @property {keyof typeof EXCHANGES} style how the two sides exchange messages
 * @property {number} [tripsPerReading] round trips per reading of the clock, if reading it takes a noticeable share of one round trip
 * @property {{small: Work, large: Work}} work of one sample, with small messages and with large ones
 * @property {boolean} [text] messages are strings
 * @property {boolean} [oneProcess] both sides are threads of one process
 * @property {boolean} [oneCore] both sides share the first core
 * @property {string} [ratioWith] the transport whose ratios need this one; it has no separate row in the table
 * @property {(place: Place) => Promise<End>} start opens the first side's end and starts the other side
 * @property {(sizeBytes: number) => Promise<End>} join opens the other side's end
 *
 * @typedef {{trips: number, messages: number}} Work
 */

/** The round trips and messages of one sample. @param {Transport} transport @param {number} sizeBytes */
const workOf = ({ work }, sizeBytes) => (sizeBytes >= LARGE_BYTES ? work.large : work.small);

const EXCHANGES = {
  loop: () => require('./exchanges/loop.js'),
  await: () => require('./exchanges/await.js'),
  'bare-async': () => require('./exchanges/bare-async.js'),
  'bare-memory': () => require('./exchanges/bare-memory.js'),
  messages: () => require('./exchanges/bursts.js').messages,
  'messages-reuse': () => require('./exchanges/bursts.js').reusedMessages,
  batches: () => require('./exchanges/bursts.js').batches,
  'batches-reuse': () => require('./exchanges/bursts.js').reusedBatches,
  request: () => require('./exchanges/request.js'),
  events: () => require('./exchanges/events.js'),
};

/** @param {Transport} transport */
const exchangeOf = ({ style }) => EXCHANGES[style]();

/** @param {Transport} transport */
const tripsPerReadingOf = ({ tripsPerReading = 1 }) => tripsPerReading;

/** Splits a stream of bytes into messages of one size. @param {import('node:stream').Readable} stream @param {number} sizeBytes */
function frames(stream, sizeBytes) {
  /** @param {(message: Buffer) => void} listener */
  return (listener) => {
    /** @type {Buffer[]} */
    let parts = [];
    let held = 0;
    stream.on('data', (chunk) => {
      parts.push(chunk);
      held += chunk.length;
      if (held < sizeBytes) return;
      const all = parts.length === 1 ? chunk : Buffer.concat(parts);
      let at = 0;
      for (; at + sizeBytes <= held; at += sizeBytes) listener(all.subarray(at, at + sizeBytes));
      parts = at < held ? [all.subarray(at)] : [];
      held -= at;
    });
  };
}

/** @param {import('node:stream').Duplex | {in: import('node:stream').Readable, out: import('node:stream').Writable}} streams @param {number} sizeBytes @returns {End} */
function overStream(streams, sizeBytes) {
  const [input, output] = 'in' in streams ? [streams.in, streams.out] : [streams, streams];
  return {
    send: (message) => output.write(message),
    onMessage: frames(input, sizeBytes),
    onDrain: (resume) => output.once('drain', resume),
    close: () => output.end(),
  };
}

/** @param {any} port process, child process or message port @param {(message: any) => unknown} send @returns {End} */
function overEvents(port, send) {
  return {
    send,
    onMessage: (listener) => port.on('message', listener),
    close: () => (port.disconnect ?? port.close).call(port),
  };
}

/** @param {'json' | 'advanced'} serialization @returns {Transport} */
function processSend(serialization) {
  return {
    title: `process.send, ${serialization}`,
    style: 'events',
    work: WORK.kernel,
    text: serialization === 'json',
    async start({ prefix, script, args }) {
      const [execPath, ...execArgv] = [...prefix, process.execPath];
      const child = startNodeOrExit(() => fork(script, args, { execPath, execArgv, serialization }));
      return overEvents(child, (message) => new Promise((resolve) => child.send(message, resolve)));
    },
    async join() {
      return overEvents(process, (message) => new Promise((resolve) => process.send?.(message, resolve)));
    },
  };
}

/** @param {() => any} listenAt @param {string} title @returns {Transport} */
function overNet(listenAt, title) {
  return {
    title,
    style: 'events',
    work: WORK.kernel,
    async start(place) {
      const server = net.createServer().listen(listenAt());
      await new Promise((resolve) => server.once('listening', resolve));
      const where = /** @type {any} */ (server.address());
      const address = String(where.port ?? where).replace('\0', '@'); // an argument cannot contain a null character
      const other = spawnOther({ ...place, args: [...place.args, address] }, ['ignore', 'ignore', 'inherit']);
      const socket = await new Promise((resolve, reject) => {
        server.once('connection', resolve);
        other.once('exit', () => reject(new Error('The other side exited before it connected.')));
      }).finally(() => server.close());
      socket.setNoDelay?.(true);
      return overStream(socket, place.sizeBytes);
    },
    async join(sizeBytes) {
      const where = String(process.argv.at(-1));
      const isPort = /^\d+$/.test(where);
      const socket = net.connect(
        isPort ? { port: Number(where), host: '127.0.0.1' } : { path: where.replace('@', '\0') },
      );
      socket.setNoDelay(true);
      await new Promise((resolve) => socket.once('connect', resolve));
      return overStream(socket, sizeBytes);
    },
  };
}

/**
 * @param {import('../../index.js').ChannelOptions} options
 * @param {Omit<Transport, 'start' | 'join'>} description
 * @returns {Transport}
 */
function ring(options, description) {
  /** @param {any} channel @returns {End} */
  const end = (channel) => ({
    channel,
    send: (message) => channel.send(message),
    onMessage: async (listener) => {
      for await (const message of channel) listener(message);
    },
    close: () => channel.close(),
  });
  return {
    ...description,
    async start(place) {
      const { channel, port } = channelPair({ ...options, timeout: 10_000 });
      spawnOther(place, ['ignore', 'ignore', 'inherit', port.fd]);
      port.close();
      return end(await channel);
    },
    join: async () => end(await openChannel(3, options)),
  };
}

/** @returns {any} the zeromq package, or null if it is not installed */
function zeromq() {
  try {
    // @ts-expect-error: optional, and not a dependency of this package
    return require('zeromq');
  } catch {
    return null;
  }
}

/** @returns {Transport} */
function overZeromq() {
  /** @param {any} socket @returns {End} */
  const end = (socket) => ({
    awaited: true,
    send: (message) => socket.send(message),
    onMessage: async (listener) => {
      for await (const [message] of socket) listener(message);
    },
    close: () => socket.close(),
  });
  return {
    title: 'zeromq over ipc',
    style: 'events',
    work: WORK.kernel,
    async start(place) {
      const path = join(tmpdir(), `crossings-zeromq-${process.pid}.sock`);
      const socket = new (zeromq().Pair)();
      await socket.bind(`ipc://${path}`);
      const child = spawnOther({ ...place, args: [...place.args, path] }, ['pipe', 'ignore', 'inherit']);
      const close = () => {
        socket.close();
        child.stdin.end();
        rmSync(path, { force: true });
      };
      return { ...end(socket), close };
    },
    async join() {
      // Its sockets never report that the other side has ended; the end of this pipe does.
      process.stdin.resume().once('end', () => process.exit(0));
      const socket = new (zeromq().Pair)();
      socket.connect(`ipc://${process.argv.at(-1)}`);
      return end(socket);
    },
  };
}

/** @type {Record<string, Transport>} */
const transports = {
  ring: ring(
    { wait: 'spin' },
    { title: 'crossings, trySend and tryReceiveInto', style: 'loop', work: WORK.loop, tripsPerReading: 100 },
  ),
  'bare-memory': bareMemory({
    title: 'bare memory in JavaScript',
    style: 'bare-memory',
    work: WORK.loopTrips,
    tripsPerReading: 100,
    ratioWith: 'ring',
  }),
  'ring-async': ring(
    {},
    { title: 'crossings, send and for await', style: 'await', work: WORK.promises, tripsPerReading: 10 },
  ),
  'ring-bare-async': ring(
    { wait: 'spin' },
    {
      title: 'bare async functions around the try methods',
      style: 'bare-async',
      work: WORK.trips,
      tripsPerReading: 10,
      ratioWith: 'ring-async',
    },
  ),
  'ring-messages': ring(
    {},
    { title: 'crossings, trySend and for await', style: 'messages', work: WORK.bursts, tripsPerReading: 10 },
  ),
  'ring-messages-reuse': ring(
    {},
    {
      title: 'crossings, trySend and messages, reuse',
      style: 'messages-reuse',
      work: WORK.bursts,
      tripsPerReading: 10,
    },
  ),
  'ring-batches': ring(
    {},
    { title: 'crossings, trySend and batches', style: 'batches', work: WORK.bursts, tripsPerReading: 10 },
  ),
  'ring-batches-reuse': ring(
    {},
    { title: 'crossings, trySend and batches, reuse', style: 'batches-reuse', work: WORK.bursts, tripsPerReading: 10 },
  ),
  'ring-request': ring(
    {},
    { title: 'crossings, request and onRequest', style: 'request', work: WORK.requests, tripsPerReading: 10 },
  ),
  'ring-asleep': ring(
    { wait: 'sleep' },
    { title: 'crossings, woken from sleep', style: 'await', work: WORK.asleep, ratioWith: 'ring-async' },
  ),
  'ring-one-core': ring(
    {},
    {
      title: 'crossings, send and for await, on one core',
      style: 'await',
      work: WORK.oneCore,
      oneCore: true,
      ratioWith: 'ring-async',
    },
  ),
  'send-one-core': {
    ...processSend('json'),
    title: 'process.send, json, on one core',
    work: WORK.oneCore,
    oneCore: true,
    ratioWith: 'ring-async',
  },
  wake: bareWake({
    title: 'bare wake-up over a socket',
    style: 'events',
    work: WORK.wakeOnly,
    ratioWith: 'ring-async',
  }),
  'send-json': processSend('json'),
  'send-advanced': processSend('advanced'),
  stdio: {
    title: 'pipe to a child (stdio)',
    style: 'events',
    work: WORK.kernel,
    async start(place) {
      const child = spawnOther(place, ['pipe', 'pipe', 'inherit']);
      return overStream({ in: child.stdout, out: child.stdin }, place.sizeBytes);
    },
    join: async (sizeBytes) => overStream({ in: process.stdin, out: process.stdout }, sizeBytes),
  },
  // An abstract address: it leaves no file behind, however the process ends.
  'net-unix': overNet(() => `\0crossings-net-${process.pid}`, 'net over a Unix socket'),
  'net-tcp': overNet(() => ({ port: 0, host: '127.0.0.1' }), 'net over TCP'),
  port: {
    title: 'MessagePort to a worker',
    style: 'events',
    work: WORK.kernel,
    oneProcess: true,
    async start({ script, args }) {
      const worker = new Worker(script, { argv: args });
      return { ...overEvents(worker, (message) => worker.postMessage(message)), close: () => worker.terminate() };
    },
    async join() {
      const port = /** @type {any} */ (parentPort);
      return overEvents(port, (message) => port.postMessage(message));
    },
  },
  ...(zeromq() ? { zeromq: overZeromq() } : {}),
};

module.exports = { transports, workOf, exchangeOf, tripsPerReadingOf };
