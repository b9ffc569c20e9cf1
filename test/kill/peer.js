'use strict';
// One process of the kill matrix, in JavaScript; peer.c is the same in C and describes the arguments. Only this one has the
// scenarios "request" (the victim sends requests) and "respond" (it answers them), and more ways to send and receive.
const { openSync, readFileSync, readdirSync, writeSync } = require('node:fs');
const { createInterface } = require('node:readline');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { connect, listen } = /** @type {any} */ (require('../../lib/index.js'));
const { LARGEST, Sequence, numbered } = require('./numbered.js');

const CAPACITY = 65536;
const TIMEOUT_MS = 30_000;
const IN_FLIGHT = 8; // messages or requests that the peer has not sent back yet
const PAUSE_EVERY = 40; // messages, so that the victim has to wait now and then
const LOOKS_BEFORE_WAITING = 50; // of a way that polls
const WAITS = ['spin-then-sleep', 'spin', 'sleep'];

/** Words of the victim's progress file, as in peer.c. */
const STARTED = 0;
const PUBLISHED = 1;
const RECEIVED = 2;
const FAULTY = 3;
const CLOSING = 4;

const [, , role, ...args] = process.argv;

/** @param {string} wait */
const optionsFor = (wait) => ({ capacity: CAPACITY, wait: WAITS[Number(wait)], timeout: TIMEOUT_MS });

// ---- Ways to receive: each calls take() for every message, and returns at a clean close ----

/** @typedef {(channel: any, take: (message: Buffer) => any) => Promise<void>} WayToReceive */

/** @type {Record<string, WayToReceive>} */
const receiving = {
  async receive(channel, take) {
    for (;;) {
      const message = await channel.receive();
      if (message === null) return;
      await take(message);
    }
  },
  async iterate(channel, take) {
    for await (const message of channel) await take(message);
  },
  async batches(channel, take) {
    for await (const batch of channel.batches({ max: 20 })) for (const message of batch) await take(message);
  },
  async sync(channel, take) {
    for (;;) {
      const message = channel.receiveSync();
      if (message === null) return;
      const taken = take(message);
      if (taken !== undefined) await taken;
    }
  },
  poll: (channel, take) => pollWith(channel, take, () => channel.tryReceive()),
  async bare(channel, take) {
    // Never yields, unless take() does.
    for (;;) {
      const message = channel.tryReceive();
      const taken = message === null ? undefined : take(message);
      if (taken !== undefined) await taken;
      if (message === null && channel.state === 'peer-closed') return;
    }
  },
  into(channel, take) {
    const target = Buffer.alloc(LARGEST);
    return pollWith(channel, take, () => {
      const size = channel.tryReceiveInto(target);
      return size < 0 ? null : target.subarray(0, size);
    });
  },
  read(channel, take) {
    return pollWith(channel, take, () => {
      /** @type {Buffer | null} */
      let message = null;
      channel.tryRead((/** @type {any} */ cursor) => {
        message = Buffer.alloc(cursor.length);
        cursor.copy(message);
      });
      return message;
    });
  },
  async stream(channel, take) {
    for await (const message of channel.toDuplex({ objectMode: true })) await take(message);
  },
  async web(channel, take) {
    for await (const message of channel.toWebStreams().readable) await take(message);
  },
};

/**
 * Polls, and waits when nothing has come for a while: only a waiting call tells a clean close from "nothing yet".
 * @param {any} channel @param {(message: Buffer) => any} take @param {() => Buffer | null} attempt
 */
async function pollWith(channel, take, attempt) {
  for (let looks = 0; ; looks++) {
    const message = looks < LOOKS_BEFORE_WAITING ? attempt() : await channel.receive();
    if (message !== null) {
      looks = 0;
      await take(message);
    } else if (looks < LOOKS_BEFORE_WAITING) {
      await nextTurn();
    } else {
      return;
    }
  }
}

// ---- Ways to send: each sends until the peer's end throws ----

/** @type {Record<string, (channel: any, message: Buffer) => any>} */
const sending = {
  receive: (channel, message) => channel.send(message),
  async poll(channel, message) {
    while (!channel.trySend(message)) await nextTurn();
  },
  bare(channel, message) {
    while (!channel.trySend(message));
  },
};

/** The way to send that goes with a way to receive. @param {string} way */
function wayToSend(way) {
  if (way === 'bare') return sending.bare;
  return way === 'poll' || way === 'into' || way === 'read' ? sending.poll : sending.receive;
}

// ---- The victim ----

async function victim() {
  const [scenario, way, side, path, wait, seedText, countText, progressPath] = args;
  const seed = Number(seedText);
  const count = Number(countText);
  const progressFile = openSync(progressPath, 'r+');
  const word = Buffer.alloc(4);
  const report = (/** @type {number} */ at, /** @type {number} */ value) => {
    word.writeUInt32LE(value);
    writeSync(progressFile, word, 0, 4, 4 * at);
  };
  const channel = await openVictim(side, path, wait);
  writeSync(1, 'o');
  const sequence = new Sequence(seed);
  /** @param {Buffer} message */
  const take = (message) => {
    sequence.take(message);
    report(RECEIVED, sequence.count);
    if (sequence.fault) report(FAULTY, 1);
  };
  /** @param {number} number */
  const send = async (number) => {
    report(STARTED, number + 1);
    await wayToSend(way)(channel, numbered(seed, number));
  };
  let requests = 0;

  /** @type {Record<string, () => Promise<void>>} */
  const scenarios = {
    async send() {
      for (let number = 0; number < count; number++) {
        if (number % 16 === 0) channel.cork();
        await send(number);
        if (number % 16 === 3) channel.uncork();
        if (number % 16 >= 3) report(PUBLISHED, number + 1);
      }
    },
    receive: () => receiveUntil(channel, way, count, take),
    echo: () =>
      receiveUntil(channel, way, count, async (message) => {
        take(message);
        await send(sequence.count - 1);
        report(PUBLISHED, sequence.count);
      }),
    async request() {
      const pending = [];
      while (requests < count) {
        report(STARTED, requests + 1);
        const request = numbered(seed, requests++);
        pending.push(channel.request(request).then((/** @type {Buffer} */ response) => take(response)));
        if (pending.length >= IN_FLIGHT) await pending.shift();
      }
      await Promise.all(pending);
    },
    respond: () =>
      new Promise((resolve) =>
        channel.onRequest((/** @type {Buffer} */ request) => {
          take(request);
          if (sequence.count === count) setTimeout(resolve, 10); // after this response has been sent
          return request;
        }),
      ),
  };
  await scenarios[scenario]();
  report(CLOSING, 1);
  await channel.close();
}

/** @param {any} channel @param {string} way @param {number} count @param {(message: Buffer) => any} take */
async function receiveUntil(channel, way, count, take) {
  const enough = new Error('enough');
  let left = count;
  try {
    await receiving[way](channel, (message) => {
      const taken = take(message);
      if (--left > 0) return taken;
      if (taken === undefined) throw enough;
      return taken.then(() => Promise.reject(enough));
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
}

/** @param {string} side @param {string} path @param {string} wait */
async function openVictim(side, path, wait) {
  if (side === 'connect') return connect(path, optionsFor(wait));
  const server = await listen(path, optionsFor(wait));
  const channel = await server.accept();
  await server.close();
  return channel;
}

// ---- The survivor ----

/** @param {any} event */
const print = (event) => writeSync(1, `${JSON.stringify(event)}\n`);

/** Everything that a channel could leave behind in this process. */
const held = () => ({
  descriptors: readdirSync('/proc/self/fd').length,
  mappings: readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes('memfd:crossings') || line.includes('/dev/shm')).length,
});

/** The same once a thread has freed the regions that were released. A leak stays. @param {ReturnType<typeof held>} before */
async function heldAtLast(before) {
  for (let tries = 0; tries < 1000 && held().mappings > before.mappings; tries++) await pause(2);
  return held();
}

/** How a call ends: its error's code, or END. @param {() => any} call */
async function codeOf(call) {
  try {
    const value = await call();
    return value === null || value === undefined ? 'END' : 'OK';
  } catch (error) {
    return /** @type {any} */ (error).code ?? String(error);
  }
}

/** @param {any} channel @param {any} round */
async function serve(channel, { scenario, way, seed }) {
  const sequence = new Sequence(seed);
  let sent = 0;
  let turns = 0;
  const pauseNowAndThen = () => (++turns % PAUSE_EVERY === 0 ? pause(1) : undefined);
  const take = (/** @type {Buffer} */ message) => {
    sequence.take(message);
    return pauseNowAndThen();
  };
  const sendNext = async () => {
    await wayToSend(way)(channel, numbered(seed, sent));
    sent++;
  };
  const receiveAll = () => receiving[way](channel, take);

  /** @type {Record<string, () => Promise<unknown>>} what is left to the survivor, until the peer's end */
  const scenarios = {
    send: receiveAll,
    async receive() {
      for (;;) {
        await sendNext();
        await pauseNowAndThen();
      }
    },
    async echo() {
      for (;;) {
        await sendNext();
        if (sent - sequence.count < IN_FLIGHT) continue;
        const message = await channel.receive();
        if (message === null) return;
        await take(message);
      }
    },
    async request() {
      channel.onRequest((/** @type {Buffer} */ request) => {
        sequence.take(request);
        sent++; // the response
        return request;
      });
      if ((await channel.closed) === 'peer-died') throw Object.assign(new Error('died'), { code: 'ERR_PEER_DIED' });
    },
    async respond() {
      /** @type {Promise<void>[]} */
      const pending = [];
      for (;;) {
        const request = numbered(seed, sent++);
        const asked = channel.request(request).then((/** @type {Buffer} */ response) => {
          if (!response.equals(request)) sequence.fault ??= 'a response differs from its request';
        });
        asked.catch(() => {}); // every one of them ends; the one that is awaited below reports it
        pending.push(asked);
        if (pending.length >= IN_FLIGHT) await pending.shift();
        await pauseNowAndThen();
      }
    },
  };

  const code = await codeOf(scenarios[scenario]);
  // What had arrived is delivered first, also to a side that was only sending.
  const rest = channel.state === 'closed' ? code : await codeOf(() => receiving.receive(channel, take));
  /** @type {string[]} */
  const later =
    channel.state === 'closed'
      ? [rest]
      : [rest, await codeOf(() => channel.receive()), ...(rest === 'END' ? [] : await laterCalls(channel))];
  await channel.close();
  print({
    event: 'channel',
    code,
    later,
    received: sequence.count,
    sent,
    last: sequence.lastWords > 0,
    fault: sequence.fault ?? '',
  });
  return sequence.lastWords > 0;
}

/** Every other call on a channel whose peer has died. @param {any} channel */
async function laterCalls(channel) {
  const message = Buffer.from('x');
  const calls = [
    () => channel.send(message),
    () => channel.trySend(message),
    () => channel.request(message),
    () => channel.tryReceive(),
    () => channel.tryReceiveInto(Buffer.alloc(100)),
    () => channel.tryRead(() => {}),
    () => channel.receiveSync({ timeout: 1000 }),
    () => channel[Symbol.asyncIterator]().next(),
    () => channel.batches().next(),
  ];
  return Promise.all(calls.map(codeOf));
}

/** @param {any[]} servers @param {any} round @param {ReturnType<typeof held>} before */
async function play(servers, round, before) {
  print({ event: 'ready' });
  for (let last = false; !last; ) {
    try {
      const channel = await (round.side === 'listen'
        ? servers[round.wait].accept()
        : connect(round.path, optionsFor(round.wait)));
      block(round.blockMs);
      round.blockMs = 0; // only while the victim dies
      last = await serve(channel, round);
    } catch (error) {
      print({ event: 'refused', code: /** @type {any} */ (error).code ?? /** @type {any} */ (error).stack });
    }
  }
  print({ event: 'done', ...(await heldAtLast(before)) });
}

/** Blocks the event loop. @param {number} ms */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function survivor() {
  const [base] = args;
  const servers = [];
  for (let wait = 0; wait < WAITS.length; wait++)
    servers.push(await listen(`${base}.${wait}`, optionsFor(String(wait))));
  servers.push(await listen(`${base}.bystander`, optionsFor('0')));
  const bystander = await servers[WAITS.length].accept();
  const echoing = echo(bystander);
  const lines = createInterface({ input: process.stdin });
  const before = held();
  print({ event: 'done', ...before });
  for await (const line of lines) {
    const [scenario, way, side, path, wait, seed, blockMs = '0'] = line.split(' ');
    await play(servers, { scenario, way, side, path, wait, seed: Number(seed), blockMs: Number(blockMs) }, before);
  }
  await echoing;
  await Promise.all(servers.map((server) => server.close()));
}

/** Sends everything back on a channel that no death may disturb. @param {any} channel */
async function echo(channel) {
  for await (const message of channel) await channel.send(message);
  await channel.close();
}

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1); // the matrix itself has ended
}, 1000).unref();

if (role === 'victim') victim();
else survivor();
