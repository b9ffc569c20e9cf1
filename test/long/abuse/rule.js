'use strict';
// The rule of the abuse, and what judges by it.
//
// A call returns a value of its documented type, or fails with a documented code. After close() it fails with ERR_CLOSED, unless
// the table says that it may be called. Every promise settles once the channel has been closed. Nothing ends up as an unhandled
// rejection; a throw of the user's own callback at most as an uncaught exception. No message is delivered twice.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { CrossingsError } = /** @type {any} */ (require('../../../lib/index.js'));
const { HOSTILE } = require('./calls.js');

const DEADLINE_MS = 20_000; // for whatever takes milliseconds on an idle machine
const REASON = new Error('the reason of the signal');

const types = readFileSync(join(__dirname, '..', '..', '..', 'lib', 'index.d.ts'), 'utf8');
const [, codes] = /type ErrorCode =([^;]*);/.exec(types) ?? [];
const CODES = new Set([...codes.matchAll(/'(ERR_\w+)'/g)].map(([, code]) => code));

/** @type {Map<string, {first: string, count: number}>} what went wrong, and in which cases */
const failures = new Map();
let current = '';
/** @type {((error: any, origin: string) => boolean) | undefined} */
let allowed; // may this error of a callback reach the process?

/** A case begins. @param {string} name @param {(error: any, origin: string) => boolean} [allow] errors that may reach the process */
function begin(name, allow) {
  current = name;
  allowed = allow;
}

/** @param {string} what */
function fail(what) {
  const key = `${current.split(',')[0]} ${what}`;
  const known = failures.get(key);
  if (known) known.count++;
  else failures.set(key, { first: `${current}: ${what}`, count: 1 });
}

/** Everything that went wrong so far, once each. */
const listed = () =>
  [...failures.values()].map(({ first, count }) => (count > 1 ? `${first} (and ${count - 1} more)` : first));

process.on('uncaughtException', (error, origin) => {
  if (allowed?.(error, origin)) return;
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

/** Is this a way in which a call may fail? @param {any} error @param {{closed: boolean, junk: boolean}} given */
function checkError(error, { closed, junk }) {
  if (junk && error === HOSTILE) return;
  if (error === REASON) return; // of its signal
  if (!(error instanceof CrossingsError) || !CODES.has(error.code)) return fail(`fails with ${describe(error)}`);
  if (closed && error.code !== 'ERR_CLOSED' && !(junk && error.code === 'ERR_INVALID_ARGUMENT'))
    fail(`fails after close() with ${error.code}, not with ERR_CLOSED`);
}

/** Waits until a promise has settled, which it must before the deadline. @param {Promise<any>} promise @param {string} what */
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

  /** @param {Promise<any>} promise @param {(value: any) => boolean} check @param {boolean} closed must it fail? */
  promise(promise, check, closed) {
    const checked = promise.then(
      (value) => {
        if (closed) fail(`is fulfilled after close(), with ${describe(value)}`);
        const taken = value?.value ?? value; // of an iterator's result
        for (const each of Array.isArray(taken) ? taken : [taken])
          if (Buffer.isBuffer(each)) this.#delivered(String(each));
        this.value(value, check, false);
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

/** Has close() been called? @param {any} subject a channel or a server */
const isClosed = ({ state, closed }) => state === 'closed' || closed === true;

/**
 * Makes the call of a case.
 * @param {{call: import('./calls.js').Call, member: string | symbol, args: any[], junk?: boolean, abort?: string}} c
 * @param {any} subject a channel or a server
 * @param {Outcomes} outcomes
 */
function makeCall({ call, member, args: given, junk = false, abort: moment }, subject, outcomes) {
  const controller = new AbortController();
  const { signal } = controller;
  const args = moment === undefined ? given : [...given, undefined].slice(0, call.signal).concat({ signal });
  const abort = () => controller.abort(REASON);
  if (moment === 'before') abort();
  if (moment === 'while closing') signal.addEventListener('abort', () => subject.close());
  const closed = isClosed(subject) && !call.afterClose;
  const invoke = () => {
    try {
      const result = call.getter ? subject[member] : subject[member](...args);
      if (typeof result?.then === 'function') return outcomes.promise(result, call.returns, closed);
      if (closed) fail(`returns ${describe(result)} after close(), and does not throw ERR_CLOSED`);
      outcomes.value(result, call.returns, call.takes === true);
      if (call.use === undefined) return;
      const { promises, check, end } = call.use(result);
      for (const promise of promises) outcomes.promise(promise, check, false);
      outcomes.ends.push(end);
    } catch (error) {
      checkError(error, { closed, junk });
    }
  };
  invoke();
  if (moment === 'at once, for two') invoke();
  if (moment?.startsWith('at once') || moment === 'while closing') abort();
  if (moment === 'in a microtask') queueMicrotask(abort);
  if (moment === 'in an immediate') setImmediate(abort);
  if (moment === 'after the end') outcomes.ends.push(() => setImmediate(abort));
}

module.exports = { DEADLINE_MS, Outcomes, begin, describe, fail, inTime, isClosed, listed, makeCall, makeLedger };
