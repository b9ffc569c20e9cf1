'use strict';
// Uses AbortSignals only through the members of their prototype. A signal object may have its own members with the same names;
// one that throws would end the loop that serves a channel and leave its other calls waiting.
// Simulated browsers (jsdom, happy-dom) replace the globals, before or after this file is loaded. Theirs are used as they are.
const { nextTick } = require('./clock.js');

const { AbortSignal: Genuine } = globalThis;
const { addEventListener, removeEventListener } = EventTarget.prototype;

/** @param {string} name @returns {(signal: AbortSignal) => any} */
function getterOf(name) {
  const get = Object.getOwnPropertyDescriptor(Genuine.prototype, name)?.get;
  return (signal) =>
    get !== undefined && signal instanceof Genuine ? Reflect.apply(get, signal, []) : /** @type {any} */ (signal)[name];
}
const [isAborted, ownReasonOf] = ['aborted', 'reason'].map(getterOf);

/** The reason of an aborted signal. Old substitutes for AbortSignal have none. @param {AbortSignal} signal */
function reasonOf(signal) {
  const reason = ownReasonOf(signal);
  return reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
}

/**
 * A genuine AbortSignal, not an object with its prototype, or one of another class of that name: of a simulated browser or a
 * substitute, or the runtime's own if a simulated browser was there first.
 * @param {any} value
 */
function isSignal(value) {
  try {
    const isOne = value instanceof Genuine || value.constructor.name === 'AbortSignal' || value instanceof AbortSignal;
    return isOne && typeof isAborted(value) === 'boolean' && typeof value.addEventListener === 'function';
  } catch {
    return false; // the getter refuses any object that is not an AbortSignal
  }
}

/** The function that adds or removes listeners. @param {AbortSignal} signal @param {'addEventListener' | 'removeEventListener'} name */
function methodOf(signal, name) {
  if (!(signal instanceof Genuine)) return signal[name];
  return name === 'addEventListener' ? addEventListener : removeEventListener;
}

/** @param {AbortSignal | undefined} signal */
function throwIfAborted(signal) {
  if (signal !== undefined && isAborted(signal)) throw reasonOf(signal);
}

/**
 * What to call when a signal is aborted, and the listener that does it. A signal gets one listener for all calls: adding and removing
 * one takes time in proportion to those that are there, and Node 20 warns of more than ten.
 * @type {WeakMap<AbortSignal, {calls: Set<(reason: unknown) => void>, listener: () => void}>}
 */
const callsOf = new WeakMap();

/** @param {AbortSignal} signal */
function abortAll(signal) {
  const { calls = [] } = callsOf.get(signal) ?? {};
  callsOf.delete(signal);
  for (const abort of calls) {
    try {
      abort(reasonOf(signal));
    } catch (error) {
      nextTick(() => {
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
  let entry = callsOf.get(signal);
  if (entry === undefined) {
    const listener = () => abortAll(signal); // a substitute may call it as anything
    entry = { calls: new Set(), listener };
    Reflect.apply(methodOf(signal, 'addEventListener'), signal, ['abort', listener, { once: true }]);
    callsOf.set(signal, entry);
  }
  const { calls, listener } = entry;
  calls.add(abort);
  if (isAborted(signal)) nextTick(listener); // since the call began, by a hook of async_hooks: the event is over
  return () => {
    if (!calls.delete(abort) || calls.size > 0 || callsOf.get(signal)?.calls !== calls) return;
    callsOf.delete(signal);
    Reflect.apply(methodOf(signal, 'removeEventListener'), signal, ['abort', listener]);
  };
}

module.exports = { isAborted, isSignal, onAbort, throwIfAborted };
