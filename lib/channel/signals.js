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
 * Call `abort` with the reason when the signal is aborted.
 * @param {AbortSignal | undefined} signal
 * @param {(reason: unknown) => void} abort
 * @returns {() => void} stops it
 */
function onAbort(signal, abort) {
  if (signal === undefined) return () => {};
  let listening = true; // removing a listener that is gone searches all others of the signal
  const listener = () => {
    listening = false;
    abort(reasonOf(signal));
  };
  Reflect.apply(addEventListener, signal, ['abort', listener, { once: true }]);
  return () => {
    if (listening) Reflect.apply(removeEventListener, signal, ['abort', listener]);
  };
}

module.exports = { isAborted, isSignal, onAbort, throwIfAborted };
