'use strict';
// The bill as figures with names, for the texts of a lesson. A part that was not measured has none.

const US = 1000; // nanoseconds
/** @type {Record<string, string>} */
const NAMES = {
  crossings: 'crossingsUs',
  copies: 'copiesUs',
  'own-code': 'kernelUs',
  'between-cores': 'betweenUs',
  'sleep-and-wake': 'sleepUs',
  'wake-other-core': 'wakeUs',
  'idle-exit': 'idleUs',
};

/** @param {import('./run.js').BillFile} file @returns {Record<string, {value: number, unit: string}>} */
function figuresOf({ roundTripNs, parts, waitingShare, crossings, environment: { pinnedCores } }) {
  const us = (/** @type {number} */ ns) => ({ value: ns / US, unit: 'µs' });
  const waiting = waitingShare?.median ?? 0;
  return {
    roundTripUs: us(roundTripNs.median),
    ...Object.fromEntries(parts.flatMap(({ name, ns }) => (ns ? [[NAMES[name], us(ns.median)]] : []))),
    waitingUs: us(waiting * roundTripNs.median),
    waitingPercent: { value: 100 * waiting, unit: '%' },
    crossings: { value: crossings?.perRoundTrip ?? 0, unit: 'calls' }, // 0: they could not be counted
    cores: { value: new Set(pinnedCores).size, unit: 'cores' },
  };
}

module.exports = { figuresOf };
