'use strict';
// Run files with chosen samples, complete enough for their schema.

/** @typedef {{rate?: number[], tripNs?: number[], calls?: [number, number]}} Figures */

/** A complete result of a run file. @param {string} mechanism @param {Figures} figures */
function result(mechanism, { rate = around(100), tripNs = around(1000), calls = [4, 2] }) {
  const summary = { median: 1, q1: 1, q3: 1 };
  return {
    mechanism,
    title: mechanism.toUpperCase(),
    throughput: { messagesPerSecond: { ...summary, samples: rate }, bytesPerSecond: summary },
    roundTrip: {
      count: 1,
      floorNs: null,
      sampleP50Ns: tripNs,
      ns: { min: 1, p50: 1, p90: 1, p99: 1, 'p99.9': null, 'p99.99': null, max: 1, mean: 1 },
    },
    crossings: { perRoundTrip: calls[0], perMessage: calls[1], method: 'ptrace', byName: {} },
  };
}

/** @param {any[]} results @param {{parameters?: object, environment?: object}} [differing] @returns {any} */
const runOf = (results, { parameters, environment } = {}) => ({
  schema: 'crossings/run/1',
  id: 'an id',
  startedAt: '2026-01-01T00:00:00.000Z',
  tool: { version: '1' },
  environment: {
    cpu: 'One',
    cores: 2,
    kernel: 'Linux',
    virtualization: 'none',
    compiler: 'gcc',
    node: 'v20',
    pinnedCores: [0, 1],
    clock: { source: 'tsc', overheadNs: 20 },
    warnings: [],
    ...environment,
  },
  parameters: { messages: 1000, sizeBytes: 64, samples: 7, mode: 'process', batch: 1, effort: 'quick', ...parameters },
  floors: { syscallNs: 100, cacheLineRoundTripNs: 100 },
  results,
});

/** Seven samples close together around a value. @param {number} value */
const around = (value) => [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03].map((factor) => value * factor);

module.exports = { around, result, runOf };
