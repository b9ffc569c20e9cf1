'use strict';
// The clock and the timers of this room, taken once when it is loaded. Test libraries replace the globals later; with a clock that
// stands still, a wait that polls would never end. If they have done so before, a turn of the event loop is waited for by other means.
const { performance } = require('node:perf_hooks');
const timers = require('node:timers');
const { scheduler } = require('node:timers/promises');
const { isNode } = require('./runtime.js');

/** The monotonic clock, in milliseconds. The method of the prototype, which Bun's has not: a replacement is a property of the object. */
const now = (Object.getPrototypeOf(performance).now ?? performance.now).bind(performance);

/**
 * Is this setImmediate() the runtime's own? Most replacements have another name. Sinon's have the same, so the source is looked at, too;
 * that of other runtimes than Node is not known.
 * @param {Function} call
 */
function isGenuine(call) {
  if (call.name !== 'setImmediate') return false;
  return !isNode || /new Immediate\(|\[native code\]/.test(Function.prototype.toString.call(call));
}
const areGenuine = isGenuine(timers.setImmediate);

/** @type {(call: () => void) => void} */
const setImmediate = areGenuine ? timers.setImmediate : (call) => void scheduler.yield().then(call);

// A replaced timer is looked up for each call, so that the time limits work again when the test library has restored it.
/** @type {typeof timers.setTimeout} */
const setTimeout = areGenuine
  ? timers.setTimeout
  : /** @type {any} */ ((/** @type {any} */ ...args) => Reflect.apply(timers.setTimeout, undefined, args));
/**
 * Call in `ms` milliseconds, without keeping the process alive. If the timers are replaced, the wait for a word that never changes
 * serves as one: it has a time limit of its own, and Node does not wait for its end.
 * @type {(call: () => void, ms: number) => void}
 */
const callUnreferenced = areGenuine
  ? (call, ms) => void timers.setTimeout(call, ms).unref()
  : (call, ms) => {
      const word = new Int32Array(new SharedArrayBuffer(4));
      /** @type {any} */ (Atomics).waitAsync(word, 0, 0, ms).value.then(call);
    };

/** @type {typeof timers.clearTimeout} */
const clearTimeout = areGenuine ? timers.clearTimeout : (timer) => timers.clearTimeout(timer);

module.exports = { areGenuine, now, setImmediate, setTimeout, clearTimeout, callUnreferenced };
