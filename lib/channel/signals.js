'use strict';
// Uses AbortSignals only through the members of their prototype. A signal object may have its own members with the same names;
// one that throws would end the loop that serves a channel and leave its other calls waiting.
const { addEventListener, removeEventListener } = EventTarget.prototype;

/** @param {string} name @returns {(signal: AbortSignal) => any} */
function getterOf(name) {
  const { get } = /** @type {any} */ (Object.getOwnPropertyDescriptor(AbortSignal.prototype, name));
  return (signal) => Reflect.apply(get, signal, []);
}
const [isAborted, reasonOf] = ['aborted', 'reason'].map(getterOf);

/** A genuine AbortSignal, not an object with its prototype? @param {unknown} value */
function isSignal(value) {
  if (!(value instanceof AbortSignal)) return false;
  try {
    return typeof isAborted(value) === 'boolean';
  } catch {
    return false; // the getter refuses any object that is not an AbortSignal
  }
}

/** @param {AbortSignal | undefined} signal */
function throwIfAborted(signal) {
  if (signal !== undefined && isAborted(signal)) throw reasonOf(signal);
}

/**
 * What to call when a signal is aborted. A signal gets one listener for all of it: adding and removing one takes time in proportion
 * to those that are there, and Node 20 warns of more than ten.
 * @type {WeakMap<AbortSignal, Set<(reason: unknown) => void>>}
 */
const callsOf = new WeakMap();

/** @this {AbortSignal} */
function abortAll() {
  const calls = callsOf.get(this) ?? [];
  callsOf.delete(this);
  for (const abort of calls) {
    try {
      abort(reasonOf(this));
    } catch (error) {
      process.nextTick(() => {
        throw error; // as if it had been a listener of its own
      });
    }
  }
}

/**
 * Call `abort` with the reason when the signal is aborted.
 * @param {AbortSignal | undefined} signal
 * @param {(reason: unknown) => void} abort a function of this call
 * @returns {() => void} stops it
 */
function onAbort(signal, abort) {
  if (signal === undefined) return () => {};
  let calls = callsOf.get(signal);
  if (calls === undefined) {
    calls = new Set();
    Reflect.apply(addEventListener, signal, ['abort', abortAll, { once: true }]);
    callsOf.set(signal, calls);
  }
  calls.add(abort);
  return () => {
    if (!calls.delete(abort) || calls.size > 0 || callsOf.get(signal) !== calls) return;
    callsOf.delete(signal);
    Reflect.apply(removeEventListener, signal, ['abort', abortAll]);
  };
}

module.exports = { isAborted, isSignal, onAbort, throwIfAborted };
