'use strict';
// Validates what callers pass in. An error names the argument, what was expected, and what it got.
const { Buffer } = require('node:buffer'); // in Node, the global of this name is a getter, which takes longer
const { isAnyArrayBuffer, isUint8Array } = require('node:util').types;
const { CrossingsError } = require('./errors.js');
const { MAX_CAPACITY, MIN_CAPACITY, TAG_BYTES, maxMessage } = require('./layout.js');
const { isSignal } = require('./signals.js');

/** A getter of all typed arrays, which a property of the same name cannot replace. @param {string} name @returns {(bytes: Uint8Array) => any} */
function getterOf(name) {
  const { get } = /** @type {any} */ (
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name)
  );
  return Function.prototype.call.bind(get);
}
const [bufferOf, offsetOf, lengthOf] = ['buffer', 'byteOffset', 'length'].map(getterOf);

const TRANSPORTS = ['shared-memory', 'socket'];
const WAITS = ['spin-then-sleep', 'spin', 'sleep'];
const MAX_PATH_BYTES = 107; // the longest path that fits into a Unix socket address
const DEFAULT_BATCH = 1024;
const DEFAULT_CONCURRENCY = 1024;

/**
 * @param {string} name of the argument or option
 * @param {string} expected such as 'a positive integer'
 * @param {unknown} got
 * @returns {never}
 */
function invalidArgument(name, expected, got) {
  throw new CrossingsError('ERR_INVALID_ARGUMENT', `${name} must be ${expected}; got ${shown(got)}.`);
}

/** @param {unknown} message @returns {never} */
function transferred(message) {
  return invalidArgument('message', 'bytes whose memory has not been transferred', message);
}

/** Format a value for an error message. @param {unknown} value */
function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return `a ${value.constructor?.name ?? 'object'}`;
  return String(value);
}

/**
 * @typedef {object} ChannelOptions
 * @property {number} [capacity] size of the outgoing ring in bytes: a power of two from 64 KiB to 1 GiB (default 1 MiB)
 * @property {number} [maxMessageBytes] choose a capacity of at least 1 MiB that takes messages of this size (default: as capacity allows)
 * @property {number} [maxRequests] requests whose promise may be pending (default 65536)
 * @property {'shared-memory' | 'socket'} [transport] what the channel is made of (default 'shared-memory'). Both sides must set the same
 * @property {'spin-then-sleep' | 'spin' | 'sleep'} [wait] how to wait for the peer (default 'spin-then-sleep')
 * @property {number} [spinMicros] longest time to poll the ring before sleeping, in microseconds (default 50)
 * @property {number} [timeout] for connecting and for the handshake, in milliseconds (default 30000; Infinity: no limit)
 * @property {AbortSignal} [signal] cancels connecting; for listen(), closes the server
 * @property {boolean} [allowOtherUsers] accept a peer that runs as another user (default false)
 * @property {number} [maxPeerCapacity] the largest ring that a peer may have, in bytes (default 256 MiB)
 * @property {number} [maxChannelsPerUser] channels that a server opens for one user at the same time (default 1024)
 * @property {number} [maxBytesPerUser] sum of their rings in both directions (default 8 GiB)
 * @property {(value: any) => Uint8Array | string} [encode] converts the argument of send() to bytes
 * @property {(bytes: Buffer) => any} [decode] converts received bytes to the value that receive() returns
 * @property {boolean} [authenticate] sign each message and check the peer's; both sides must set it, or neither (default false)
 * @property {boolean} [sharedBuffers] map memory as SharedArrayBuffer where the runtime supports it (default true)
 */

const DEFAULTS = Object.freeze({
  capacity: 1 << 20,
  maxMessageBytes: undefined,
  maxRequests: 65536,
  transport: 'shared-memory',
  wait: 'spin-then-sleep',
  spinMicros: 50,
  timeout: 30_000,
  signal: undefined,
  allowOtherUsers: false,
  maxPeerCapacity: 2 ** 28,
  maxChannelsPerUser: 1024,
  maxBytesPerUser: 2 ** 33,
  encode: undefined,
  decode: undefined,
  authenticate: false,
  sharedBuffers: true,
});

/** @param {string[]} names */
const quoted = (names) => names.map((name) => `'${name}'`).join(', ');

/** @type {Record<string, [(value: any) => boolean, string]>} */
const ACCEPTED = {
  capacity: [
    (n) => Number.isInteger(n) && n >= MIN_CAPACITY && n <= MAX_CAPACITY && (n & (n - 1)) === 0,
    'a power of two from 65,536 to 2^30',
  ],
  maxMessageBytes: [
    (n) => Number.isInteger(n) && n >= 0 && n <= maxMessage(MAX_CAPACITY),
    `a number of bytes from 0 to ${maxMessage(MAX_CAPACITY)}`,
  ],
  maxRequests: [
    (n) => n === Number.POSITIVE_INFINITY || (Number.isInteger(n) && n > 0),
    'a positive integer, or Infinity',
  ],
  transport: [(name) => TRANSPORTS.includes(name), `one of ${quoted(TRANSPORTS)}`],
  wait: [(name) => WAITS.includes(name), `one of ${quoted(WAITS)}`],
  spinMicros: [(n) => typeof n === 'number' && n >= 0 && n <= 1e6, 'a number of microseconds from 0 to 1,000,000'],
  timeout: [(n) => typeof n === 'number' && n > 0, 'a positive number of milliseconds, or Infinity'],
  signal: [(signal) => signal === undefined || isSignal(signal), 'an AbortSignal'],
  maxPeerCapacity: [
    (n) => Number.isInteger(n) && n >= MIN_CAPACITY && n <= MAX_CAPACITY,
    'a number of bytes from 65,536 to 2^30',
  ],
  maxChannelsPerUser: [(n) => Number.isInteger(n) && n > 0, 'a positive integer'],
  maxBytesPerUser: [(n) => Number.isInteger(n) && n > 0, 'a positive number of bytes'],
  allowOtherUsers: [(flag) => typeof flag === 'boolean', 'true or false'],
  encode: [(call) => call === undefined || typeof call === 'function', 'a function'],
  decode: [(call) => call === undefined || typeof call === 'function', 'a function'],
  authenticate: [(flag) => typeof flag === 'boolean', 'true or false'],
  sharedBuffers: [(flag) => typeof flag === 'boolean', 'true or false'],
};

/**
 * Validate options and fill in the defaults. An unknown option is an error, because it is probably a misspelling.
 * @param {unknown} given
 * @returns {Required<ChannelOptions> & ChannelOptions}
 */
function readOptions(given = {}) {
  checkObject(given);
  const options = { ...DEFAULTS };
  // Each value is read once: a getter may return another one the next time.
  for (const [name, value] of Object.entries(/** @type {object} */ (given))) {
    const rule = Object.hasOwn(ACCEPTED, name) ? ACCEPTED[name] : undefined;
    if (rule === undefined) refuseUnknown(name, Object.keys(ACCEPTED));
    else if (value !== undefined && !rule[0](value)) invalidArgument(name, rule[1], value);
    if (value !== undefined) /** @type {any} */ (options)[name] = value;
  }
  if (options.maxMessageBytes !== undefined) fitCapacity(options, /** @type {any} */ (given).capacity !== undefined);
  return /** @type {any} */ (options);
}

/**
 * Choose the capacity for the option maxMessageBytes, or check the given one.
 * @param {any} options
 * @param {boolean} isGiven is the option capacity set?
 */
function fitCapacity(options, isGiven) {
  const { maxMessageBytes, authenticate } = options;
  const overhead = authenticate ? TAG_BYTES : 0;
  const fits = (/** @type {number} */ capacity) => maxMessage(capacity) - overhead >= maxMessageBytes;
  while (!isGiven && !fits(options.capacity) && options.capacity < MAX_CAPACITY) options.capacity *= 2;
  if (fits(options.capacity)) return;
  const largest = maxMessage(options.capacity) - overhead;
  throw new CrossingsError(
    'ERR_INVALID_ARGUMENT',
    `maxMessageBytes must be at most ${largest} with a capacity of ${options.capacity}; got ${maxMessageBytes}. Omit capacity to choose a ring that is large enough.`,
  );
}

/** @param {unknown} options */
function checkObject(options) {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    invalidArgument('options', 'an object', options);
}

/** @param {string} name @param {string[]} known @returns {never} */
function refuseUnknown(name, known) {
  throw new CrossingsError('ERR_INVALID_ARGUMENT', `Unknown option ${shown(name)}. Options: ${known.join(', ')}.`);
}

/** @param {unknown} path @returns {string} */
function readPath(path) {
  if (typeof path !== 'string' || path === '') return invalidArgument('path', 'a non-empty string', path);
  if (path.includes('\0')) return invalidArgument('path', 'a string without null characters', path);
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) {
    const expected = `at most ${MAX_PATH_BYTES} bytes, the limit for a Unix socket`;
    throw new CrossingsError('ERR_INVALID_ARGUMENT', `path must be ${expected}; ${shown(path)} has ${bytes}.`);
  }
  return path;
}

/**
 * The bytes of a message: UTF-8 for a string; for a view or a buffer, the same memory, not a copy.
 * @param {unknown} message
 * @returns {Uint8Array}
 */
function bytesOf(message) {
  if (isUint8Array(message)) return isPlain(message) ? ofFixedLength(message) : plainView(message);
  if (typeof message === 'string') return Buffer.from(message);
  try {
    if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
    if (isAnyArrayBuffer(message)) return new Uint8Array(message, 0, message.byteLength);
  } catch {
    transferred(message);
  }
  return invalidArgument('message', 'a string, a Buffer, a typed array, a DataView or an ArrayBuffer', message);
}

/**
 * Is this a Uint8Array or a Buffer whose `length` is its own? The length is read first, because V8 finds the prototype much faster then.
 * @param {Uint8Array} bytes
 */
function isPlain(bytes) {
  const { length } = bytes;
  const prototype = Object.getPrototypeOf(bytes);
  return (prototype === Buffer.prototype || prototype === Uint8Array.prototype) && lengthOf(bytes) === length;
}

/** A view of the same memory, no matter what length a subclass or a property claims. @param {Uint8Array} bytes */
function plainView(bytes) {
  return new Uint8Array(bufferOf(bytes), offsetOf(bytes), lengthOf(bytes));
}

/**
 * The same bytes, as a view whose length stays the same. That of a resizable buffer may change while a send waits, and another
 * thread may grow a growable one at any time: a message would get more bytes than its frame has.
 * @param {Uint8Array} bytes
 */
function ofFixedLength(bytes) {
  const buffer = bufferOf(bytes);
  return buffer.resizable || buffer.growable ? plainView(bytes) : bytes;
}

/**
 * Check that the options of a call are an object, and that each one is known: another one is probably a misspelling.
 * @template {object} Options
 * @param {Options} options
 * @param {string[]} known
 */
function checkNames(options, known) {
  checkObject(options);
  for (const name of Object.keys(options)) if (!known.includes(name)) refuseUnknown(name, known);
}

/** Validate and return the option signal of a call. @param {{signal?: AbortSignal} | undefined} options */
function readSignal(options, known = ['signal']) {
  if (options === undefined) return undefined;
  checkNames(options, known);
  const { signal } = options;
  if (signal !== undefined && !isSignal(signal)) invalidArgument('signal', 'an AbortSignal', signal);
  return signal;
}

/** Validate and return the option timeout of a call, in milliseconds (default Infinity). @param {{timeout?: number} | undefined} options */
function readTimeout(options = {}, known = ['timeout']) {
  checkNames(options, known);
  const { timeout = Number.POSITIVE_INFINITY } = options;
  if (typeof timeout !== 'number' || !(timeout >= 0))
    invalidArgument('timeout', 'a non-negative number of milliseconds', timeout);
  return timeout;
}

/** Validate the options of batches() and fill in the defaults. @param {{max?: number, reuse?: boolean} | undefined} options */
function readBatchOptions(options = {}) {
  checkNames(options, ['max', 'reuse']);
  const { max = DEFAULT_BATCH, reuse = false } = options;
  if (!Number.isInteger(max) || max < 1) invalidArgument('max', 'a positive integer', max);
  checkReuse(reuse);
  return { max, reuse };
}

/** Validate and return the option reuse of messages(). @param {{reuse?: boolean} | undefined} options */
function readReuse(options = {}) {
  checkNames(options, ['reuse']);
  const { reuse = false } = options;
  return checkReuse(reuse);
}

/** Validate and return the option concurrency of onRequest(). @param {{concurrency?: number} | undefined} options */
function readConcurrency(options = {}) {
  checkNames(options, ['concurrency']);
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  if (concurrency !== Number.POSITIVE_INFINITY && (!Number.isInteger(concurrency) || concurrency < 1))
    invalidArgument('concurrency', 'a positive integer, or Infinity', concurrency);
  return concurrency;
}

/** Validate and return the size of a message. @param {number} sizeBytes */
function readSize(sizeBytes) {
  if (!Number.isInteger(sizeBytes) || sizeBytes < 0) invalidArgument('sizeBytes', 'a non-negative integer', sizeBytes);
  return sizeBytes;
}

/** @param {unknown} reuse */
function checkReuse(reuse) {
  return typeof reuse === 'boolean' ? reuse : invalidArgument('reuse', 'true or false', reuse);
}

module.exports = {
  isPlain,
  MAX_PATH_BYTES,
  readOptions,
  checkNames,
  readPath,
  bytesOf,
  ofFixedLength,
  readSignal,
  readTimeout,
  readBatchOptions,
  readConcurrency,
  readReuse,
  readSize,
  invalidArgument,
  transferred,
  shown,
};
