'use strict';
// Runs cases of the abuse: node --expose-gc process.js {"seed": …, "share": …, "part": …, "parts": …, "noteFile": …}. The file
// holds the name of the case in progress, so that the parent knows it after a crash or a hang. {"only": TEXT} repeats the cases
// whose names contain a text. Prints one line of JSON.
//
// The rule: a call returns a value of its documented type, or fails with a documented code. After close() it fails with
// ERR_CLOSED, unless the table says that it may be called. Every promise settles once the channel has been closed. Nothing ends
// up as an unhandled rejection; a throw of the user's own callback at most as an uncaught exception. No message is delivered
// twice, and nothing is left behind.
const { openSync, readFileSync, readdirSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { Channel, CrossingsError } = /** @type {any} */ (require('../../../lib/index.js'));
const { CALLS, HOSTILE } = require('./calls.js');
const { allCases, missingFrom } = require('./cases.js');
const { channelAndPeer } = require('./peer.js');
const { notice } = require('./states.js');

const DEADLINE_MS = 20_000; // for whatever takes milliseconds on an idle machine
const NAME_BYTES = 300;
const MAX_FAILURES = 40;
const REASON = new Error('the reason of the signal');

const { seed = 1, share = 1, part = 0, parts = 1, noteFile = '/dev/null', only = '' } = JSON.parse(process.argv[2]);

const types = readFileSync(join(__dirname, '..', '..', '..', 'lib', 'index.d.ts'), 'utf8');
const [, codes] = /type ErrorCode =([^;]*);/.exec(types) ?? [];
const CODES = new Set([...codes.matchAll(/'(ERR_\w+)'/g)].map(([, code]) => code));

/** @type {Map<string, {first: string, count: number}>} what went wrong, and in which cases */
const failures = new Map();
let current = '';
/** @type {((error: any, origin: string) => boolean) | undefined} */
let expected; // may this error of a callback reach the process?

/** @param {string} what */
function fail(what) {
  const key = `${current.split(',')[0]} ${what}`;
  const known = failures.get(key);
  if (known) known.count++;
  else failures.set(key, { first: `${current}: ${what}`, count: 1 });
}

const listed = () =>
  [...failures.values()].map(({ first, count }) => (count > 1 ? `${first} (and ${count - 1} more)` : first));

process.on('uncaughtException', (error, origin) => {
  if (expected?.(error, origin)) return;
  fail(`an ${origin === 'unhandledRejection' ? 'unhandled rejection' : 'uncaught exception'}: ${describe(error)}`);
});

/** @param {any} value */
function describe(value) {
  try {
    return value instanceof Error
      ? `${value.name} ${/** @type {any} */ (value).code ?? ''} ${value.message}`.slice(0, 200)
      : String(value);
  } catch {
    return 'a value without a description';
  }
}

/** Is this a way in which a call may fail? @param {any} error @param {{closed: boolean, junk: boolean, hostile?: boolean}} given */
function checkError(error, { closed, junk }) {
  if (junk && error === HOSTILE) return;
  if (error === REASON) return; // of its signal
  if (!(error instanceof CrossingsError) || !CODES.has(error.code)) return fail(`fails with ${describe(error)}`);
  if (closed && error.code !== 'ERR_CLOSED' && !(junk && error.code === 'ERR_INVALID_ARGUMENT'))
    fail(`fails after close() with ${error.code}, not with ERR_CLOSED`);
}

/** @template T @param {Promise<T>} promise @param {string} what @returns {Promise<T | undefined>} */
async function inTime(promise, what) {
  const controller = new AbortController();
  const late = pause(DEADLINE_MS, 'late', { signal: controller.signal }).catch(() => undefined);
  const first = await Promise.race([
    promise.then(
      () => 'settled',
      () => 'settled',
    ),
    late,
  ]);
  controller.abort();
  if (first === 'late') fail(`${what} has not settled after ${DEADLINE_MS} ms`);
  return undefined;
}

/** Notes which messages were delivered, each of which may be only once. */
function makeLedger() {
  const seen = new Set();
  return (/** @type {string} */ text) => {
    for (const [message] of text.matchAll(/message \d+/g)) {
      if (seen.has(message)) fail(`"${message}" was delivered twice`);
      seen.add(message);
    }
  };
}

/** Every promise of a case. */
class Outcomes {
  /** @type {Promise<void>[]} */ #checks = [];
  /** @type {(() => void)[]} */ ends = [];
  #given;
  #delivered;

  /** @param {{closed: boolean, junk: boolean}} given @param {(text: string) => void} delivered */
  constructor(given, delivered) {
    this.#given = given;
    this.#delivered = delivered;
  }

  /** @param {any} value @param {(value: any) => boolean} check @param {boolean} takes */
  value(value, check, takes) {
    try {
      if (!check(value)) fail(`returns ${describe(value)}`);
    } catch {
      fail(`returns ${describe(value)}`);
    }
    if (takes && Buffer.isBuffer(value)) this.#delivered(String(value));
  }

  /** @param {Promise<any>} promise @param {(value: any) => boolean} check @param {boolean} takes */
  promise(promise, check, takes) {
    const checked = promise.then(
      (value) => {
        const taken = value?.value ?? value; // of an iterator's result
        for (const each of Array.isArray(taken) ? taken : [taken])
          if (Buffer.isBuffer(each)) this.#delivered(String(each));
        this.value(value, check, takes && false);
      },
      (error) => checkError(error, this.#given),
    );
    this.#checks.push(checked);
  }

  async settled() {
    for (const end of this.ends) end();
    await inTime(Promise.all(this.#checks), 'a promise');
  }
}

/** Makes the call of a case. @param {import('./cases.js').Case} c @param {any} scene @param {Outcomes} outcomes */
function makeCall(c, { channel }, outcomes) {
  const member = /** @type {string | symbol} */ (c.member);
  const call = /** @type {import('./calls.js').Call} */ (CALLS.get(member));
  const controller = new AbortController();
  let args = /** @type {any[]} */ (c.args);
  if (c.abort !== undefined) {
    const { signal } = controller;
    args = [...args.slice(0, call.signal), ...Array(Math.max(0, Number(call.signal) - args.length)), { signal }];
  }
  const abort = () => controller.abort(REASON);
  if (c.abort === 'before') abort();
  if (c.abort === 'while closing') controller.signal.addEventListener('abort', () => channel.close());
  const closed = channel.closed && !call.afterClose;
  const given = { closed, junk: c.junk === true };
  const invoke = () => {
    try {
      const result = call.getter ? channel[member] : channel[member](...args);
      if (typeof result?.then === 'function') return outcomes.promise(result, call.returns, call.takes === true);
      if (closed) fail(`returns ${describe(result)} after close(), and does not throw ERR_CLOSED`);
      outcomes.value(result, call.returns, call.takes === true);
      if (call.use === undefined) return;
      const { promises, check, end } = call.use(result);
      for (const promise of promises) outcomes.promise(promise, check, true);
      outcomes.ends.push(end);
    } catch (error) {
      checkError(error, given);
    }
  };
  invoke();
  if (c.abort === 'at once, for two') invoke();
  if (c.abort?.startsWith('at once') || c.abort === 'while closing') abort();
  if (c.abort === 'in a microtask') queueMicrotask(abort);
  if (c.abort === 'in an immediate') setImmediate(abort);
  if (c.abort === 'after the end') outcomes.ends.push(() => setImmediate(abort));
}

/** @param {import('./cases.js').Case} c */
async function runCase(c) {
  /** @type {any} */
  const hooks = {};
  const options = c.place.coded && {
    encode: (/** @type {any} */ value) => {
      hooks.encode?.();
      return value;
    },
    decode: (/** @type {Buffer} */ bytes) => {
      hooks.decode?.();
      return bytes;
    },
  };
  const { channel, peer } = await channelAndPeer(options || undefined);
  const delivered = makeLedger();
  const scene = { channel, peer, hooks, delivered };
  const call = CALLS.get(/** @type {any} */ (c.member));
  const outcomes = new Outcomes(
    { closed: c.state.closed === true && !call?.afterClose, junk: c.junk === true },
    delivered,
  );
  expected = (error, origin) =>
    c.thrown !== undefined && origin === 'uncaughtException' && Object.is(error, c.thrown.value);
  if (c.state.notice) {
    c.state.enter(scene);
    await notice();
  }
  /** @type {() => void} */ let arrived = () => {};
  const inside = new Promise((resolve) => {
    arrived = () => resolve(undefined);
  });
  let entered = false;
  c.place.enter(scene, () => {
    if (entered) return;
    entered = true;
    arrived();
    if (c.thrown !== undefined) throw c.thrown.value;
    if (!c.state.notice) c.state.enter(scene);
    makeCall(c, scene, outcomes);
  });
  if (!entered) await inTime(inside, 'the callback'); // it has not been called
  for (let turn = 0; turn < 3; turn++) {
    if (!peer.gone) serve(peer);
    await nextTurn();
  }
  drain(channel, delivered);
  const closing = channel.close();
  await inTime(closing, 'close()');
  await outcomes.settled();
  if (!channel.closed) fail('the channel is not closed after close()');
  peer.release();
  await nextTurn(); // for unhandled rejections
  expected = undefined;
}

/** @param {any} peer */
function serve(peer) {
  try {
    peer.serve();
  } catch (error) {
    fail(`the peer finds the channel corrupt: ${describe(error)}`);
  }
}

/** Takes the messages that are left. @param {any} channel @param {(text: string) => void} delivered */
function drain(channel, delivered) {
  try {
    for (let left = channel.tryReceive(); left !== null; left = channel.tryReceive()) delivered(String(left));
  } catch (error) {
    if (!(error instanceof CrossingsError)) fail(`tryReceive() fails with ${describe(error)}`);
  }
}

/** What this process holds. */
function holdings() {
  for (let i = 0; i < 3; i++) global.gc?.();
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: maps.filter((line) => line.includes('memfd:crossings')).length,
  };
}

/** Waits until nothing of any channel is left. @param {{descriptors: number}} before */
async function settledHoldings(before) {
  const endsAt = performance.now() + DEADLINE_MS;
  let now = holdings();
  while ((now.mappings > 0 || now.descriptors > before.descriptors) && performance.now() < endsAt) {
    await pause(20);
    now = holdings();
  }
  return now;
}

/** Is this case in the sample of this seed? @param {number} index */
function isDrawn(index) {
  const drawn = Math.imul(index ^ seed, 0x9e3779b1) >>> 0;
  return index % parts === part && (Math.imul(drawn ^ (drawn >>> 15), 0x85ebca6b) >>> 0) / 2 ** 32 < share;
}

async function main() {
  const alive = setInterval(() => {}, 1000); // unref() must not end this process
  const note = openSync(noteFile, 'w');
  for (const member of missingFrom(Channel)) fail(`${String(member)} has no entry in test/long/abuse/calls.js`);
  const cases = allCases(Channel);
  let count = 0;
  await runCase(cases[0]); // warm: whatever is opened once
  const before = holdings();
  for (const [index, each] of cases.entries()) {
    if (!each.name.includes(only) || !isDrawn(index)) continue;
    current = each.name;
    writeSync(note, current.padEnd(NAME_BYTES), 0);
    await runCase(each);
    count++;
    if (failures.size >= MAX_FAILURES) break;
  }
  current = 'at the end';
  const after = await settledHoldings(before);
  if (after.descriptors > before.descriptors) fail(`${after.descriptors - before.descriptors} descriptors are left`);
  if (after.mappings > 0) fail(`${after.mappings} mappings are left`);
  clearInterval(alive);
  process.stdout.write(`${JSON.stringify({ count, of: cases.length, failures: listed() })}\n`);
}

main().catch((error) => {
  const what = error instanceof Error ? error.stack : describe(error);
  process.stdout.write(`${JSON.stringify({ count: 0, of: 0, failures: [...listed(), `${current}: ${what}`] })}\n`);
  process.exit(1);
});
