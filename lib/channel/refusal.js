'use strict';
// How a handler's error is sent to the requester: its message and, if it has them, its name and its code, separated by zero bytes.
const { isNativeError } = require('node:util').types;
const { CrossingsError } = require('./errors.js');

const MAX_REASON_LENGTH = 1000; // characters of the message
const MAX_NAME_LENGTH = 100; // of the name, and of the code
const NO_REASON = 'The handler threw a value that cannot be converted to a string.';
const MAX_REFUSAL_BYTES = 4 * (MAX_REASON_LENGTH + 2 * MAX_NAME_LENGTH) + 2; // the rest of a longer one is ignored

/** The payload of a refusal. @param {any} error whatever a handler threw */
function refusalOf(error) {
  const reason = part(() => error?.message ?? error, MAX_REASON_LENGTH) ?? NO_REASON;
  const isError = isNativeError(error); // of any realm
  const name = isError ? part(() => error.name, MAX_NAME_LENGTH) : undefined;
  const code = isError ? part(() => /** @type {any} */ (error).code ?? '', MAX_NAME_LENGTH) : undefined;
  return Buffer.from(name || code ? `${reason}\0${name ?? ''}\0${code ?? ''}` : reason);
}

/** @param {() => unknown} read may throw @param {number} maxLength @returns {string | undefined} undefined if it cannot be converted to a string */
function part(read, maxLength) {
  try {
    return String(read()).slice(0, maxLength).replaceAll('\0', '\ufffd');
  } catch {
    return undefined; // for example, an object without a prototype
  }
}

/** The error that the requester gets. @param {Buffer} payload of a refusal */
function errorOfRefusal(payload) {
  const [text, name, code] = payload.toString('utf8').split('\0', 3);
  return errorOf(text.slice(0, MAX_REASON_LENGTH), name?.slice(0, MAX_NAME_LENGTH), code?.slice(0, MAX_NAME_LENGTH));
}

/** @param {string} reason @param {string} [name] @param {string} [code] */
function errorOf(reason, name = '', code = '') {
  const error = new CrossingsError('ERR_REQUEST_FAILED', reason);
  if (name === '' && code === '') return error;
  const cause = new Error(reason);
  if (name !== '') cause.name = name;
  if (code !== '') Object.assign(cause, { code });
  cause.stack = `${cause.name}: ${reason}\n    at the handler of the peer`;
  return Object.assign(error, { cause });
}

module.exports = { MAX_REFUSAL_BYTES, errorOfRefusal, refusalOf };
