'use strict';
// Handshake abuse: clients that do everything wrong, while a good client exchanges messages and others connect. Afterwards the
// server has nothing open that it did not have before.
const { fork, spawn, spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
/** @type {any} the declared types have their own test */
const crossings = require('../../../lib/index.js');
const { root } = require('../../support.js');

const ATTEMPTS = { short: 1000, long: 10_000 };
const BATCHES = { short: 2, long: 10 };
const WARM_UP = 200; // attempts before the first look at the server's memory
const SETTLE_TRIES = 200; // of 50 ms: what is silent times out after 500 ms
const MEMORY_KILOBYTES = 40_000; // what the collector may be late by
const BETWEEN_CONNECTS = 20; // exchanges between two new clients

const compiler = process.env.CC || 'cc';
const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {string} output @returns {string} "" or why it could not be compiled */
function compile(output) {
  const args = ['-std=gnu11', '-D_GNU_SOURCE', '-O1', '-o', output, 'test/hostile/handshakes.c'];
  const { status, stderr, error } = spawnSync(compiler, args, { cwd: root, encoding: 'utf8' });
  if (error) return `${compiler}: ${error.message}`;
  return status === 0 ? '' : stderr;
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<any>} its next message; rejected if it ends first */
const answerOf = (child) =>
  new Promise((resolve, reject) => {
    const ended = (/** @type {any} */ status, /** @type {any} */ signal) =>
      reject(new Error(`the server ended: ${status ?? signal}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.removeListener('exit', ended);
      resolve(message);
    });
  });

/** What the server has open. @param {import('node:child_process').ChildProcess} server */
function look(server) {
  const answer = answerOf(server);
  server.send('look');
  return answer;
}

/** Runs handshakes.c to its end. @param {string} program @param {(string | number)[]} args */
function abuse(program, args) {
  const child = spawn(program, args.map(String), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (status === 0) resolve(JSON.parse(output));
      else reject(new Error(`the hostile client ended: ${status ?? signal}. ${errors}`));
    });
  });
}

/** Sends and receives one message. @param {any} channel @param {number} number */
async function exchange(channel, number) {
  const text = `message ${number}`;
  await channel.send(text);
  const answer = String(await channel.receive());
  if (answer !== text) throw new Error(`expected ${text}, got ${answer}`);
}

/** Exchanges messages, and connects anew now and then, until the work is done. @param {any} channel @param {string} path @param {Promise<any>} work */
async function exchangeUntil(channel, path, work) {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  const counts = { exchanges: 0, connects: 0 };
  while (!over) {
    await exchange(channel, counts.exchanges++);
    await new Promise(setImmediate);
    if (counts.exchanges % BETWEEN_CONNECTS !== 1) continue;
    const another = await crossings.connect(path, { capacity: 65536, timeout: 60_000 });
    await exchange(another, 0);
    await another.close();
    counts.connects++;
  }
  return counts;
}

/** Waits until the server has released what the abuse left. @param {any} server @param {any} before */
async function settle(server, before) {
  let now = await look(server);
  for (let tries = 0; tries < SETTLE_TRIES; tries++) {
    if (now.descriptors <= before.descriptors && now.mappings <= before.mappings) break;
    await pause(50);
    now = await look(server);
  }
  return now;
}

module.exports = {
  name: 'handshakes',
  title: 'handshake abuse: nobody gets in, and nobody is kept out',
  /** @param {{scale: 'short' | 'long', seed?: number, progress?: (fraction: number, text: string) => void}} task */
  async run({ scale, seed = 1, progress = () => {} }) {
    const folder = mkdtempSync(join(tmpdir(), 'handshakes-'));
    const program = join(folder, 'handshakes');
    const path = join(folder, 'server.sock');
    const problem = compile(program);
    if (problem) {
      rmSync(folder, { recursive: true });
      return { figures: {}, failures: [], skipped: `handshakes.c could not be compiled: ${problem}` };
    }
    /** @type {Record<string, number | string>} */
    const figures = {};
    /** @type {string[]} */
    const failures = [];
    const server = fork(join(root, 'test', 'hostile', 'abused-server.js'), [path], { execArgv: ['--expose-gc'] });
    try {
      await answerOf(server);
      const channel = await crossings.connect(path, { capacity: 65536 });
      await exchange(channel, 0);
      const empty = await look(server);
      await abuse(program, [path, WARM_UP, seed]);
      const before = await settle(server, empty);
      const batches = BATCHES[scale];
      const total = { exchanges: 0, connects: 0 };
      let attempts = 0;
      for (let batch = 0; batch < batches; batch++) {
        progress(batch / batches, `${attempts} handshakes`);
        const work = abuse(program, [path, ATTEMPTS[scale] / batches, seed * 1000 + batch]);
        const counts = await exchangeUntil(channel, path, work);
        const done = await work;
        for (const count of Object.values(done)) attempts += Number(count);
        total.exchanges += counts.exchanges;
        total.connects += counts.connects;
      }
      const after = await settle(server, before);
      await channel.close();
      figures['bad handshakes'] = attempts;
      figures['of them refused'] = after.refusals - before.refusals;
      figures['exchanges meanwhile'] = total.exchanges;
      figures['new clients meanwhile'] = total.connects;
      figures['growth, kilobytes'] = after.kilobytes - before.kilobytes;
      for (const kind of /** @type {const} */ (['descriptors', 'mappings']))
        if (after[kind] !== empty[kind]) failures.push(`${kind}: ${empty[kind]} before, ${after[kind]} after`);
      if (after.kilobytes - before.kilobytes > MEMORY_KILOBYTES)
        failures.push(`memory grew by ${after.kilobytes - before.kilobytes} kilobytes`);
      if (after.refusals === before.refusals) failures.push('no handshake was refused');
    } catch (error) {
      failures.push(String(/** @type {any} */ (error).stack));
    } finally {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      if (server.connected) server.disconnect();
      if (server.exitCode === null && server.signalCode === null) await ended;
      rmSync(folder, { recursive: true });
    }
    return { figures, failures };
  },
};
