'use strict';
// The rank tests and the bootstrap agree with published worked examples.
const { holm, mannWhitney, normalTail, wilcoxonSignedRank } = require('../lib/measure/rank-tests.js');
const { bootstrapInterval, randomNumbers } = require('../lib/measure/bootstrap.js');
const { median } = require('../lib/measure/statistics.js');

const mean = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0) / values.length;

test('the tail of the normal distribution agrees with tables, also where it is tiny', () => {
  // Abramowitz and Stegun, Handbook of Mathematical Functions, tables 26.1 and 26.2.
  for (const [z, p] of /** @type {const} */ ([
    [0, 0.5],
    [1, 0.158655253931457],
    [1.96, 0.0249978951482204],
    [2.999, 0.00135433653372711],
    [3.001, 0.00134547282508497],
    [5, 2.86651571879194e-7],
    [20, 2.75362411860616e-89],
  ])) {
    expect(normalTail(z) / p).toBeCloseTo(1, 12);
    expect(normalTail(-z)).toBeCloseTo(1 - p, 12);
  }
});

describe("Wilcoxon's signed-rank test", () => {
  // Hollander and Wolfe, Nonparametric Statistical Methods (1973), p. 29: depression scores at two visits; the first
  // example of R's wilcox.test(), which gives V = 40 and the one-sided p = 0.01953.
  const first = [1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3];
  const second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];

  test('agrees with R on the depression data of Hollander and Wolfe', () => {
    expect(wilcoxonSignedRank(first, second)).toEqual({ statistic: 40, p: 2 * (10 / 512), pairs: 9, method: 'exact' });
    expect(wilcoxonSignedRank(second, first)).toMatchObject({ statistic: 5, p: 2 * (10 / 512) });
  });

  // Conover, Practical Nonparametric Statistics, 3rd edition, section 5.7, example 1: aggressiveness of twelve pairs of
  // twins, with ties and one equal pair. R's wilcox.test(paired = TRUE) gives V = 41.5, p-value = 0.4765.
  test("agrees with R on Conover's twins, which have ties and an equal pair", () => {
    const firstborn = [86, 71, 77, 68, 91, 72, 77, 91, 70, 71, 88, 87];
    const secondTwin = [88, 77, 76, 64, 96, 72, 65, 90, 65, 80, 81, 72];
    const { statistic, p, pairs, method } = wilcoxonSignedRank(firstborn, secondTwin);
    expect({ statistic, pairs, method }).toEqual({ statistic: 41.5, pairs: 11, method: 'normal' });
    expect(p).toBeCloseTo(0.4765, 4);
  });

  test('finds nothing where all pairs are equal, and refuses samples that are not paired', () => {
    expect(wilcoxonSignedRank([1, 2, 3], [1, 2, 3])).toEqual({ statistic: 0, p: 1, pairs: 0, method: 'normal' });
    expect(() => wilcoxonSignedRank([1, 2], [1])).toThrow('got 2 and 1');
  });
});

describe('the rank test of Mann and Whitney', () => {
  // Hollander and Wolfe (1973), p. 69: permeability of the human chorioamnion; the second example of R's wilcox.test(),
  // which gives W = 35 and the one-sided p = 0.1272.
  test('agrees with R on the permeability data of Hollander and Wolfe', () => {
    const term = [0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const { u, p, method } = mannWhitney(term, [1.15, 0.88, 0.9, 0.74, 1.21]);
    expect({ u, method }).toEqual({ u: 35, method: 'exact' });
    expect(p / 2).toBeCloseTo(0.1272, 4);
  });

  // The third example of R's wilcox.test(): ozone in New York in May and in August 1973 (data set airquality), with
  // ties. R gives W = 127.5, p-value = 0.0001208.
  test('agrees with R on the air quality data, which have ties', () => {
    const may = [41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37];
    const august = [
      39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85,
    ];
    const { u, p, method } = mannWhitney(may, august);
    expect({ u, method }).toEqual({ u: 127.5, method: 'normal' });
    expect(p).toBeCloseTo(0.0001208, 7);
  });

  // Mann and Whitney (1947), table I: with 3 and 4 samples, P(U <= 0) = 0.028, P(U <= 1) = 0.057, P(U <= 2) = 0.114.
  test.each([
    [[1, 2, 3], 1 / 35],
    [[1, 2, 4], 2 / 35],
    [[1, 2, 5], 4 / 35],
  ])('has the exact distribution of its authors: %j', (a, p) => {
    const b = [1, 2, 3, 4, 5, 6, 7].filter((value) => !a.includes(value));
    expect(mannWhitney(a, b).p).toBeCloseTo(2 * p, 12);
  });

  test('finds nothing in no samples, and nothing between equal ones', () => {
    expect(mannWhitney([], []).p).toBe(1);
    expect(mannWhitney([5, 5, 5], [5, 5]).p).toBe(1);
  });

  // With 6 and 6 samples, p < 5 % has the probability 0.0411: 5 of 924 arrangements each side lead to U <= 5.
  test('claims a difference between equal sources no more often than it says', () => {
    const next = randomNumbers(7);
    const draw = () => Array.from({ length: 6 }, () => next());
    let claims = 0;
    for (let i = 0; i < 4000; i++) if (mannWhitney(draw(), draw()).p < 0.05) claims++;
    expect(claims / 4000).toBeGreaterThan(0.03);
    expect(claims / 4000).toBeLessThan(0.05);
  });
});

describe("Holm's correction", () => {
  // Holm, Scandinavian Journal of Statistics 6 (1979), as R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") computes it.
  test('agrees with R', () => {
    expect(holm([0.01, 0.04, 0.03, 0.005])).toEqual([0.03, 0.06, 0.06, 0.02]);
  });

  test('never exceeds 1, and leaves one question alone', () => {
    expect(holm([0.9, 0.8, 0.7])).toEqual([1, 1, 1]);
    expect(holm([0.04])).toEqual([0.04]);
    expect(holm([])).toEqual([]);
  });
});

describe('the bootstrap', () => {
  // Efron and Tibshirani, An Introduction to the Bootstrap (1993), table 2.1: survival of treated mice, in days.
  const mice = [94, 197, 16, 38, 99, 141, 23];

  // Table 2.2 of the same book, in the limit of many resamples: standard errors 23.36 (mean) and 37.83 (median).
  test('has the standard errors of Efron and Tibshirani', () => {
    const options = { resamples: 20_000 };
    expect(bootstrapInterval([mice], mean, options).standardError).toBeCloseTo(23.36, 0);
    expect(bootstrapInterval([mice], median, options).standardError).toBeCloseTo(37.83, 0);
  });

  // Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979), section 3: the median of a
  // resample of 7 is at most the k-th smallest sample with the probability P(Binomial(7, k / 7) >= 4), which is 0.0102
  // for k = 1 and 0.0985 for k = 2. So the 2.5 % quantile is the second smallest sample, and the 97.5 % quantile the
  // second largest; the 0.5 % and 99.5 % quantiles are the extremes.
  test('has the interval of the exact bootstrap distribution of a median', () => {
    expect(bootstrapInterval([mice], median)).toMatchObject({ estimate: 94, low: 23, high: 141, confidence: 0.95 });
    expect(bootstrapInterval([mice], median, { confidence: 0.99 })).toMatchObject({ low: 16, high: 197 });
  });

  // The same book, table 3.1 and table 6.1: 15 law schools, standard error of the correlation 0.132.
  test('keeps pairs together', () => {
    const lsat = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594];
    const gpa = [3.39, 3.3, 2.81, 3.03, 3.44, 3.07, 3.0, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96];
    const correlation = (/** @type {number[][]} */ pairs) => {
      const [mx, my] = [mean(pairs.map(([x]) => x)), mean(pairs.map(([, y]) => y))];
      const moment = (/** @type {(x: number, y: number) => number} */ of) =>
        mean(pairs.map(([x, y]) => of(x - mx, y - my)));
      return moment((x, y) => x * y) / Math.sqrt(moment((x) => x * x) * moment((_, y) => y * y));
    };
    const pairs = lsat.map((score, school) => [score, gpa[school]]);
    const { estimate, standardError } = bootstrapInterval([pairs], correlation, { resamples: 20_000 });
    expect(estimate).toBeCloseTo(0.776, 3);
    expect(standardError).toBeCloseTo(0.132, 2);
  });

  test('gives the same interval for the same seed, and another for another', () => {
    const of = (/** @type {number} */ seed) => bootstrapInterval([mice, mice], (a, b) => mean(a) / mean(b), { seed });
    expect(of(5)).toEqual(of(5));
    expect(of(5).low).not.toBe(of(6).low);
    expect(of(5).low).toBeLessThan(1);
    expect(of(5).high).toBeGreaterThan(1);
  });

  test('covers a true median as often as it says, with enough samples', () => {
    const next = randomNumbers(11);
    let covered = 0;
    for (let i = 0; i < 400; i++) {
      const samples = Array.from({ length: 25 }, () => Math.exp(next() / 2 ** 32)); // the true median is exp(1/2)
      const { low, high } = bootstrapInterval([samples], median, { resamples: 400, seed: i });
      if (low <= Math.exp(0.5) && Math.exp(0.5) <= high) covered++;
    }
    expect(covered / 400).toBeGreaterThan(0.91);
    expect(covered / 400).toBeLessThan(0.99);
  });
});
