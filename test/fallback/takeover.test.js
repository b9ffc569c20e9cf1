'use strict';
// Three servers replace one stale socket file. They are threads that stop before each of their calls to the file system, so the order of
// these calls is the test's: that of a bug, and random ones. There are too many orders to try all; lib/fallback/files.js proves that
// any order is right.
const { chownSync, linkSync, mkdirSync, readdirSync, renameSync } = require('node:fs');
const { once } = require('node:events');
const { createServer } = require('node:net');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { inCi } = require('../in-ci.js');
const { lockOf } = require('../../lib/fallback/paths.js');
const { crossings, errorWith, newPath } = require('../channel/support.js');

const { connect, listen } = crossings;
/** @type {{ transport: 'socket' }} */ const SOCKET = { transport: 'socket' };
const ROUNDS = inCi ? 300 : 60;

/** @typedef {{ call: string, file: string } | string} Place where a rival has stopped, or the outcome */

class Rival {
  #word = new Int32Array(new SharedArrayBuffer(8));
  #worker = new Worker(require.resolve('./rival.js'), { workerData: this.#word.buffer });
  /** @type {Place} */ place = '';

  /** @returns {Promise<Place>} */
  async #next() {
    const [place] = await once(this.#worker, 'message');
    return place;
  }

  get hasEnded() {
    return typeof this.place === 'string';
  }

  /** Listen, up to the first call. @param {string} path */
  async start(path) {
    Atomics.store(this.#word, 1, 1);
    const next = this.#next();
    this.#worker.postMessage(path);
    this.place = await next;
  }

  /** Continue to the next call. */
  async step() {
    const next = this.#next();
    Atomics.add(this.#word, 0, 1);
    Atomics.notify(this.#word, 0);
    this.place = await next;
  }

  /** Continue to a call, or to the end. @param {(call: string, file: string) => boolean} [isThere] */
  async runTo(isThere = () => false) {
    while (typeof this.place !== 'string' && !isThere(this.place.call, this.place.file)) await this.step();
    return this.place;
  }

  /** Let it make its calls without a stop. */
  letGo() {
    Atomics.store(this.#word, 1, 0);
  }

  async close() {
    const next = this.#next();
    this.#worker.postMessage(null);
    await next;
  }

  async kill() {
    await this.#worker.terminate();
    this.place = 'killed';
  }
}

const newRivals = () => [new Rival(), new Rival(), new Rival()];

/** A socket file that no server has. @param {string} path */
async function leaveFile(path) {
  const server = createServer().listen(path);
  await once(server, 'listening');
  linkSync(path, `${path}2`);
  await new Promise((resolve) => server.close(resolve)); // which removes the first name
  renameSync(`${path}2`, path);
}

/** Such a file in a folder of its own, perhaps with locks of dead servers. @param {number} [locks] @returns {Promise<string>} its path */
async function leaveStale(locks = 0) {
  const folder = newPath();
  mkdirSync(folder);
  const path = join(folder, 'feed.sock');
  await leaveFile(path);
  for (let level = 1; level <= locks; level++) await leaveFile(lockOf(path, level));
  return path;
}

/** What is wrong after all rivals have ended? @param {Rival[]} rivals @param {string} path */
async function findFaults(rivals, path) {
  const faults = [];
  for (const rival of rivals) rival.letGo();
  const outcomes = rivals.map(({ place }) => place).sort();
  const [first] = outcomes.filter((outcome) => outcome !== 'ERR_ADDRESS_IN_USE');
  const listening = outcomes.filter((outcome) => outcome === 'listening');
  const wasKilled = outcomes.includes('killed');
  if (listening.length !== 1 && !(wasKilled && listening.length === 0)) faults.push(outcomes.join());
  else if (!wasKilled && first !== 'listening') faults.push(outcomes.join());
  const client = listening.length === 0 ? undefined : await connect(path, { ...SOCKET, timeout: 10_000 }).catch(String);
  if (typeof client === 'string') faults.push(client);
  else await client?.close();
  for (const rival of rivals) if (rival.place === 'listening') await rival.close();
  await (await listen(path, SOCKET)).close(); // the path is free, or another dead server's
  const left = readdirSync(join(path, '..'));
  if (!wasKilled && left.length > 0) faults.push(`left: ${left}`);
  return faults;
}

// The first found a dead server's file. It renamed whatever was there then, which was the second one's file by now, and could not give
// it back because the third had listened in between. The second one never got a client.
test('a server that stops before it removes the stale file removes no other file later', async () => {
  const path = await leaveStale();
  const rivals = newRivals();
  const [first, second, third] = /** @type {[Rival, Rival, Rival]} */ (rivals);
  await first.start(path);
  await first.runTo((call, file) => file === path && (call === 'unlinkSync' || call === 'renameSync'));
  expect(first.hasEnded).toBe(false);
  await second.start(path);
  await second.runTo();
  await first.step();
  await third.start(path);
  await third.runTo();
  await first.runTo();
  expect(await findFaults(rivals, path)).toEqual([]);
  for (const rival of rivals) await rival.kill();
});

/** The same numbers for the same seed, from 0 to 1. @param {number} seed */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Let one rival after the other make a call. @param {Rival[]} rivals @param {() => number} random @param {boolean} withDeath */
async function interleave(rivals, random, withDeath) {
  const dying = withDeath ? Math.floor(random() * 50) : -1; // at this step
  for (let step = 0; ; step++) {
    const running = rivals.filter((rival) => !rival.hasEnded);
    const rival = running[Math.floor(random() * running.length)];
    if (rival === undefined) return;
    if (step === dying) await rival.kill();
    else await rival.step();
  }
}

test.each([
  ['', false, 0],
  [', also if one of them dies', true, 0],
  [', also if others have died before', false, 2],
])(`exactly one of three servers listens, in ${ROUNDS} random orders of their calls%s`, async (_, withDeath, locks) => {
  const rivals = newRivals();
  const wrong = [];
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const path = await leaveStale(locks);
    for (const rival of rivals) await rival.start(path);
    await interleave(rivals, randomNumbers(seed), withDeath);
    const faults = await findFaults(rivals, path);
    if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.join('; ')}`);
    for (const [i, rival] of rivals.entries()) if (rival.place === 'killed') rivals[i] = new Rival();
  }
  for (const rival of rivals) await rival.kill();
  expect(wrong).toEqual([]);
});

describe('while a process keeps the lock', () => {
  /** @param {string} path */
  async function lock(path) {
    const holder = createServer().listen(lockOf(path, 1));
    await once(holder, 'listening');
    return holder;
  }

  test('the path is in use: that process is about to listen', async () => {
    const path = await leaveStale();
    const holder = await lock(path);
    await expect(listen(path, SOCKET)).rejects.toEqual(errorWith('ERR_ADDRESS_IN_USE'));
    holder.close();
  });

  const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
  testAsRoot('a server listens nevertheless if it is another user that keeps it', async () => {
    const path = await leaveStale();
    const holder = await lock(path);
    chownSync(lockOf(path, 1), 65534, 65534);
    const server = await listen(path, SOCKET);
    await (await connect(path, SOCKET)).close();
    await server.close();
    holder.close();
  });
});
