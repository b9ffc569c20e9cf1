'use strict';
// The clock and the timers of this room, saved once when it is loaded. Test libraries may replace the globals later, and with a clock
// that stands still, a wait that polls would never end. If they were replaced before, this file waits for a turn of the event loop in
// other ways.
const { performance } = require('node:perf_hooks');
const timers = require('node:timers');
const { scheduler } = require('node:timers/promises');
const { isNode } = require('./runtime.js');

/** The monotonic clock, in milliseconds. Uses the prototype's method (Bun has none), because a replacement is a property of the object. */
const now = (Object.getPrototypeOf(performance).now ?? performance.now).bind(performance);

/**
 * Is this the runtime's own function? Most replacements have another name. Sinon's have the same names, so in Node the source is
 * checked, too. A test library may replace only some of them.
 * @param {Function} call @param {string} name @param {RegExp} source of Node's own
 */
function isGenuine(call, name, source) {
  if (call.name !== name) return false;
  return !isNode || source.test(Function.prototype.toString.call(call));
}
const isImmediateGenuine = isGenuine(timers.setImmediate, 'setImmediate', /new Immediate\(|\[native code\]/);
const areGenuine = isGenuine(timers.setTimeout, 'setTimeout', /new Timeout\(|\[native code\]/);
const isTickGenuine = isGenuine(process.nextTick, 'nextTick', /validateFunction\(|\[native code\]/);

/** @type {(call: () => void) => any} the immediate, or undefined */
const setImmediate = isImmediateGenuine ? timers.setImmediate : (call) => void scheduler.yield().then(call);

/** Also later, if it was replaced: outside of any promise, so that what is thrown is an uncaught exception. */
const nextTick = isTickGenuine
  ? process.nextTick
  : (/** @type {Function} */ call, /** @type {any[]} */ ...args) => setImmediate(() => call(...args));

// A replaced timer is looked up for each call, so that the time limits work again when the test library has restored it.
const atLoad = timers.setTimeout;
/** @type {typeof timers.setTimeout} */
const setTimeout = areGenuine
  ? atLoad
  : /** @type {any} */ ((/** @type {any} */ ...args) => Reflect.apply(timers.setTimeout, undefined, args));
/**
 * Call in `ms` milliseconds, without keeping the process alive. If the timers are replaced, the wait for a word that never changes
 * serves as one: it has its own time limit, and Node does not wait for its end.
 * @type {(call: () => void, ms: number) => void}
 */
const callUnreferenced = areGenuine
  ? (call, ms) => void atLoad(call, ms).unref()
  : (call, ms) => {
      const word = new Int32Array(new SharedArrayBuffer(4));
      /** @type {any} */ (Atomics).waitAsync(word, 0, 0, ms).value.then(call);
    };

/** A loop that waits for the end of a time ends after so many readings of the clock that were the same: it was stopped. */
const MOST_EQUAL = 10_000;

/** @type {typeof timers.clearTimeout} */
const clearTimeout = areGenuine ? timers.clearTimeout : (timer) => timers.clearTimeout(timer);

module.exports = { MOST_EQUAL, areGenuine, nextTick, now, setImmediate, setTimeout, clearTimeout, callUnreferenced };
