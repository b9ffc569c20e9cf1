'use strict';
// A Node program that talks to a hostile peer: node victim.js PATH WAYS [OWN_CAPACITY]. It listens at PATH and serves each
// client in one of the ways (comma-separated names, or "all"; they take turns), until the channel ends. Meanwhile a timer
// ticks, and a second channel of this process carries numbered messages. Every tick prints one line of JSON; the parent
// ends a victim that stops ticking. At the end of its standard input the victim stops and prints a summary.
const { readFileSync } = require('node:fs');
/** @type {any} */
const crossings = require('../../lib/index.js');

const [, , path, names, ownCapacity = '65536'] = process.argv;
const SESSION_MS = Number(process.env.SESSION_MS ?? 3000); // then the victim closes the channel itself
const SANE = new Set(['ERR_PEER_CORRUPT', 'ERR_PEER_DIED', 'ERR_CLOSED', 'ERR_REQUEST_FAILED']);
const END_MS = 20_000; // for sessions to end, once this process has to
const TICK_MS = 100;

const figures = {
  sessions: 0,
  messages: 0,
  requests: 0,
  pings: 0,
  overlong: 0, // sessions that the victim had to end itself, after the peer's end
  longestGapMs: 0,
  grownMiB: 0,
  /** @type {Record<string, number>} */ errors: {},
};
let stopped = false;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reports a defect and ends this process. @param {string} what @param {any} [error] @returns {never} */
function fail(what, error) {
  process.stderr.write(`victim: ${what}${error ? `: ${error.stack ?? error}` : ''}\n`);
  process.exit(3);
}
process.setMaxListeners(0); // each server has a listener for the exit
process.on('uncaughtException', (error) => fail('an uncaught exception', error));
process.on('unhandledRejection', (error) => fail('an unhandled rejection', error));

/** Counts an error that a hostile peer may cause. Any other one is a defect. @param {any} error */
function sane(error) {
  if (!(error instanceof crossings.CrossingsError) || !SANE.has(error.code)) fail('an unexpected error', error);
  figures.errors[error.code] = (figures.errors[error.code] ?? 0) + 1;
  return error.code;
}

/** Counts a message, after reading its first and last byte. @param {Uint8Array} bytes */
function got(bytes) {
  if (!(bytes instanceof Uint8Array)) fail(`received ${bytes} instead of bytes`);
  if (bytes.length > 0 && bytes[0] + bytes[bytes.length - 1] > 510) fail('a byte above 255');
  figures.messages++;
}

/** Throws once the peer has closed: try calls only report that there is no message. @param {any} channel */
const assertOpen = (channel) => channel.trySend('still there?');

/**
 * Polls with `attempt` until the channel ends.
 * @param {any} channel
 * @param {() => boolean} attempt true if there was a message
 */
async function poll(channel, attempt) {
  for (;;) {
    for (let i = 0; i < 500 && attempt(); i++);
    assertOpen(channel);
    await nextTurn();
  }
}

/** @type {Record<string, {options?: any, run: (channel: any) => Promise<void>}>} */
const WAYS = {
  tryReceive: {
    run: (channel) =>
      poll(channel, () => {
        const message = channel.tryReceive();
        if (message !== null) got(message);
        return message !== null;
      }),
  },
  tryReceiveInto: {
    run(channel) {
      const target = new Uint8Array(1 << 20);
      return poll(channel, () => {
        const size = channel.tryReceiveInto(target);
        if (size >= 0) got(target.subarray(0, size));
        return size >= 0;
      });
    },
  },
  tryRead: {
    run: (channel) =>
      poll(channel, () =>
        channel.tryRead((/** @type {any} */ message) => {
          const copy = new Uint8Array(message.length);
          message.copy(copy);
          if (message.length > 0) message.getUint8(message.length - 1);
          if (message.length >= 8) message.getBigUint64(0);
          if (message.length < 100) message.toString();
          got(copy);
        }),
      ),
  },
  receive: { run: receiveAll },
  receives: {
    async run(channel) {
      await Promise.all([receiveAll(channel), receiveAll(channel), receiveAll(channel)]);
    },
  },
  forAwait: {
    async run(channel) {
      for await (const message of channel) got(message);
    },
  },
  sleeping: {
    options: { wait: 'sleep' },
    async run(channel) {
      for await (const message of channel) got(message);
    },
  },
  spinning: {
    options: { wait: 'spin' },
    async run(channel) {
      for await (const message of channel) got(message);
    },
  },
  batches: {
    async run(channel) {
      for await (const batch of channel.batches({ max: 100 })) batch.forEach(got);
    },
  },
  receiveSync: {
    async run(channel) {
      for (;;) {
        const until = performance.now() + 5;
        try {
          while (performance.now() < until) {
            const message = channel.receiveSync({ timeout: 2 });
            if (message === null) return;
            got(message);
          }
        } catch (error) {
          if (/** @type {any} */ (error).code !== 'ERR_TIMEOUT') throw error;
        }
        await nextTurn();
      }
    },
  },
  request: { run: (channel) => askAll(channel, 20) },
  patientRequest: { options: { maxPeerCapacity: 2 ** 30 }, run: (channel) => askAll(channel, 1e6) },
  requestAndReceive: {
    async run(channel) {
      await Promise.all([askAll(channel, 20), WAYS.forAwait.run(channel)]);
    },
  },
  onRequest: {
    async run(channel) {
      channel.onRequest((/** @type {Buffer} */ request) => {
        got(request);
        return request.subarray(0, 100);
      });
      for (;;) {
        await pause(5);
        assertOpen(channel);
      }
    },
  },
  onRequestLater: {
    async run(channel) {
      channel.onRequest(async (/** @type {Buffer} */ request) => {
        got(request);
        await nextTurn();
        if (request.length % 2) throw new Error('odd');
        return request;
      });
      for await (const message of channel) got(message);
    },
  },
  send: {
    async run(channel) {
      for (let size = 0; ; size = (size + 61) % 5000) await channel.send(Buffer.alloc(size));
    },
  },
  echo: {
    async run(channel) {
      for await (const message of channel) {
        if (message.length <= channel.maxMessageBytes) await channel.send(message);
      }
    },
  },
  duplex: {
    run: (channel) =>
      new Promise((resolve, reject) => {
        const stream = channel.toDuplex();
        stream.on('data', got);
        stream.on('error', reject);
        stream.on('end', resolve); // the peer has closed; the writable side stays open
        stream.on('close', resolve);
      }),
  },
  objects: {
    async run(channel) {
      for await (const message of channel.toDuplex({ objectMode: true })) got(message);
    },
  },
  web: {
    async run(channel) {
      for await (const message of channel.toWebStreams().readable) got(message);
    },
  },
  structured: {
    options: { ...crossings.structured },
    async run(channel) {
      for (;;) {
        try {
          if ((await channel.receive()) === null) return;
        } catch (error) {
          if (error instanceof crossings.CrossingsError) throw error;
          if (!(error instanceof Error)) fail('an unexpected error of the codec', error);
        }
        figures.messages++;
      }
    },
  },
};

/** @param {any} channel */
async function receiveAll(channel) {
  for (let message = await channel.receive(); message !== null; message = await channel.receive()) got(message);
}

/** Sends requests, 16 at a time, until the channel ends. @param {any} channel @param {number} timeout ms */
async function askAll(channel, timeout) {
  const ask = async () => {
    for (;;) {
      try {
        got(await channel.request('a question', { timeout }));
        figures.requests++;
      } catch (error) {
        const { code } = /** @type {any} */ (error);
        if (code !== 'ERR_REQUEST_FAILED' && code !== 'ERR_TIMEOUT') throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, ask));
}

/** Calls that throw on a channel that was shut down, once what had arrived before is read. @param {any} channel */
function checkCorrupt(channel) {
  for (const call of [() => channel.tryReceive(), () => channel.trySend('x'), () => channel.tryRead(() => {})]) {
    try {
      for (let i = 0; i < 1e6; i++) call();
    } catch (error) {
      sane(error);
      continue;
    }
    fail(`${call} on a corrupt channel did not throw`);
  }
}

/** The ways whose session has not ended. @type {Set<string>} */
const active = new Set();

/** @param {any} channel @param {string} name of the way */
async function converse(channel, name) {
  const way = WAYS[name];
  active.add(name);
  const deadline = setTimeout(() => {
    figures.overlong++;
    channel.close();
  }, SESSION_MS);
  try {
    await way.run(channel);
  } catch (error) {
    if (sane(error) === 'ERR_PEER_CORRUPT' && !channel.closed) checkCorrupt(channel);
  } finally {
    clearTimeout(deadline);
    await channel.close();
    active.delete(name);
    figures.sessions++;
  }
}

/** Numbered messages between two other channels of this process, which nothing may disturb. */
async function pingPong() {
  const { channel, port } = crossings.channelPair();
  const other = await crossings.openChannel(port.take());
  const near = await channel;
  const echo = (async () => {
    for await (const message of other) await other.send(message);
  })();
  let last = false; // one message more after the attack, which also a short one must leave possible
  for (let number = 0; !last; number++) {
    last = stopped;
    await near.send(String(number));
    const answer = String(await near.receive());
    if (answer !== String(number)) fail(`the good channel was disturbed: ${answer} instead of ${number}`);
    figures.pings++;
    await pause(10);
  }
  await near.close();
  await echo;
  await other.close();
}

/** Private memory of this process in bytes: without what is shared with peers. */
const privateBytes = () => 1024 * Number(/RssAnon:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

async function main() {
  const ways = names === 'all' ? Object.keys(WAYS) : names.split(',');
  // A server has one set of options, so there is one server for each way that needs its own.
  const servers = await Promise.all(
    ways.map((way, index) =>
      crossings.listen(`${path}.${index}`, { capacity: Number(ownCapacity), ...WAYS[way].options }),
    ),
  );
  const good = pingPong();
  const serving = servers.map(async (server, index) => {
    for await (const channel of server) await converse(channel, ways[index]);
  });
  const before = privateBytes();
  let ticked = performance.now();
  const ticking = setInterval(() => {
    const now = performance.now();
    figures.longestGapMs = Math.max(figures.longestGapMs, Math.round(now - ticked));
    ticked = now;
    figures.grownMiB = Math.max(figures.grownMiB, Math.round((privateBytes() - before) / 2 ** 20));
    process.stdout.write(`${JSON.stringify({ tick: true, pings: figures.pings, grownMiB: figures.grownMiB })}\n`);
  }, TICK_MS);
  process.stdin.on('end', async () => {
    stopped = true;
    setTimeout(() => fail(`did not end: ${[...active]}`), END_MS).unref();
    for (const server of servers) await server.close();
    await Promise.all([good, ...serving]);
    clearInterval(ticking);
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  });
  process.stdin.resume();
  process.stdout.write(`${JSON.stringify({ ready: true, paths: servers.map((server) => server.path) })}\n`);
}

main().catch((error) => fail('could not start', error));
