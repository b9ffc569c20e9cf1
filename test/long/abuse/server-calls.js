'use strict';
// The table of all public calls of a server, as calls.js has those of a channel.
const { Channel } = /** @type {any} */ (require('../../../lib/index.js'));

/** @typedef {import('./calls.js').Call} Call */

const isUndefined = (/** @type {any} */ value) => value === undefined;

/** A channel, which nobody needs. @param {any} value */
function isChannel(value) {
  if (!(value instanceof Channel)) return false;
  value.close();
  return true;
}

/** @type {Map<string | symbol, Call>} */
const SERVER_CALLS = new Map();

/** @param {string | symbol} name @param {Call} call */
const add = (name, call) => SERVER_CALLS.set(name, call);

add('accept', { args: [[], [{}]], returns: isChannel, signal: 0 });
add(Symbol.asyncIterator, {
  args: [[]],
  returns: (value) => typeof value.next === 'function',
  afterClose: true, // the loop ends at once
  use: (iterator) => ({
    promises: [iterator.next()],
    check: ({ value, done }) => (done ? isUndefined(value) : isChannel(value)),
    end: () => {},
  }),
});
add('closed', { args: [[]], returns: (value) => typeof value === 'boolean', afterClose: true, getter: true });
add('refusals', { args: [[]], returns: ({ count }) => Number.isInteger(count), afterClose: true, getter: true });
add('ref', { args: [[]], returns: (value) => typeof value === 'object', afterClose: true });
add('unref', { args: [[]], returns: (value) => typeof value === 'object', afterClose: true });
add('close', { args: [[]], returns: isUndefined, afterClose: true });
add('removeFile', { args: [], returns: isUndefined, afterClose: true }); // for the exit of the process, not for users
add(Symbol.dispose ?? Symbol.for('nodejs.dispose'), { args: [[]], returns: isUndefined, afterClose: true });
add(Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose'), { args: [[]], returns: isUndefined, afterClose: true });

module.exports = { SERVER_CALLS };
