'use strict';
// The three questions of document 001, on constructed data whose answers are known.
const { answerRiseAndFall, curvesOf } = require('../lib/experiments/sweep/curves.js');
const { answerPipesAndSockets } = require('../lib/experiments/sweep/pipes-and-sockets.js');
const { answerProbeEffect } = require('../lib/experiments/sweep/probe-effect.js');
const { plateauOf, verdictOf } = require('../lib/experiments/sweep/sentences.js');
const { summarize } = require('../lib/measure/statistics.js');

const SIZES = [64, 256, 1024, 4096, 16384, 65536];

/** Values around a level, all different. @param {number} level @param {number} count */
const around = (level, count) =>
  Array.from({ length: count }, (_, i) => level * (1 + ((i * 7 + level) % 13) / 1000 + i / 1e6));

/**
 * @param {string} mechanism
 * @param {number[]} levels one for each size
 * @param {{count?: number, mode?: 'process' | 'thread'}} [options]
 * @returns {any[]}
 */
const pointsOf = (mechanism, levels, { count = 12, mode = 'process' } = {}) =>
  levels.map((level, i) => {
    const samples = around(level, count);
    const bytesPerSecond = { ...summarize(samples), samples };
    const reads = { count: 16, sizes: [{ bytes: Math.min(SIZES[i], 4096), count: 16 }] };
    return { mechanism, mode, buffers: 'default', sizeBytes: SIZES[i], bytesPerSecond, reads };
  });

describe('does bandwidth rise and then fall?', () => {
  test('a curve with a peak does, and the peak is found', () => {
    const answer = answerRiseAndFall(curvesOf(pointsOf('pipe', [10, 30, 60, 90, 70, 40])));
    expect(answer).toMatchObject({ verdict: 'held' });
    expect(answer.p).toBeLessThan(0.001);
    expect(answer.curves[0]).toMatchObject({ peakBytes: 4096, peakFromBytes: 4096, peakToBytes: 4096 });
  });

  test('a curve that only rises does not', () => {
    const answer = answerRiseAndFall(curvesOf(pointsOf('pipe', [10, 20, 30, 40, 50, 60])));
    expect(answer).toMatchObject({ verdict: 'failed', p: 1 });
    expect(answer.curves[0]).toMatchObject({ rises: true, falls: false });
    expect(answer.text).toContain('Only a rise is detectable in 1.');
  });

  test('a flat curve has a peak by chance only, which is not called a rise or a fall', () => {
    const answer = answerRiseAndFall(curvesOf(pointsOf('pipe', [50, 50.1, 50, 50.2, 50.1, 50])));
    expect(answer.curves[0]).toMatchObject({ rises: false, falls: false, peakFromBytes: 64, peakToBytes: 65536 });
  });

  test('of two curves, one with a peak and one without, it holds in part', () => {
    const points = [...pointsOf('pipe', [10, 30, 60, 90, 70, 40]), ...pointsOf('uds', [10, 20, 30, 40, 50, 60])];
    expect(answerRiseAndFall(curvesOf(points)).verdict).toBe('partly');
  });

  test('the p-value is corrected for choosing the peak: exactly the test of the largest size, times five', () => {
    // 6 against 6 samples without overlap: one arrangement of 924.
    const [shape] = answerRiseAndFall(curvesOf(pointsOf('pipe', [10, 30, 60, 90, 70, 40], { count: 6 }))).curves;
    expect(shape.fallP).toBeCloseTo(5 / 924, 12);
  });

  test('too few samples are reported as undecided, not as a flat curve', () => {
    const answer = answerRiseAndFall(curvesOf(pointsOf('pipe', [10, 30, 60, 90, 70, 40], { count: 3 })));
    expect(answer.verdict).toBe('unknown');
    expect(answer.text).toContain('take more samples');
  });

  test('two sizes are not enough', () => {
    expect(answerRiseAndFall(curvesOf(pointsOf('pipe', [1, 2])))).toMatchObject({ verdict: 'unknown', p: null });
  });
});

describe('are pipes faster than sockets?', () => {
  const sockets = [10, 20, 30, 40, 50, 60];

  test('pipes twice as fast at every size are 100 % faster, with the smallest p-value of six pairs', () => {
    const points = [...pointsOf('pipe', sockets), ...pointsOf('socketpair', sockets)];
    for (const { mechanism, bytesPerSecond } of points) {
      if (mechanism === 'pipe') bytesPerSecond.median *= 2;
    }
    const answer = answerPipesAndSockets(curvesOf(points));
    expect(answer.verdict).toBe('held');
    expect(answer.overall?.typicalPercent).toBeCloseTo(100, 6);
    expect(answer.text).toContain('100 % faster');
  });

  test('faster sockets contradict the document', () => {
    const points = [
      ...pointsOf('pipe', sockets),
      ...pointsOf(
        'socketpair',
        sockets.map((level, i) => level * (1.5 + i / 10)),
      ),
    ];
    expect(answerPipesAndSockets(curvesOf(points)).verdict).toBe('failed');
  });

  test('a difference that changes its sign is undetected', () => {
    const points = [
      ...pointsOf('pipe', sockets),
      ...pointsOf(
        'socketpair',
        sockets.map((level, i) => level * [1.2, 0.8, 1.3, 0.75, 1.1, 0.92][i]),
      ),
    ];
    const answer = answerPipesAndSockets(curvesOf(points));
    expect(answer.verdict).toBe('unknown');
    expect(answer.text).toContain('No difference between pipes and socket pairs is detectable');
  });

  test('with pairs too few for any verdict, the text says so', () => {
    const points = [...pointsOf('pipe', [30, 40, 50]), ...pointsOf('socketpair', [10, 21, 33])];
    expect(answerPipesAndSockets(curvesOf(points)).text).toContain(
      'With 3 pairs the smallest possible p-value is 0.25',
    );
  });

  test('a sweep without sockets leaves the question open', () => {
    expect(answerPipesAndSockets(curvesOf(pointsOf('pipe', sockets)))).toMatchObject({ verdict: 'unknown', p: null });
  });
});

describe('does instrumentation change the level, but not the shape?', () => {
  const configuration = /** @type {const} */ ({ mechanism: 'pipe', mode: 'thread', buffers: 'default' });
  const levels = [100, 200, 400, 600, 500, 300];
  /** Twelve rounds; the noise of a round differs from size to size. @param {number[]} of @param {number} phase */
  const rounds = (of, phase, count = 12) =>
    Array.from({ length: count }, (_, round) =>
      of.map((level, i) => level * (1 + Math.sin(round * 5 + i * 3 + phase) / 50)),
    );

  test('a line at half the height has the same shape, 50 % lower', () => {
    const raw = rounds(levels, 0);
    const instrumented = rounds(
      levels.map((level) => level / 2),
      2,
    );
    const answer = answerProbeEffect(configuration, SIZES, [{ instrument: 'tracing', raw, instrumented }], []);
    expect(answer.verdict).toBe('held');
    expect(answer.effects[0]).toMatchObject({ differing: 0, rawPeakBytes: 4096, instrumentedPeakBytes: 4096 });
    expect(answer.effects[0].levelPercent).toBeCloseTo(-50, 0);
  });

  test('a price per call slows small buffers only, and so changes the shape', () => {
    const raw = rounds(levels, 0);
    const instrumented = rounds([5, 20, 80, 300, 450, 295], 2);
    const answer = answerProbeEffect(configuration, SIZES, [{ instrument: 'tracing', raw, instrumented }], []);
    expect(answer.verdict).toBe('failed');
    expect(answer.effects[0].instrumentedPeakBytes).toBe(16384);
    expect(answer.text).toContain('the peak moves from 4 KiB to 16 KiB');
  });

  test('with four rounds no difference could be detected, and the text says so', () => {
    const probed = { instrument: 'tracing', raw: rounds(levels, 0, 4), instrumented: rounds(levels, 2, 4) };
    const answer = answerProbeEffect(configuration, SIZES, [probed], []);
    expect(answer.verdict).toBe('unknown');
    expect(answer.text).toContain('With 4 pairs per size, no difference could survive the correction');
  });

  test('two sizes have no shape', () => {
    const probed = { instrument: 'tracing', raw: rounds([1, 2], 0), instrumented: rounds([1, 2], 2) };
    expect(answerProbeEffect(configuration, [64, 256], [probed], [])).toMatchObject({ verdict: 'unknown', p: null });
  });

  test('where every instrument is refused, the question stays open and the reasons are given', () => {
    const answer = answerProbeEffect(configuration, SIZES, [], ['Not possible here: tracing by ptrace (denied).']);
    expect(answer).toMatchObject({ verdict: 'unknown', p: null, effects: [] });
    expect(answer.text).toContain('tracing by ptrace (denied)');
  });
});

test('a plateau is found where reads stop growing', () => {
  const [curve] = curvesOf(pointsOf('pipe', [1, 2, 3, 4, 4, 4]));
  expect(plateauOf(curve)).toEqual({ fromBytes: 16384, bytes: 4096, count: 16 });
});

test.each([
  [['held', 'held', 'held'], 'held'],
  [['held', 'failed', 'held'], 'partly'],
  [['held', 'unknown'], 'partly'],
  [['failed', 'failed'], 'failed'],
  [['unknown', 'unknown'], 'unknown'],
])('answers %p make the verdict %s', (verdicts, verdict) => {
  expect(verdictOf(verdicts.map((one) => /** @type {any} */ ({ verdict: one })))).toBe(verdict);
});
