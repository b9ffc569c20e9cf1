'use strict';
// The output of crossings-bench, which other programs may read without Node.
const { eventsOf, run } = require('./support.js');

const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];
const small = (/** @type {string} */ mechanism) => ['--mechanism', mechanism, '--messages', 2000, '--round-trips', 300];

test('--list names every mechanism with its title and source file', () => {
  const { status, stdout } = run('crossings-bench', ['--list']);
  expect(status).toBe(0);
  const usual = eventsOf(stdout).filter(({ special }) => !special);
  expect(usual.map(({ name }) => name)).toEqual(MECHANISMS);
  for (const event of eventsOf(stdout)) {
    expect(event).toMatchObject({
      type: 'mechanism',
      title: expect.any(String),
      source: expect.stringMatching(/\.c$/),
    });
  }
});

test('--describe shows the cores, the chosen ones, the clock and the compiler', () => {
  const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);
  expect(machine.cpus.length).toBeGreaterThan(0);
  expect(machine).toMatchObject({
    type: 'machine',
    pinnedCores: [expect.any(Number), expect.any(Number)],
    placement: expect.any(String),
    compiler: expect.stringMatching(/^(gcc|clang) \d/),
  });
  expect(['tsc', 'cntvct', 'clock_monotonic']).toContain(machine.clock.source);
  expect(machine.clock.overheadNs).toBeGreaterThan(0);
});

describe.each(MECHANISMS)('%s', (mechanism) => {
  const { status, stdout, stderr } = run('crossings-bench', small(mechanism));
  const events = eventsOf(stdout);
  const the = (/** @type {string} */ type) => events.find((event) => event.type === type);

  test('exits with status 0 and prints only complete lines of JSON', () => {
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.endsWith('\n')).toBe(true);
    expect(events[0].type).toBe('begin');
    expect(events.at(-1)).toEqual({ type: 'end' });
  });

  test('reports progress from 0 to the end in each pass', () => {
    for (const pass of ['throughput', 'roundTrip']) {
      const steps = events.filter((event) => event.type === 'progress' && event.pass === pass);
      expect(steps[0].done).toBe(0);
      expect(steps.at(-1).done).toBe(steps.at(-1).of);
    }
  });

  test('prints consistent throughput figures', () => {
    const { messages, elapsedNs, messagesPerSecond, bytesPerSecond } = the('throughput');
    expect(messages).toBe(2000);
    expect(messagesPerSecond).toBeCloseTo((messages / elapsedNs) * 1e9, 0);
    expect(bytesPerSecond / messagesPerSecond).toBeCloseTo(64, 3);
  });

  test('prints every round trip and their exact percentiles', () => {
    const { count, ns, values } = the('roundTrip');
    const all = values.flatMap((/** @type {number[]} */ [value, times]) => Array(times).fill(value));
    expect(all).toHaveLength(count);
    expect(count).toBe(300);
    expect([...all].sort((a, b) => a - b)).toEqual(all);
    // Nearest rank: of 300 sorted samples, the 150th is the median and the 297th the 99th percentile.
    for (const [name, rank] of Object.entries({ min: 1, p50: 150, p90: 270, p99: 297, max: 300 })) {
      expect(Math.abs(ns[name] - all[rank - 1])).toBeLessThanOrEqual(0.5);
    }
  });

  test('measures both floors in the same run', () => {
    expect(the('floors').syscallNs).toBeGreaterThan(0);
    const { pinnedCores } = the('begin');
    if (pinnedCores[0] !== pinnedCores[1]) expect(the('floors').cacheLineRoundTripNs).toBeGreaterThan(0);
  });
});

test.each([8, 9, 15, 16, 17, 63, 65, 4096, 65536, 1 << 20])(
  'messages of %i bytes arrive intact over every mechanism',
  (size) => {
    for (const mechanism of MECHANISMS) {
      const { status, stderr } = run('crossings-bench', [
        ...['--mechanism', mechanism, '--size', size, '--messages', 20, '--round-trips', 20, '--warm-up', 0],
        '--no-floors',
      ]);
      expect({ mechanism, status, stderr }).toEqual({ mechanism, status: 0, stderr: '' });
    }
  },
);

test('on one core, every mechanism works and the cache-line floor is null', () => {
  const core = eventsOf(run('crossings-bench', ['--describe']).stdout)[0].cpus[0].id;
  for (const mechanism of MECHANISMS) {
    const { status, stdout } = run('crossings-bench', [...small(mechanism), '--cores', `${core},${core}`]);
    expect({ mechanism, status }).toEqual({ mechanism, status: 0 });
    const floors = eventsOf(stdout).find(({ type }) => type === 'floors');
    expect(floors.cacheLineRoundTripNs).toBeNull();
  }
});

test('every mechanism works without pinning', () => {
  for (const mechanism of MECHANISMS) {
    const { status, stdout } = run('crossings-bench', [...small(mechanism), '--no-pin']);
    expect({ mechanism, status }).toEqual({ mechanism, status: 0 });
    expect(eventsOf(stdout)[0]).toMatchObject({ placement: 'not pinned' });
  }
});

test('the checksum of the same messages is the same for every mechanism', () => {
  const sums = MECHANISMS.map((mechanism) => {
    const { stdout } = run('crossings-bench', [...small(mechanism), '--round-trips', 0]);
    return eventsOf(stdout).find(({ type }) => type === 'throughput').checksum;
  });
  expect(new Set(sums).size).toBe(1);
});
