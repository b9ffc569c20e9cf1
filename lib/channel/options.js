'use strict';
// Checking what callers hand in. Whatever cannot be used is refused in one sentence that names it and what is accepted.
const { CrossingsError } = require('./errors.js');
const { MAX_CAPACITY, MIN_CAPACITY } = require('./layout.js');

const WAITS = ['spin-then-sleep', 'spin', 'sleep'];
const LONGEST_PATH = 107; // bytes: what fits into a socket's address

/** @param {string} sentence @returns {never} */
function refuse(sentence) {
  throw new CrossingsError('ERR_INVALID_ARGUMENT', sentence);
}

/** How a value looks in a sentence. @param {unknown} value */
function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return `a ${value.constructor?.name ?? 'object'}`;
  return String(value);
}

/**
 * @typedef {object} ChannelOptions
 * @property {number} [capacity] bytes of the outgoing ring: a power of two from 64 KiB to 1 GiB (default 1 MiB)
 * @property {'spin-then-sleep' | 'spin' | 'sleep'} [wait] how to wait for the peer (default 'spin-then-sleep')
 * @property {number} [spinMicros] how long to look again and again before sleeping, microseconds (default 50)
 * @property {number} [timeout] of connecting and of the handshake, milliseconds (default 30000; Infinity: no limit)
 * @property {AbortSignal} [signal] stops connecting
 * @property {boolean} [allowOtherUsers] take a peer of another user, too (default false)
 * @property {(value: any) => Uint8Array | string} [encode] makes bytes of what send() is given
 * @property {(bytes: Buffer) => any} [decode] makes of received bytes what receive() gives
 * @property {boolean} [sharedBuffers] map memory as SharedArrayBuffer where the runtime can (default true)
 */

const DEFAULTS = Object.freeze({
  capacity: 1 << 20,
  wait: 'spin-then-sleep',
  spinMicros: 50,
  timeout: 30_000,
  signal: undefined,
  allowOtherUsers: false,
  encode: undefined,
  decode: undefined,
  sharedBuffers: true,
});

/** @type {Record<string, [(value: any) => boolean, string]>} */
const ACCEPTED = {
  capacity: [
    (n) => Number.isInteger(n) && n >= MIN_CAPACITY && n <= MAX_CAPACITY && (n & (n - 1)) === 0,
    `a power of two from ${MIN_CAPACITY} to ${MAX_CAPACITY}`,
  ],
  wait: [(name) => WAITS.includes(name), WAITS.map((name) => `'${name}'`).join(', ')],
  spinMicros: [(n) => typeof n === 'number' && n >= 0 && n <= 1e6, 'a number of microseconds from 0 to 1000000'],
  timeout: [(n) => typeof n === 'number' && n > 0, 'a positive number of milliseconds, or Infinity'],
  signal: [(signal) => signal === undefined || signal instanceof AbortSignal, 'an AbortSignal'],
  allowOtherUsers: [(flag) => typeof flag === 'boolean', 'true or false'],
  encode: [(call) => call === undefined || typeof call === 'function', 'a function'],
  decode: [(call) => call === undefined || typeof call === 'function', 'a function'],
  sharedBuffers: [(flag) => typeof flag === 'boolean', 'true or false'],
};

/**
 * Options with every default filled in. An option that does not exist is refused: it is most likely misspelled.
 * @param {unknown} given
 * @returns {Required<ChannelOptions> & ChannelOptions}
 */
function readOptions(given = {}) {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    refuse(`Options are an object, not ${shown(given)}.`);
  for (const [name, value] of Object.entries(/** @type {object} */ (given))) {
    const rule = Object.hasOwn(ACCEPTED, name) ? ACCEPTED[name] : undefined;
    if (!rule) refuse(`There is no option ${shown(name)}; there are ${Object.keys(ACCEPTED).join(', ')}.`);
    if (value !== undefined && !rule[0](value)) refuse(`The option ${name} takes ${rule[1]}, not ${shown(value)}.`);
  }
  const options = { ...DEFAULTS };
  for (const [name, value] of Object.entries(/** @type {object} */ (given))) {
    if (value !== undefined) /** @type {any} */ (options)[name] = value;
  }
  return /** @type {any} */ (options);
}

/** @param {unknown} path @returns {string} */
function readPath(path) {
  if (typeof path !== 'string' || path === '') refuse(`A path is a string that is not empty, not ${shown(path)}.`);
  const text = /** @type {string} */ (path);
  if (text.includes('\0')) refuse('A path has no null character in it.');
  const bytes = Buffer.byteLength(text);
  if (bytes > LONGEST_PATH) refuse(`A socket's path has at most ${LONGEST_PATH} bytes; ${shown(text)} has ${bytes}.`);
  return text;
}

/**
 * The bytes of a message: of a string its UTF-8, of any view or buffer its memory, not copied.
 * @param {unknown} message
 * @returns {Uint8Array}
 */
function bytesOf(message) {
  if (message instanceof Uint8Array) return message;
  if (typeof message === 'string') return Buffer.from(message);
  if (ArrayBuffer.isView(message)) return new Uint8Array(message.buffer, message.byteOffset, message.byteLength);
  if (message instanceof ArrayBuffer || message instanceof SharedArrayBuffer) return new Uint8Array(message);
  return refuse(`A message is a string, a Buffer, a typed array, a DataView or an ArrayBuffer, not ${shown(message)}.`);
}

/** The signal among the options of a call. @param {{signal?: AbortSignal} | undefined} options */
function readSignal(options) {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) return refuse(`Options are an object, not ${shown(options)}.`);
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuse(`The option signal takes an AbortSignal, not ${shown(signal)}.`);
  return signal;
}

/** The timeout among the options of a call, milliseconds. @param {{timeout?: number} | undefined} options */
function readTimeout(options) {
  const timeout = options?.timeout ?? Number.POSITIVE_INFINITY;
  if (typeof timeout !== 'number' || !(timeout >= 0))
    refuse(`The option timeout takes milliseconds, not ${shown(timeout)}.`);
  return timeout;
}

module.exports = { readOptions, readPath, bytesOf, readSignal, readTimeout, refuse, shown };
