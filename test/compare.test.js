'use strict';
// What is said of two runs, and under each chart: every figure is one of the run's own.
const { explainCharts } = require('../lib/bench/charts.js');
const { compareRuns } = require('../lib/bench/compare.js');

/** @typedef {{rate?: number[], tripNs?: number[], calls?: number | null, ns?: object}} Figures */

/** A result of which only what is compared or explained is real. @param {string} mechanism @param {Figures} figures */
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

/** @param {any[]} results @param {{parameters?: object, environment?: object}} [differing] @returns {any} */
const runOf = (results, { parameters, environment } = {}) => ({
  id: 'an id',
  startedAt: '2026-01-01T00:00:00.000Z',
  environment: { cpu: 'One', cores: 2, kernel: 'Linux', virtualization: 'none', pinnedCores: [0, 1], ...environment },
  parameters: { messages: 1000, sizeBytes: 64, batch: 1, ...parameters },
  floors: { syscallNs: 100, cacheLineRoundTripNs: 100 },
  results,
});

/** Seven samples close together around a value. @param {number} value */
const around = (value) => [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03].map((factor) => value * factor);

/** @param {Figures} a @param {Figures} b */
const comparePipes = (a, b) => compareRuns(runOf([result('pipe', a)]), runOf([result('pipe', b)]));

describe('two runs', () => {
  test.each([
    [{ tripNs: around(1000) }, { tripNs: around(1120) }, 'slower', 'round trip 12 % slower (1.00 µs → 1.12 µs)'],
    [{ tripNs: around(1000) }, { tripNs: around(750) }, 'faster', 'round trip 25 % faster (1.00 µs → 750 ns)'],
    [{ tripNs: around(1000) }, { tripNs: around(3000) }, 'slower', 'round trip 3.00 times as long (1.00 µs → 3.00 µs)'],
    [{ tripNs: around(1000) }, { tripNs: around(1010) }, 'undetected', 'pipe: no detectable difference.'],
    [{ tripNs: [1000, 1000] }, { tripNs: [5000, 5000] }, 'undetected', 'pipe: no detectable difference.'],
  ])('whose round trips are %j and %j: %s', (a, b, verdict, sentence) => {
    const { mechanisms, sentences } = comparePipes(a, b);
    expect(mechanisms[0].roundTrip.verdict).toBe(verdict);
    expect(sentences[0]).toContain(sentence);
  });

  test.each([
    [around(100), around(150), 'faster', 'throughput 50 % higher'],
    [around(100), around(400), 'faster', 'throughput 4.00 times as high'],
    [around(100), around(25), 'slower', 'throughput 75 % lower'],
  ])('whose messages per second are %j and %j: %s', (a, b, verdict, sentence) => {
    const { mechanisms, sentences } = comparePipes({ rate: a }, { rate: b });
    expect(mechanisms[0].throughput.verdict).toBe(verdict);
    expect(sentences).toEqual([`pipe: no detectable difference in the round trip; ${sentence}.`]);
  });

  test('the figures are the medians of the samples that the verdict comes from, and their ratio', () => {
    const [{ roundTrip }] = comparePipes({ tripNs: around(1000) }, { tripNs: around(1500) }).mechanisms;
    expect(roundTrip).toEqual({ a: 1000, b: 1500, ratio: 1.5, verdict: 'slower' });
  });

  test('a mechanism that only one of them has is named, not compared', () => {
    const both = compareRuns(
      runOf([result('pipe', {}), result('tcp', {})]),
      runOf([result('pipe', {}), result('uds', {}), result('ring', {})]),
    );
    expect(both.mechanisms.map(({ mechanism }) => mechanism)).toEqual(['pipe']);
    expect(both.sentences.slice(1)).toEqual([
      'Only the baseline includes tcp.',
      'Only the candidate includes uds, ring.',
    ]);
  });

  const many = { tripNs: around(1000) };
  test.each([
    [
      'machines',
      { environment: { cpu: 'Other' } },
      'The machines differ: One, 2 cores, Linux (baseline), Other, 2 cores, Linux (candidate).',
    ],
    [
      'cores',
      { environment: { pinnedCores: null } },
      'The cores used differ: 0 and 1 (baseline), not pinned (candidate).',
    ],
    ['sizes', { parameters: { sizeBytes: 4096 } }, 'The message sizes differ: 64 bytes (baseline), 4 KiB (candidate).'],
    [
      'messages',
      { parameters: { messages: 20_000 } },
      'The message counts differ: 1,000 (baseline), 20,000 (candidate).',
    ],
    ['virtual', { environment: { virtualization: 'KVM' } }, 'virtual machine'],
  ])('that differ in what they measured come with a caution: %s', (_what, differing, caution) => {
    const { caution: said } = compareRuns(runOf([result('pipe', many)]), runOf([result('pipe', many)], differing));
    expect(said).toContain(caution);
  });

  test('with too few samples come with a caution', () => {
    expect(comparePipes({ tripNs: [1, 2, 3] }, many).caution).toContain('at least 6 samples');
  });

  test('of the same kind on the same machine need no caution', () => {
    expect(comparePipes(many, many).caution).toBeNull();
  });
});

describe('under a chart', () => {
  const ring = result('ring', { rate: around(8000), tripNs: around(100), calls: 0 });
  const pipe = result('pipe', { rate: around(1000), tripNs: around(20_000), ns: { 'p99.9': 200_000 } });
  const run = runOf([pipe, ring]);

  test('throughput names the most and the least, and their ratio', () => {
    expect(explainCharts(run).throughput).toBe('ring carries 8,000 messages per second, 8.00 times as many as pipe.');
  });

  test('throughput calls a tie a tie', () => {
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

  test('crossings claim nothing that was not counted', () => {
    const uncounted = result('pipe', { calls: null });
    expect(explainCharts(runOf([uncounted])).crossings).toMatch(/could not be counted/);
    expect(explainCharts(runOf([ring])).crossings).toBe('Without system calls: ring, 100 ns per round trip.');
    expect(explainCharts(runOf([pipe])).crossings).toBe('With 4 system calls: pipe, 20.0 µs per round trip.');
  });

  test('one mechanism alone is compared with nothing', () => {
    const sentences = Object.values(explainCharts(runOf([pipe])));
    for (const sentence of sentences) expect(sentence).toMatch(/^(pipe|[A-Z].*pipe).*\.$/);
  });
});
