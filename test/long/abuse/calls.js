'use strict';
// The table of all public calls of a channel: with which arguments each is tried, what it may return, and what it does once
// this side is closed. A member of Channel without an entry here fails the test.
const { Duplex } = require('node:stream');

const TOO_LARGE = Buffer.alloc(65536); // larger than the largest message of a ring of 64 KiB
const HOSTILE = new Error('a getter of the caller throws');
const HOSTILE_OPTIONS = Object.defineProperty({}, 'signal', {
  enumerable: true,
  get() {
    throw HOSTILE;
  },
});

/** Arguments that no call expects. */
const JUNK = Object.freeze([
  undefined,
  null,
  -1,
  Number.NaN,
  '',
  Symbol('junk'),
  10n,
  [],
  {},
  Object.create(null),
  () => {},
  { signal: 'junk' },
  { timeout: -1 },
  { max: 0 },
  { junk: true },
  HOSTILE_OPTIONS,
]);

/** @typedef {(value: any) => boolean} Check */

const isUndefined = (/** @type {any} */ value) => value === undefined;
const isBoolean = (/** @type {any} */ value) => typeof value === 'boolean';
const isCount = (/** @type {any} */ value) => Number.isInteger(value) && value >= 0;
const isEnd = (/** @type {any} */ value) => ['peer-closed', 'peer-died', 'peer-corrupt', 'closed'].includes(value);
const isMessage = (/** @type {any} */ value) => value === null || Buffer.isBuffer(value);
const isResult = (/** @type {Check} */ holds) => (/** @type {any} */ result) =>
  typeof result === 'object' && (result.done ? isUndefined(result.value) : holds(result.value));
const isBatch = (/** @type {any} */ value) => Array.isArray(value) && value.length > 0 && value.every(Buffer.isBuffer);

/** What using a result further may report. @typedef {{promises: Promise<any>[], check: Check, end: () => void}} Use */

/** Reads from an iterator twice, and leaves it. @param {Check} check @returns {(iterator: any) => Use} */
const iterated = (check) => (iterator) => ({
  promises: [iterator.next(), iterator.next()],
  check: isResult(check),
  end: () => iterator.return(),
});

/**
 * Reads twice from an iterator that reuses memory: a result is copied before the next one is asked for.
 * @param {Check} check @returns {(iterator: any) => Use}
 */
const iteratedInTurn = (check) => (iterator) => {
  const next = () =>
    iterator.next().then((/** @type {any} */ { done, value }) => ({
      done,
      value: Array.isArray(value) ? value.map((each) => Buffer.from(each)) : value && Buffer.from(value),
    }));
  const first = next();
  return {
    promises: [first, first.then(next, next)],
    check: isResult(check),
    end: () => iterator.return(),
  };
};

/** @param {any} stream @returns {Use} */
function streamed(stream) {
  const closed = new Promise((resolve, reject) => {
    /** @type {any} */ let failure;
    stream.on('error', (/** @type {any} */ error) => {
      failure = error;
    });
    stream.on('close', () => (failure ? reject(failure) : resolve(undefined)));
  });
  stream.on('data', () => {});
  const written = new Promise((resolve, reject) =>
    stream.write('from the stream', (/** @type {any} */ error) => (error ? reject(error) : resolve(undefined))),
  );
  return { promises: [closed, written], check: isUndefined, end: () => stream.destroy() };
}

/** @param {{readable: ReadableStream, writable: WritableStream}} streams @returns {Use} */
function webStreamed({ readable, writable }) {
  const reader = readable.getReader();
  const writer = writable.getWriter();
  return {
    promises: [reader.read(), writer.write('from the web stream')],
    check: (value) => value === undefined || isResult(isMessage)(value),
    end: () => {
      reader.cancel().catch(() => {}); // as its promises, which are checked, it is rejected if the channel has failed
      writer.abort().catch(() => {});
    },
  };
}

/**
 * @typedef {object} Call
 * @property {any[][]} args each a list of valid arguments
 * @property {Check} returns checks a returned value, or what a returned promise is fulfilled with
 * @property {boolean} [afterClose] may it be called after close()? Otherwise it fails with ERR_CLOSED
 * @property {number} [signal] the index of the argument that takes options with a signal
 * @property {boolean} [blocks] may it block for ever, unless the channel has ended, if it is called without a timeout?
 * @property {boolean} [getter] is it a property?
 * @property {(value: any) => Use} [use] uses a returned object further
 * @property {boolean} [takes] does it return messages?
 */

/** @type {Map<string | symbol, Call>} */
const CALLS = new Map();
const target = Buffer.alloc(70_000);

/** @param {string | symbol} name @param {Call} call */
const add = (name, call) => CALLS.set(name, call);

add('trySend', { args: [['x'], [Buffer.alloc(30_000)], [new Float64Array(3)], [TOO_LARGE]], returns: isBoolean });
add('send', { args: [['x'], [Buffer.alloc(30_000)], [TOO_LARGE], ['x', {}]], returns: isUndefined, signal: 1 });
add('waitForRoom', { args: [[], [100], [TOO_LARGE.length], [0, {}]], returns: isUndefined, signal: 1 });
add('cork', { args: [[]], returns: isUndefined });
add('uncork', { args: [[]], returns: isUndefined });
add('tryReceive', { args: [[]], returns: isMessage, takes: true });
add('tryReceiveInto', {
  args: [[target], [target, 8], [Buffer.alloc(0)], [target, -1], [target, 1e9]],
  returns: (value) => value === -1 || isCount(value),
});
add('tryRead', { args: [[() => {}], [(/** @type {any} */ cursor) => cursor.toString()]], returns: isBoolean });
add('receive', { args: [[], [{}]], returns: isMessage, signal: 0, takes: true });
add('receiveSync', { args: [[{ timeout: 0 }], [{ timeout: 2 }]], returns: isMessage, blocks: true, takes: true });
add(Symbol.asyncIterator, {
  args: [[]],
  returns: (value) => typeof value.next === 'function',
  use: iterated(Buffer.isBuffer),
});
add('messages', {
  args: [[{ reuse: true }]],
  returns: (value) => typeof value.next === 'function',
  use: iteratedInTurn(Buffer.isBuffer),
});
add('batches', {
  args: [[], [{ max: 1 }], [{}]],
  returns: (value) => typeof value.next === 'function',
  use: iterated(isBatch),
});
add('request', {
  args: [['x'], [TOO_LARGE], ['x', { timeout: 1 }], ['x', { timeout: 2 ** 40 }]],
  returns: Buffer.isBuffer,
  signal: 1,
});
add('onRequest', {
  args: [[() => 'answer'], [() => 'answer', { concurrency: 1 }], [async () => 'answer'], [null]],
  returns: isUndefined,
});
add('toDuplex', { args: [[], [{ objectMode: true }]], returns: (value) => value instanceof Duplex, use: streamed });
add('toWebStreams', { args: [[]], returns: ({ readable }) => readable instanceof ReadableStream, use: webStreamed });
add('ref', { args: [[]], returns: (value) => typeof value === 'object', afterClose: true });
add('unref', { args: [[]], returns: (value) => typeof value === 'object', afterClose: true });
add('stats', { args: [[]], returns: ({ messagesSent }) => isCount(messagesSent), afterClose: true });
add('close', { args: [[]], returns: isUndefined, afterClose: true });
add('state', { args: [[]], returns: (value) => value === 'open' || isEnd(value), afterClose: true, getter: true });
add('maxMessageBytes', { args: [[]], returns: isCount, afterClose: true, getter: true });
add('authenticated', { args: [[]], returns: (value) => value === false, afterClose: true, getter: true });
add(Symbol.dispose ?? Symbol.for('nodejs.dispose'), { args: [[]], returns: isUndefined, afterClose: true });
add(Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose'), { args: [[]], returns: isUndefined, afterClose: true });

/** The public members of a class. @param {{prototype: any}} type @returns {(string | symbol)[]} */
const membersOf = ({ prototype }) => Reflect.ownKeys(prototype).filter((name) => name !== 'constructor');

module.exports = { CALLS, HOSTILE, JUNK, isEnd, membersOf };
