'use strict';
// Uses channels while something is missing, and reports what went wrong as lines: node --expose-gc faulty.js ROLE FOLDER [NUMBER].
const { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError, channelPair, connect, listen, openChannel } = require('../../lib/index.js');

const [, , role, folder, number = '0'] = process.argv;
const OPTIONS = { capacity: 65536, timeout: 200 };
const HANG_MS = 20_000;

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const report = (/** @type {string} */ text) => console.log(text);

function look() {
  for (let i = 0; i < 3; i++) /** @type {any} */ (globalThis).gc();
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.includes('/memfd:')).length,
    files: readdirSync(folder).length,
  };
}

/** What is open once that stays the same: other threads unmap and close what was used before. */
async function lookAtRest() {
  let now = look();
  for (let same = 0; same < 20; same++) {
    await pause(5);
    const next = look();
    if (JSON.stringify(next) !== JSON.stringify(now) || next.mappings > 0) same = 0;
    now = next;
  }
  return now;
}

/** Waits until what is open is as before; what is closed is released a little later. @param {ReturnType<typeof look>} before */
async function settled(before) {
  let now = look();
  for (let tries = 0; tries < 200 && JSON.stringify(now) !== JSON.stringify(before); tries++) {
    await pause(10);
    now = look();
  }
  return now;
}

/** Sends a message each way. @param {any} a @param {any} b */
async function exchange(a, b) {
  await a.send('ping');
  const ping = String(await b.receive());
  await b.send('pong');
  const pong = String(await a.receive());
  if (ping !== 'ping' || pong !== 'pong') report(`wrong messages: ${ping}, ${pong}`);
}

/** Awaits everything, closes what opened, and rethrows the first error. @param {Promise<any>[]} promises */
async function all(promises) {
  const outcomes = await Promise.allSettled(promises);
  const opened = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = outcomes.find((each) => each.status === 'rejected');
  if (!failed) return opened;
  await Promise.all(opened.map((each) => each.close()));
  throw failed.reason;
}

/** Everything that opens a channel, and a message each way. Throws the first error. */
async function useEverything() {
  const server = await listen(join(folder, 'feed.sock'), OPTIONS);
  try {
    const signal = AbortSignal.timeout(600);
    const [client, served] = await all([connect(server.path, OPTIONS), server.accept({ signal })]);
    await exchange(client, served);
    await Promise.all([client.close(), served.close()]);
    const { channel, port } = channelPair(OPTIONS);
    const ends = await all([openChannel(port.take(), OPTIONS), channel]);
    await exchange(ends[0], ends[1]);
    await Promise.all(ends.map((end) => end.close()));
  } catch (error) {
    if (/** @type {any} */ (error).name === 'TimeoutError') throw server.refusals.last ?? error; // why nobody was accepted
    throw error;
  } finally {
    await server.close();
  }
}

/** In the order of faults.c: the errors of each call, and how many calls useEverything() makes at most. */
const FAULTS = [
  { call: 'memfd_create', errors: ['ENFILE', 'EMFILE', 'ENOMEM', 'EPERM', 'ENOSYS'], most: 4 },
  { call: 'ftruncate', errors: ['EFBIG', 'ENOSPC', 'EIO'], most: 4 },
  { call: 'mmap', errors: ['ENOMEM', 'ENFILE', 'EPERM'], most: 16 },
  { call: 'fcntl(F_ADD_SEALS)', errors: ['EBUSY', 'EPERM', 'EINVAL'], most: 4 },
  { call: 'socket', errors: ['EMFILE', 'ENFILE', 'ENOBUFS', 'EAFNOSUPPORT'], most: 2 },
  { call: 'socketpair', errors: ['EMFILE', 'ENOMEM'], most: 1 },
  { call: 'bind', errors: ['EADDRINUSE', 'ENOSPC', 'EACCES', 'EROFS', 'ENOMEM'], most: 1 },
  { call: 'listen', errors: ['EADDRINUSE', 'EPERM'], most: 1 },
  { call: 'connect', errors: ['EAGAIN', 'ECONNREFUSED', 'EACCES', 'ENOMEM'], most: 1 },
  { call: 'accept4', errors: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'ECONNABORTED', 'EPERM', 'EINTR'], most: 2 },
  { call: 'sendmsg', errors: ['ENOBUFS', 'ENOMEM', 'ETOOMANYREFS', 'EPIPE', 'EAGAIN', 'EPERM'], most: 4 },
  { call: 'recvmsg', errors: ['ENOMEM', 'ECONNRESET', 'EAGAIN', 'EINTR', 'EIO'], most: 6 },
  { call: 'open', errors: ['EACCES', 'EMFILE', 'ENFILE'], most: 1 },
  { call: 'munmap', errors: ['ENOMEM'], most: 8 },
];

/** Every fault, at every call that can have it. With a NUMBER n, every n-th case only, and one of each call. */
async function faults() {
  const { errno } = require('node:os').constants;
  const file = openSync(/** @type {string} */ (process.env.FAULTS), 'r+');
  /** @param {number} index @param {number} countdown @param {string} [error] */
  const set = (index, countdown, error) => {
    const words = new Int32Array([countdown, error ? /** @type {any} */ (errno)[error] : 0]);
    writeSync(file, words, 0, 8, index * 8);
  };
  await useEverything();
  const before = await lookAtRest();
  const cases = FAULTS.flatMap(({ call, errors, most }, index) =>
    errors.flatMap((error) =>
      [-1, ...Array(most).keys()].map((at) => ({ call, index, error, at: at < 0 ? at : at + 1 })),
    ),
  );
  const every = Math.max(1, Number(number));
  const some = cases.filter(({ call }, i) => i % every === 0 || call !== cases[i - 1].call);
  const counts = { cases: 0, failed: 0 };
  for (const { call, index, error, at } of some) {
    const name = `${call} fails with ${error} (${at < 0 ? 'always' : `call ${at}`})`;
    counts.cases++;
    set(index, at, error);
    const hanging = setTimeout(() => {
      report(`${name}: hangs`);
      process.exit(1);
    }, HANG_MS);
    try {
      await useEverything();
    } catch (thrown) {
      counts.failed++;
      const { code, message } = /** @type {any} */ (thrown);
      if (!(thrown instanceof CrossingsError) || !/^ERR_/.test(code) || !/^[A-Z/].*\.$/s.test(message))
        report(`${name}: not a clear error: ${/** @type {any} */ (thrown)?.stack}`);
    }
    clearTimeout(hanging);
    set(index, 0);
    const after = await settled(before);
    if (JSON.stringify(after) !== JSON.stringify(before))
      report(`${name}: ${JSON.stringify(before)} before, ${JSON.stringify(after)} after`);
    await useEverything().catch((thrown) => report(`${name}: afterwards ${thrown.stack}`));
  }
  closeSync(file);
  report(`counts ${JSON.stringify(counts)}`);
}

/** NUMBER channels in this process at the same time. */
async function many() {
  const server = await listen(join(folder, 'feed.sock'), { ...OPTIONS, timeout: 60_000, maxChannelsPerUser: 1e6 });
  const [a, b] = await Promise.all([connect(server.path, OPTIONS), server.accept()]);
  await Promise.all([a.close(), b.close()]);
  const before = await lookAtRest();
  const count = Number(number);
  const accepting = Promise.all(Array.from({ length: count }, () => server.accept()));
  const clients = await Promise.all(
    Array.from({ length: count }, () => connect(server.path, { ...OPTIONS, timeout: 60_000 })),
  );
  const served = await accepting;
  for (let round = 0; round < 3; round++) {
    for (const [i, client] of clients.entries()) client.trySend(`from ${i}`);
    const received = await Promise.all(served.map(async (channel) => String(await channel.receive())));
    if (new Set(received).size !== count) report(`only ${new Set(received).size} of ${count} messages arrived`);
  }
  await Promise.all([...clients, ...served].map((channel) => channel.close()));
  const after = await settled(before);
  if (JSON.stringify(after) !== JSON.stringify(before))
    report(`${JSON.stringify(before)} before, ${JSON.stringify(after)} after`);
  await server.close();
  report(`counts ${JSON.stringify({ channels: count })}`);
}

/** A server whose event loop is blocked for NUMBER milliseconds, as soon as its parent says so. */
async function blocked() {
  const server = await listen(join(folder, 'feed.sock'), { ...OPTIONS, timeout: 60_000 });
  report('listening');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(number));
  process.stdin.once('end', () => server.close());
  for await (const channel of server) {
    channel.receive().then(async (/** @type {any} */ bytes) => {
      await channel.send(bytes);
      await channel.receive(); // the end
      await channel.close();
    });
  }
  if (existsSync(join(folder, 'feed.sock'))) report('the socket file is still there');
}

/** A limit that this process was started with must give a clear error. */
async function limited() {
  try {
    await useEverything();
    report('no error');
  } catch (error) {
    const { code, message } = /** @type {any} */ (error);
    report(`error ${code}: ${message}`);
  }
}

/** @type {any} */ ({ faults, many, blocked, limited })[role]();
