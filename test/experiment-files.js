'use strict';
// Files of every experiment as its command writes them, made up, for the tests of the pages. Their shapes are checked against the
// schemas in test/browser-experiments.test.js.

const ENVIRONMENT = {
  cpu: 'Test CPU',
  cores: 2,
  architecture: 'x64',
  kernel: 'Linux 6.0.0',
  virtualization: 'none',
  compiler: 'gcc 14.2.0',
  node: 'v24.0.0',
  pinnedCores: [0, 1],
  placement: 'two different cores',
  clock: { source: 'tsc', overheadNs: 8.25, resolutionNs: 1, ticksPerSecond: 2_000_000_000 },
  warnings: ['This machine is made up.'],
};

/** @typedef {{id: string, effort: string, startedAt?: string, [choice: string]: any}} Options */

/** @param {string} name @param {Options} options @param {object} parameters */
const head = (name, { id, effort, startedAt = new Date().toISOString() }, parameters) => ({
  schema: `crossings/${name}/1`,
  id,
  startedAt,
  tool: { version: '0.0.0' },
  environment: ENVIRONMENT,
  parameters: { effort, seconds: 12.3, ...parameters },
});

/** @param {number} median */
const figure = (median) => ({ median, low: median - Math.abs(median) * 0.1, high: median + Math.abs(median) * 0.1 });

const PARTS = /** @type {[string, string, number | null][]} */ ([
  ['crossings', 'Crossings', 600],
  ['copies', 'Copies', 40],
  ['own-code', "The mechanism's own code", 2000],
  ['between-cores', 'Moving between cores', -300],
  ['sleep-and-wake', 'Sleeping and waking', 1500],
  ['wake-other-core', 'Waking the other core', 8000],
  ['idle-exit', 'Leaving idle', null],
]);
const CONFIGURATIONS = ['two-cores', 'two-cores-awake', 'one-core', 'polling', 'alone'];

/** @param {string} mechanism */
const oneBill = (mechanism) => ({
  mechanism,
  title: mechanism,
  roundTripNs: figure(12_000),
  parts: PARTS.map(([name, title, ns]) => ({
    name,
    title,
    ns: ns === null ? null : figure(ns),
    share: ns === null ? null : figure(ns / 12_000),
    how: 'by taking one thing away',
    reason: ns === null ? 'SCHED_IDLE is not permitted' : null,
  })),
  remainderNs: 0,
  waitingShare: figure(0.8),
  floors: { syscallNs: 150, copyNs: 10, cacheLineRoundTripNs: 120 },
  crossings: { perRoundTrip: 4, method: 'ptrace' },
  configurations: CONFIGURATIONS.map((name) => ({
    name,
    what: name,
    options: [],
    ns: figure(12_000),
    samples: [12_000],
    crossingsPerRoundTrip: 4,
    reason: null,
  })),
});

/** @param {Options} options */
const bill = (options) => ({
  ...head('bill', options, { sizeBytes: 64, rounds: 7 }),
  ...oneBill(options.mechanism ?? 'pipe'),
  others: [],
  sentences: ['The crossings are 5.0 % of the round trip.', 'Waking the other core is most of it.'],
  verdict: 'held',
});

const SIZES = [32, 1024, 32_768, 1_048_576, 16_777_216];
const SWEPT = {
  totalBytes: 16_777_216,
  maxWrites: 0,
  samples: 2,
  seed: 1,
  sizes: SIZES,
  mechanisms: ['pipe', 'socketpair', 'uds', 'tcp', 'ring'],
  modes: ['process'],
};

/** @param {Options} options */
function sweep(options) {
  const points = ['pipe', 'socketpair', 'uds', 'tcp', 'ring'].flatMap((mechanism, m) =>
    ['default', ...(m < 2 ? ['matched'] : [])].flatMap((buffers) =>
      SIZES.map((sizeBytes, i) => {
        const median = (m + 1) * 1e6 * sizeBytes ** 0.5 * (buffers === 'matched' ? 0.9 : 1);
        const bytes = Math.min(sizeBytes, 65_536);
        const count = 16_777_216 / bytes;
        return {
          mechanism,
          mode: 'process',
          buffers,
          sizeBytes,
          totalBytes: 16_777_216,
          bytesPerSecond: { median, q1: median * 0.9, q3: median * (1.1 + i / 10), samples: [median * 0.9, median] },
          granted: { sendBytes: 65_536, receiveBytes: 65_536 },
          reads: { count, sizes: [{ bytes, count }] },
        };
      }),
    ),
  );
  const answers = [
    { name: 'rise-and-fall', question: 'Does bandwidth rise and then fall?', verdict: 'held', p: 0.0001 },
    { name: 'pipes-and-sockets', question: 'Are pipes faster than sockets?', verdict: 'failed', p: 0.04 },
    { name: 'probe-effect', question: 'Does instrumentation keep the shape?', verdict: 'unknown', p: null },
  ].map((answer) => ({ text: 'It is so.', test: 'a rank test', ...answer }));
  return {
    ...head('sweep', options, SWEPT),
    cpuCaches: { l1d: 49_152, l2: 2_097_152, l3: null },
    points,
    answers,
    probe: null,
    counters: null,
    sentences: [...answers.map(({ question }) => `${question} It is so.`), 'Larger buffers make no larger reads.'],
    verdict: 'partly',
  };
}

/** @param {Options} options */
function cycles(options) {
  const documents = /** @type {Record<string, number>} */ ({ 'function-call': 12, ring: 150, pipe: 610 });
  const row = (/** @type {[string, string, number]} */ [name, kind, value]) => ({
    name,
    kind,
    title: `The ${name}`,
    cycles: value,
    ns: value / 2,
    interval: figure(value),
    intervalNs: figure(value / 2),
    overCall: kind === 'call' ? null : figure(value / 10),
    overFloor: null,
    crossings: kind === 'mechanism' ? 4 : null,
    document: documents[name] ? { cycles: documents[name], name: 'theirs', overCall: documents[name] / 12 } : null,
    samplesNs: [value / 2],
  });
  const rows = /** @type {[string, string, number][]} */ ([
    ['function-call', 'call', 10],
    ['cache-line', 'floor', 240],
    ['ring', 'mechanism', 290],
    ['ring-auth', 'mechanism', 480],
    ['pipe', 'mechanism', 30_000],
  ]).map(row);
  return {
    ...head('cycles', options, { sizeBytes: 64, samples: 6 }),
    cycle: { source: 'tsc', GHz: 2, coreGHz: 3 },
    document: { number: '002', machine: 'their machine' },
    missing: [],
    rows,
    sentences: ['The ring takes 290 cycles.'],
    verdict: 'failed',
  };
}

/** @param {Options} options */
function prove(options) {
  const common = { messages: 1000, filterInForce: true, allowed: ['write', 'exit_group'], sides: [] };
  const proofs = [
    { name: 'c-ring', title: 'Ring in C', kind: 'proof', wanted: null, survived: true },
    { name: 'pipe-control', title: 'A pipe', kind: 'control', wanted: 'write', survived: false, killedBy: 'write' },
    {
      name: 'node-try',
      title: 'Node',
      kind: 'proof',
      wanted: null,
      survived: null,
      reason: 'seccomp is not permitted',
    },
  ].map((proof) => ({ ...common, ...proof }));
  const instructions = [{ address: '6d30', text: 'mov 0x20(%rdi),%ecx' }];
  const lines = [{ file: 'native/ring.h', line: 170, source: 'publish(frame);', instructions }];
  const functions = [{ name: 'ring_put', instructions: 1, calls: [], lines }];
  return {
    ...head('prove', options, { messages: 1000, limitMs: 100 }),
    proofs,
    disassembly: { tool: 'objdump', architecture: 'x64', functions, violations: [] },
    sentences: ['These proofs survived: see `npx crossings-lab prove --disassembly`.', 'The control was killed.'],
    verdict: 'partly',
  };
}

const PERCENTILES = /** @type {Record<string, number>} */ ({
  min: 90,
  p50: 100,
  p90: 120,
  p99: 200,
  'p99.9': 1000,
  'p99.99': 20_000,
  max: 1_000_000,
  mean: 130,
  standardDeviation: 50,
});

/** @param {number} times */
function loop(times) {
  const ns = Object.fromEntries(Object.entries(PERCENTILES).map(([name, value]) => [name, value * times]));
  const shown = ['p50', 'p90', 'p99', 'p99.9', 'p99.99'];
  return {
    ns,
    intervals: Object.fromEntries(shown.map((name) => [name, figure(ns[name])])),
    roundTripsPerSecond: figure(9e6 / times),
    distribution: [[0, ns.min, 1], ...shown.map((name, i) => [Number(name.slice(1)), ns[name], i]), [100, ns.max, 9]],
    disturbedShare: 0.01,
  };
}

/** @param {Options} options */
const latency = (options) => ({
  ...head('latency', options, {
    sizeBytes: 32,
    samples: 1000,
    rounds: 6,
    warmUp: 10,
    realtime: false,
    mlock: false,
    ratePerSecond: 1000,
  }),
  sizeBytes: 32,
  samples: 1000,
  ...loop(1),
  oneWayEstimateNs: 50,
  floorNs: figure(80),
  overFloor: figure(1.25),
  clock: {
    source: 'tsc',
    ticksPerSecond: 2_000_000_000,
    tickNs: 0.5,
    resolutionNs: 1,
    overheadNs: 8,
    shareOfP50: 0.08,
    calibrations: [2_000_000_000],
    spreadPpm: 1,
  },
  paced: { ratePerSecond: 1000, shareOfClosedLoop: 0.1, ...loop(3), serviceNs: PERCENTILES },
  document: {
    number: '004',
    machine: 'their machine',
    conditions: 'pinned',
    sizeBytes: 32,
    samples: 1_000_000,
    ns: { min: 51.3, p50: 56.5, p90: 101.2, p99: 112.4, 'p99.9': 122, 'p99.99': 467.3, max: 4938 },
    oneWayEstimateNs: 28.3,
    roundTripsPerSecond: 13_229_000,
    clockOverheadNs: 0.37,
  },
  sentences: ['Half of the round trips take at most 100 ns.'],
  verdict: 'failed',
});

const FILES = { bill, prove, sweep, cycles, latency };

/**
 * Experiments that measure nothing: each sends its file part by part, as often as the test lets it.
 * @param {(control: any, send: () => void) => Promise<void>} work called for every run; send sends the file so far
 */
const fakeExperiments = (work) =>
  Object.entries(FILES).map(([name, make]) => ({
    name,
    title: `The ${name}`,
    document: '000',
    claim: `The document claims something about ${name}.`,
    question: `What does ${name} show?`,
    choices: name === 'bill' ? { mechanism: ['pipe', 'uds'], size: ['32', '64'] } : {},
    argument: name === 'bill' ? 'mechanism' : undefined,
    /** @param {any} options @param {any} control */
    async run(options, control) {
      const file = make({ ...options, id: control.id });
      control.onProgress({ fraction: 0.1, doing: 'round 1' });
      await work(control, () => control.onPartial({ ...file, sentences: [], verdict: 'unknown' }));
      control.signal.throwIfAborted();
      return file;
    },
    render: () => '',
    csv: () => '',
  }));

module.exports = { FILES, fakeExperiments };
