'use strict';
// Outliers, groups and drifts of samples are noticed, and rarely where there are none.
const { randomNumbers } = require('../lib/measure/bootstrap.js');
const { findDrift, findGroups, findOutliers } = require('../lib/measure/shape.js');
const { noticesOf, shapeOf } = require('../lib/bench/notices.js');

describe('outliers', () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 7.1.6 "What are outliers in the data?": 90 sorted values, of which
  // 1441 is a mild outlier and none is an extreme one (fences -75 to 1305 and -592.5 to 1822.5).
  const values = [
    30, 171, 184, 201, 212, 250, 265, 270, 272, 289, 305, 306, 322, 322, 336, 346, 351, 370, 390, 404, 409, 411, 436,
    437, 439, 441, 444, 448, 451, 453, 470, 480, 482, 487, 494, 495, 499, 503, 514, 521, 522, 527, 548, 550, 559, 560,
    570, 572, 574, 578, 585, 592, 592, 607, 616, 618, 621, 629, 637, 638, 640, 656, 668, 707, 709, 719, 737, 739, 752,
    758, 766, 792, 792, 794, 802, 818, 830, 832, 843, 858, 860, 869, 918, 925, 953, 991, 1000, 1005, 1068, 1441,
  ];
  test("agree with the NIST handbook's example", () => {
    expect(findOutliers(values)).toEqual({ mild: 1, severe: 0 });
    expect(findOutliers([...values, 2000])).toEqual({ mild: 1, severe: 1 });
  });

  test('are not looked for among few samples', () => {
    expect(findOutliers([1, 1, 1, 1, 1000])).toEqual({ mild: 0, severe: 0 });
    expect(findOutliers([])).toEqual({ mild: 0, severe: 0 });
  });
});

describe('a drift', () => {
  // Hollander and Wolfe, Nonparametric Statistical Methods (1973), p. 187: the lightness of canned tuna. R's
  // cor.test(method = "kendall") gives T = 26 of 36 pairs, tau = 0.4444, p = 0.1194.
  test("agrees with R's example of Kendall's test", () => {
    const lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1];
    const score = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8];
    const ordered = lightness
      .map((x, i) => [x, score[i]])
      .sort(([x], [y]) => x - y)
      .map(([, y]) => y);
    const { tau, p } = findDrift(ordered);
    expect(tau).toBeCloseTo(0.4444, 4);
    expect(p).toBeCloseTo(0.1194, 4);
    expect(findDrift([...ordered].reverse()).tau).toBeCloseTo(-0.4444, 4);
  });

  test('has a size', () => {
    const { change, tau } = findDrift(Array.from({ length: 11 }, (_, i) => 100 * 1.02 ** i));
    expect(change).toBeCloseTo(1.02 ** 10 - 1, 12);
    expect(tau).toBe(1);
  });

  test('is none where nothing changes, nor among one sample', () => {
    expect(findDrift([5, 5, 5, 5])).toEqual({ p: 1, tau: 0, change: 0 });
    expect(findDrift([5])).toEqual({ p: 1, tau: 0, change: 0 });
  });
});

describe('false alarms', () => {
  const next = randomNumbers(9);
  const uniform = () => (next() + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  /** @type {[string, () => number][]} */
  const sources = [
    ['flat', () => 1000 + 100 * uniform()],
    ['normal', () => 1000 + 50 * normal()],
    ['skewed', () => 1000 * Math.exp(0.5 * normal())],
    ['exponential', () => 100 - 100 * Math.log(uniform())],
  ];

  test.each(sources)('of groups and drifts are at most as frequent as their p-values say: %s', (_name, draw) => {
    for (const n of [6, 12, 30]) {
      const series = Array.from({ length: 1000 }, () => Array.from({ length: n }, draw));
      const share = (/** @type {(samples: number[]) => number} */ p) =>
        series.filter((samples) => p(samples) < 0.05).length / 1000;
      expect(share((samples) => findGroups(samples)?.p ?? 1)).toBeLessThan(0.055);
      expect(share((samples) => findDrift(samples).p)).toBeLessThan(0.07); // 5 %, give or take three standard errors
    }
  });
});

describe('notices', () => {
  const steady = [100, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.7, 99.3, 100.1, 99.9, 100.4];
  /** @param {number[]} tripNs @param {(number | null)[]} [floorNs] @param {number[]} [rates] */
  const noticesFor = (tripNs, floorNs = tripNs.map(() => null), rates = steady) =>
    noticesOf([
      {
        mechanism: 'pipe',
        throughput: { messagesPerSecond: { samples: rates } },
        roundTrip: { sampleP50Ns: tripNs },
        shape: { roundTrip: shapeOf(tripNs, floorNs), throughput: shapeOf(rates, floorNs) },
      },
    ]);
  const two = steady.map((value, i) => (i % 4 < 2 ? value * 10 : value * 14));

  test('a steady series has none', () => {
    expect(noticesFor(steady)).toEqual([]);
  });

  test('two groups are described, with how often the series changed between them', () => {
    expect(noticesFor(two)).toEqual([
      'The samples of pipe (round trip) form two groups, 6 near 1.00 µs and 6 near 1.40 µs, with 5 changes between them ' +
        'during the run. The median describes neither.',
    ]);
  });

  test('two groups are compared with the floor, which shows whether the machine has two states', () => {
    const moved = two.map((value) => (value > 1200 ? 200 : 100));
    expect(noticesFor(two, moved)[0]).toMatch(
      /changed along with them, so the machine has two states, not the mechanism\.$/,
    );
    expect(noticesFor(two, steady)[0]).toMatch(/The cache-line floor did not change along with them\.$/);
  });

  test('two groups that hardly differ are not worth a notice', () => {
    expect(noticesFor(steady.map((value, i) => (i % 2 ? value : value * 1.05)))).toEqual([]);
  });

  test('a drift has its size and its p-value', () => {
    const rising = steady.map((value, i) => value * (1 + i / 20));
    expect(noticesFor(rising)[0]).toMatch(
      /^pipe \(round trip\) rose by \d+ % during the run \(Mann-Kendall test, p = [\d.]+\)\.$/,
    );
    expect(noticesFor(steady, undefined, [...rising].reverse())[0]).toMatch(/^pipe \(throughput\) fell by/);
  });

  test('severe outliers are counted, and the worst series is named', () => {
    const disturbed = steady.map((value, i) => (i === 3 ? value * 5 : value));
    expect(noticesFor(disturbed)).toEqual([
      "Of 24 samples, 1 is a severe outlier and 0 mild (Tukey's fences), most in pipe (round trip): 1 severe of 12.",
    ]);
  });
});
