'use strict';
// Comparing runs: verdicts on synthetic samples, the sentences, and the command.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { compareCommand } = require('../lib/bench/compare/command.js');
const schema = require('../lib/bench/compare/compare.schema.json');
const { compareRuns } = require('../lib/bench/compare/runs.js');
const { answer, comparePairs, compareSets, smallestP } = require('../lib/bench/compare/verdicts.js');
const { randomNumbers } = require('../lib/measure/bootstrap.js');
const { testInCi } = require('./in-ci.js');
const { around, result, runOf } = require('./run-files.js');
const { cli } = require('./support.js');

const validate = new Ajv({ strict: false }).compile(schema);
const folder = mkdtempSync(join(tmpdir(), 'compare-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** @typedef {import('./run-files.js').Figures} Figures */

/** @param {Figures} a @param {Figures} b */
const comparePipes = (a, b) => compareRuns([runOf([result('pipe', a)])], [runOf([result('pipe', b)])]);

/** A standard normal variable, by the polar method of Box and Muller. @param {() => number} next */
const normal = (next) => Math.sqrt(-2 * Math.log((next() + 1) / 2 ** 32)) * Math.cos((2 * Math.PI * next()) / 2 ** 32);

describe('one run against another', () => {
  test.each([
    [{ tripNs: around(1000) }, { tripNs: around(1300) }, 'slower', 'round trip 30 % slower (1.00 µs → 1.30 µs;'],
    [{ tripNs: around(1000) }, { tripNs: around(750) }, 'faster', 'round trip 25 % faster (1.00 µs → 750 ns;'],
    [{ tripNs: around(1000) }, { tripNs: around(3000) }, 'slower', 'round trip 3.00 times as long (1.00 µs → 3.00 µs;'],
    [{ tripNs: around(1000) }, { tripNs: around(1010) }, 'undetected', 'No detectable difference: pipe.'],
    [{ tripNs: [1000, 1000] }, { tripNs: [5000, 5000] }, 'undetected', 'No detectable difference: pipe.'],
  ])('with round trips of %j and %j: %s', (a, b, verdict, sentence) => {
    const { mechanisms, sentences } = comparePipes(a, b);
    expect(mechanisms[0].roundTrip).toMatchObject({ verdict });
    expect(sentences[1]).toContain(sentence);
  });

  test.each([
    [around(100), around(150), 'faster', 'throughput 50 % higher'],
    [around(100), around(400), 'faster', 'throughput 4.00 times as high'],
    [around(100), around(25), 'slower', 'throughput 75 % lower'],
  ])('with %j and %j messages per second: %s', (a, b, verdict, sentence) => {
    const { mechanisms, sentences } = comparePipes({ rate: a }, { rate: b });
    expect(mechanisms[0].throughput).toMatchObject({ verdict });
    expect(sentences[1]).toContain(`pipe: ${sentence} (95 % interval of the ratio `);
  });

  test('gets no verdict on a difference that two runs of one program can show, and says so', () => {
    const { mechanisms, sentences, caution } = comparePipes({ tripNs: around(1000) }, { tripNs: around(1080) });
    expect(mechanisms[0].roundTrip?.adjustedP).toBeLessThan(0.05);
    expect(mechanisms[0].roundTrip?.verdict).toBe('undetected');
    expect(sentences[1]).toMatch(
      /^pipe: no verdict \(round trip 8.0 % higher, .* identical programs can differ by up to 10 % here\.$/,
    );
    expect(caution).toContain('here there is one run on each side');
  });

  test('in a virtual machine must differ by more', () => {
    const virtual = { environment: { virtualization: 'KVM' } };
    const [a, b] = [around(1000), around(1200)].map((tripNs) => runOf([result('pipe', { tripNs })], virtual));
    expect(compareRuns([a], [b]).mechanisms[0].roundTrip).toMatchObject({ verdict: 'undetected', noise: 0.25 });
    expect(compareRuns([a], [b], { noise: 0.05 }).mechanisms[0].roundTrip).toMatchObject({
      verdict: 'slower',
      noise: 0.05,
    });
    expect(compareRuns([a], [b]).caution).toContain('The speed of a virtual machine or container changes');
  });

  test('gets no verdict if other processes used the machine, and says so', () => {
    const busy = { environment: { otherWork: 0.4 } };
    const compared = compareRuns(
      [runOf([result('pipe', {})])],
      [runOf([result('pipe', { tripNs: around(3000) })], busy)],
    );
    expect(compared.mechanisms[0].roundTrip).toMatchObject({ verdict: 'undetected', ratio: 3 });
    expect(compared.caution).toContain('Other processes used the machine during one of the runs');
    expect(compared.sentences[1]).toMatch(/^pipe: no verdict \(round trip 200 % higher, [^()]*\)\.$/);
  });

  test('must differ by more than the samples of one run do', () => {
    const wide = [700, 800, 900, 1000, 1100, 1200, 1300];
    const [a, b] = [1, 1.3].map((factor) => runOf([result('pipe', { tripNs: wide.map((ns) => ns * factor) })]));
    const compared = compareRuns([a], [b]);
    expect(compared.mechanisms[0].roundTrip?.noise).toBeCloseTo(1150 / 850 - 1, 12);
  });

  test('has the medians, their ratio, its interval and the p-values in its file, which follows its schema', () => {
    const comparison = comparePipes({ tripNs: around(1000) }, { tripNs: around(1500) });
    const { roundTrip } = comparison.mechanisms[0];
    expect(roundTrip).toMatchObject({
      a: 1000,
      b: 1500,
      ratio: 1.5,
      p: 2 / 3432,
      adjustedP: 4 / 3432,
      observations: [7, 7],
    });
    expect(roundTrip?.low).toBeGreaterThan(1.4);
    expect(roundTrip?.high).toBeLessThan(1.6);
    expect(validate(comparison) ? [] : validate.errors).toEqual([]);
  });

  test('of samples with only an overall median still has a ratio', () => {
    const [a, b] = [runOf([result('pipe', {})]), runOf([result('pipe', {})])];
    for (const run of [a, b]) delete run.results[0].roundTrip.sampleP50Ns;
    expect(compareRuns([a], [b]).mechanisms[0].roundTrip).toMatchObject({ ratio: 1, verdict: 'undetected' });
  });

  test('names a mechanism of only one run instead of comparing it', () => {
    const both = compareRuns(
      [runOf([result('pipe', {}), result('tcp', {})])],
      [runOf([result('pipe', {}), result('uds', {}), result('ring', {})])],
    );
    expect(both.mechanisms.map(({ mechanism }) => mechanism)).toEqual(['pipe']);
    expect(both.sentences.slice(-2)).toEqual([
      'Only the baseline includes tcp.',
      'Only the candidate includes uds and ring.',
    ]);
  });

  test('compares a mechanism that was measured at several sizes size by size', () => {
    const sizes = (/** @type {number} */ factor) =>
      runOf([32, 64].map((sizeBytes) => ({ ...result('pipe', { tripNs: around(sizeBytes * factor) }), sizeBytes })));
    const { mechanisms, sentences } = compareRuns([sizes(1)], [sizes(2)]);
    expect(mechanisms.map(({ sizeBytes, roundTrip }) => [sizeBytes, roundTrip?.ratio])).toEqual([
      [32, 2],
      [64, 2],
    ]);
    expect(sentences.join(' ')).toContain('pipe, 32 bytes: round trip 2.00 times as long');
  });

  test('states a difference in system calls, which are counted exactly', () => {
    const { sentences } = comparePipes({ calls: [4, 2] }, { calls: [6, 3] });
    expect(sentences).toContain(
      'pipe makes 6 system calls per round trip instead of 4 and 3 system calls per message instead of 2.',
    );
    expect(comparePipes({ calls: [4, 2] }, { calls: [4.1, 2] }).sentences.join(' ')).not.toContain('system calls per');
  });

  test.each([
    [
      'machines',
      { environment: { cpu: 'Two' } },
      'The machines differ: One, 2 cores (baseline), Two, 2 cores (candidate).',
    ],
    ['kernels', { environment: { kernel: 'BSD' } }, 'The kernels differ: Linux (baseline), BSD (candidate).'],
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
  ])('says first what differs besides the results: %s', (_what, differing, sentence) => {
    const { sentences, differences } = compareRuns(
      [runOf([result('pipe', {})])],
      [runOf([result('pipe', {})], differing)],
    );
    expect(differences).toEqual([sentence]);
    expect(sentences[0]).toBe(sentence);
  });

  test('warns of too few samples', () => {
    expect(comparePipes({ tripNs: [1, 2, 3] }, {}).caution).toContain('requires at least 5 samples on each side');
  });
});

describe('several runs on each side', () => {
  /** @param {() => number} next @param {{runs: number, factor?: number, betweenRuns?: number}} options */
  const sideOf = (next, { runs, factor = 1, betweenRuns = 0.15 }) =>
    Array.from({ length: runs }, () => {
      const level = 1000 * factor * Math.exp(betweenRuns * normal(next));
      return runOf([
        result('pipe', { tripNs: Array.from({ length: 10 }, () => level * Math.exp(0.02 * normal(next))) }),
      ]);
    });

  test('are the observations where there are enough of them', () => {
    const next = randomNumbers(3);
    const of = (/** @type {number} */ runs) => compareRuns(sideOf(next, { runs }), sideOf(next, { runs })).rule.unit;
    expect([of(1), of(4), of(5)]).toEqual(['samples', 'samples', 'runs']); // 2 questions: 2 / 252 * 2 < 5 %
    expect(smallestP(5, 5)).toBeCloseTo(2 / 252, 12);
  });

  test('widen the noise by what runs of one side have differed, where there are too few', () => {
    const [a, b] = [1000, 1400].map((ns) => runOf([result('pipe', { tripNs: around(ns) })]));
    const { roundTrip, throughput } = compareRuns([a, b], [a]).mechanisms[0];
    expect(roundTrip?.noise).toBeCloseTo(0.4, 12);
    expect(throughput?.noise).toBe(0.1);
  });

  testInCi('give false verdicts in at most 5 % of comparisons, although runs differ by more than their samples', () => {
    let [byRuns, bySamples] = [0, 0];
    for (let seed = 1; seed <= 80; seed++) {
      const next = randomNumbers(seed);
      const [a, b] = [sideOf(next, { runs: 6 }), sideOf(next, { runs: 6 })];
      if (compareRuns(a, b).mechanisms[0].roundTrip?.verdict !== 'undetected') byRuns++;
      // What happens without the noise between runs: one run a side, taken at its samples' word.
      if (compareRuns([a[0]], [b[0]], { noise: 0 }).mechanisms[0].roundTrip?.verdict !== 'undetected') bySamples++;
    }
    expect(byRuns / 80).toBeLessThanOrEqual(0.05);
    expect(bySamples / 80).toBeGreaterThan(0.5);
  });

  test('show a real difference', () => {
    const next = randomNumbers(4);
    const slower = compareRuns(
      sideOf(next, { runs: 6, betweenRuns: 0.02 }),
      sideOf(next, { runs: 6, factor: 1.15, betweenRuns: 0.02 }),
    );
    expect(slower.mechanisms[0].roundTrip?.verdict).toBe('slower');
    expect(slower.caution).toBeNull();
  });
});

describe('two builds in one run, 12 questions of 12 rounds', () => {
  /** One comparison of samples with drift, common disturbances and noise. @param {number} seed @param {number} factor */
  const verdictsOf = (seed, factor) => {
    const next = randomNumbers(seed);
    const questions = Array.from({ length: 12 }, () => {
      /** @type {number[]} */ const a = [];
      /** @type {number[]} */ const b = [];
      for (let round = 0; round < 12; round++) {
        const common = 1000 * (1 + round / 12) * Math.exp(0.2 * normal(next)); // the machine drifts, for both
        a.push(common * Math.exp(0.02 * normal(next)));
        b.push(common * factor * Math.exp(0.02 * normal(next)));
      }
      return { difference: comparePairs(a, b), better: /** @type {const} */ ('lower'), noise: 0.02 };
    });
    return answer(questions).map(({ verdict }) => verdict);
  };

  testInCi('give a false verdict on identical builds in at most 5 % of comparisons', () => {
    const wrong = Array.from({ length: 40 }, (_, seed) => verdictsOf(seed, 1)).filter((verdicts) =>
      verdicts.some((verdict) => verdict !== 'undetected'),
    );
    expect(wrong.length / 40).toBeLessThanOrEqual(0.05);
  });

  testInCi('find a slowdown of 10 % in each of 12 mechanisms', () => {
    const missed = Array.from({ length: 10 }, (_, seed) => verdictsOf(seed, 1.1))
      .flat()
      .filter((verdict) => verdict !== 'slower');
    expect(missed.length / 120).toBeLessThanOrEqual(0.05);
  });

  test('the ratio and its interval are of the pairs, not of the medians', () => {
    const a = [100, 200, 400, 800, 1600, 3200];
    const difference = comparePairs(
      a,
      a.map((value) => value * 1.1),
    );
    expect(difference.low).toBeCloseTo(1.1, 12);
    expect(difference.high).toBeCloseTo(1.1, 12);
    expect(
      compareSets(
        a,
        a.map((value) => value * 1.1),
      ).high,
    ).toBeGreaterThan(2);
  });
});

describe('crossings compare', () => {
  /** @param {string} name @param {unknown} content */
  function file(name, content) {
    const path = join(folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }
  const a = file('a.json', runOf([result('pipe', {}), result('ring', {})]));
  const b = file(
    'b.json',
    runOf([result('pipe', { tripNs: around(2000) }), result('ring', {})], { environment: { kernel: 'New' } }),
  );

  test('says what differs, then prints a table and the verdicts, and writes its file', () => {
    const json = join(folder, 'out.json');
    const { status, stdout, stderr } = cli(['compare', a, b, '--json', json]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const places = [
      'The kernels differ: Linux',
      'pipe, round trip ns',
      '4 questions (throughput and round trip of 2 mechanisms)',
      'pipe: round trip 2.00 times as long',
    ];
    expect(places.map((text) => stdout.indexOf(text)).every((place, i, all) => place > (all[i - 1] ?? -1))).toBe(true);
    const comparison = JSON.parse(readFileSync(json, 'utf8'));
    expect(validate(comparison) ? [] : validate.errors).toEqual([]);
    expect(comparison.mechanisms[0].roundTrip.verdict).toBe('slower');
    for (const line of stdout.split('\n').filter((text) => !text.startsWith('Wrote ')))
      expect(line.length).toBeLessThanOrEqual(100);
  });

  test('compares several runs on each side, of the mechanisms that are asked for', () => {
    const [as, bs] = [a, b].map((path) => {
      const run = JSON.parse(readFileSync(path, 'utf8'));
      const copies = [1, 2, 3, 4, 5].map((id) =>
        file(`${run.environment.kernel}-${id}.json`, { ...run, id: `run ${id}` }),
      );
      return copies.join(',');
    });
    const { status, stdout } = cli(['compare', as, bs, '--mechanism', 'pipe']);
    expect(status).toBe(0);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('rank test of the medians of whole runs');
    expect(stdout).not.toContain('ring');
  });

  test.each([
    [
      'a missing file',
      () => [a, join(folder, 'none.json')],
      'The candidate must be a run file written by bench --json; cannot read',
    ],
    ['a folder', () => [folder, b], 'it is a folder'],
    ['a run that is given twice', () => [a, `${b},${b}`], 'The candidate must be different runs; "'],
    ['a device', () => ['/dev/zero', b], 'it is not a regular file'],
    ['not JSON', () => [file('text.json', 'hello'), b], 'is not valid JSON.'],
    ['NaN', () => [file('nan.json', '{"schema": NaN}'), b], 'is not valid JSON.'],
    ['deep nesting', () => [file('deep.json', '['.repeat(1e6)), b], 'is not valid JSON.'],
    ['null', () => [file('null.json', 'null'), b], 'has no schema; expected "crossings/run/1".'],
    [
      'another schema',
      () => [file('other.json', { schema: 'crossings/trace/1' }), b],
      'has the schema "crossings/trace/1"',
    ],
    [
      'nothing but a schema',
      () => [file('bare.json', { schema: 'crossings/run/1' }), b],
      'does not follow its schema: id: ',
    ],
    [
      'no samples',
      () => [file('empty.json', runOf([result('pipe', { tripNs: [] })])), b],
      'does not follow its schema: results[0].roundTrip.sampleP50Ns: ',
    ],
    [
      'too many samples in all',
      () => {
        const runs = Array.from({ length: 51 }, (_, i) =>
          file(`large-${i}.json`, { ...runOf([result('pipe', { rate: Array(1000).fill(1) })]), id: `run ${i}` }),
        );
        return [a, runs.join(',')];
      },
      'The candidate must have at most 50,000 samples in all; it has 51,',
    ],
    [
      'too many samples',
      () => [file('many.json', runOf([result('pipe', { rate: Array(10_000).fill(1) })])), b],
      'does not follow its schema: results[0].throughput.messagesPerSecond.samples',
    ],
    [
      'too many values',
      () => [file('huge.json', runOf([result('pipe', { rate: Array(100_000).fill(1) })])), b],
      'is not a run file: it holds more than 100,000 values.',
    ],
    [
      'an infinite sample',
      () => [
        file('infinite.json', JSON.stringify(runOf([result('pipe', { rate: [12345] })])).replace('12345', '1e999')),
        b,
      ],
      'it holds the number Infinity; numbers must be from -1e+100 to 1e+100.',
    ],
    [
      'a sample of 0',
      () => [file('zero.json', runOf([result('pipe', { rate: [0] })])), b],
      'does not follow its schema: results[0].throughput.messagesPerSecond.samples[0]: ',
    ],
    [
      'a string as a sample',
      () => [file('string.json', runOf([result('pipe', { rate: /** @type {any} */ (['1']) })])), b],
      'does not follow its schema',
    ],
    [
      'a long name that the terminal would obey',
      () => {
        const run = runOf([result('pipe', {})]);
        run.results[0].crossings.byName = { [`\u001b[31m${'x'.repeat(1000)}`]: 'many' };
        return [file('name.json', run), b];
      },
      `does not follow its schema: results[0].crossings.byName.\uFFFD[31m${'x'.repeat(67)}: must be number.`,
    ],
    [
      'nothing in common',
      () => [file('tcp.json', runOf([result('tcp', {})])), b],
      'The baseline and the candidate have no mechanism in common.',
    ],
    [
      'an unknown mechanism',
      () => [a, b, '--mechanism', 'tcp'],
      '--mechanism must be a comma-separated list of pipe, ring; got "tcp".',
    ],
    [
      'noise that is no percentage',
      () => [a, b, '--noise', '0.1'],
      '--noise must be a percentage from 0% to 1000%, as in 10%; got "0.1".',
    ],
    [
      'a folder that does not exist',
      () => [a, b, '--json', '/nowhere/x.json'],
      '--json must be a file that can be written',
    ],
  ])('refuses %s in one sentence', async (_what, args, sentence) => {
    const error = await compareCommand()
      .parseAsync(args(), { from: 'user' })
      .then(
        () => null,
        (reason) => reason,
      );
    expect(error?.code).toBe('ERR_USAGE');
    expect(error.message).toContain(sentence);
    expect(error.message).not.toContain('\n');
  });

  test.each([
    [[a], "Missing required argument 'candidate'; see `npx crossings-lab compare --help`.\n"],
    [
      [a, '/none'],
      'The candidate must be a run file written by bench --json; cannot read "/none": no such file or directory.\n',
    ],
  ])('ends with status 2 and one sentence: %j', (args, sentence) => {
    expect(cli(['compare', ...args])).toEqual({ status: 2, stdout: '', stderr: sentence });
  });

  test('prints no control character of a file', () => {
    const { stdout } = cli([
      'compare',
      a,
      file('escape.json', runOf([result('pipe', {})], { environment: { kernel: '\u001b[2Jgone\u202e' } })),
    ]);
    expect(stdout).toContain('\uFFFD[2Jgone');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\u202e');
  });
});
