'use strict';
// The sentences below each chart: every figure is from the run.
const { explainCharts } = require('../lib/bench/charts.js');

/** @typedef {{rate?: number[], tripNs?: number[], calls?: number | null, ns?: object}} Figures */

/** A result with only the members that are compared or explained. @param {string} mechanism @param {Figures} figures */
function result(mechanism, { rate = [100], tripNs = [1000], calls = 4, ns = {} }) {
  const middle = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
  const p50 = middle(tripNs);
  const slow = { p90: p50 * 1.2, p99: p50 * 2, 'p99.9': p50 * 4, 'p99.99': null };
  return {
    mechanism,
    title: mechanism.toUpperCase(),
    throughput: { messagesPerSecond: { median: middle(rate), samples: rate } },
    roundTrip: { sampleP50Ns: tripNs, ns: { min: p50 * 0.8, p50, ...slow, ...ns } },
    crossings: { perRoundTrip: calls },
  };
}

/** @param {any[]} results @returns {any} */
const runOf = (results) => ({
  floors: { syscallNs: 100, cacheLineRoundTripNs: 100 },
  results,
});

/** Seven samples close together around a value. @param {number} value */
const around = (value) => [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03].map((factor) => value * factor);

describe('the sentence below a chart:', () => {
  const ring = result('ring', { rate: around(8000), tripNs: around(100), calls: 0 });
  const pipe = result('pipe', { rate: around(1000), tripNs: around(20_000), ns: { 'p99.9': 200_000 } });
  const run = runOf([pipe, ring]);

  test('throughput names the highest and the lowest, and their ratio', () => {
    expect(explainCharts(run).throughput).toBe('ring carries 8,000 messages per second, 8.00 times as many as pipe.');
  });

  test('throughput reports ties', () => {
    const spin = result('shm-spin', { rate: around(7990) });
    expect(explainCharts(runOf([pipe, ring, spin])).throughput).toContain(
      '8.00 times as many as pipe. There is no detectable difference between ring and shm-spin.',
    );
    expect(explainCharts(runOf([ring, spin])).throughput).toContain(
      'no detectable difference from shm-spin, the lowest',
    );
  });

  test('throughput says when there are too few samples to test for ties', () => {
    const [few, fewer] = [result('ring', { rate: [8000, 8000] }), result('pipe', { rate: [1000, 1000] })];
    expect(explainCharts(runOf([few, fewer])).throughput).toContain(
      '8.00 times as many as pipe; 2 samples of each are too few to test for ties.',
    );
  });

  test('percentiles quote the highest one that every mechanism has', () => {
    expect(explainCharts(run).percentiles).toBe(
      'With pipe, one round trip in 1,000 takes more than 200 µs, 10.0 times its median; with ring, more than 400 ns, 4.00 times its median.',
    );
    const short = result('tcp', { ns: { p99: null, 'p99.9': null } });
    expect(explainCharts(runOf([short])).percentiles).toContain('one round trip in 10 ');
  });

  test('distribution says whether the fastest and the slowest mechanism overlap', () => {
    expect(explainCharts(run).distribution).toBe(
      'With ring, 90 % of the round trips take 80.0 ns to 120 ns; with pipe, 16.0 µs to 24.0 µs. Even the fastest pipe round trip is slower than those of ring.',
    );
    const near = result('uds', { tripNs: around(120) });
    expect(explainCharts(runOf([ring, near])).distribution).toContain('The two ranges overlap.');
  });

  test('crossings compare the mechanisms that make no system call with the others', () => {
    const tcp = result('tcp', { tripNs: around(40_000), calls: 4 });
    expect(explainCharts(runOf([pipe, ring, tcp])).crossings).toBe(
      'Without system calls: ring, 100 ns per round trip. With 4 system calls: pipe and tcp, 20.0 µs to 40.0 µs per round trip, at least 200 times as long.',
    );
  });

  test('crossings report nothing that was not counted', () => {
    const uncounted = result('pipe', { calls: null });
    expect(explainCharts(runOf([uncounted])).crossings).toMatch(/could not be counted/);
    expect(explainCharts(runOf([ring])).crossings).toBe('Without system calls: ring, 100 ns per round trip.');
    expect(explainCharts(runOf([pipe])).crossings).toBe('With 4 system calls: pipe, 20.0 µs per round trip.');
  });

  test('one mechanism alone is not compared', () => {
    const sentences = Object.values(explainCharts(runOf([pipe])));
    for (const sentence of sentences) expect(sentence).toMatch(/^(pipe|[A-Z].*pipe).*\.$/);
  });
});
