'use strict';
const {
  quantile,
  median,
  summarize,
  medianInterval,
  isSteady,
  compareMedians,
} = require('../lib/measure/statistics.js');

const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i + 1);

describe('quantiles', () => {
  // R's documentation of quantile(): type 7 is its default. R> quantile(c(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
  test('agree with R on 1 to 10', () => {
    expect(summarize(upTo(10))).toEqual({ median: 5.5, q1: 3.25, q3: 7.75 });
    expect(quantile(upTo(10), 0.9)).toBeCloseTo(9.1, 12);
  });

  // NIST/SEMATECH e-Handbook of Statistical Methods, 7.2.6.2 "Percentiles": twelve measurements, 90th percentile. The
  // handbook gives 95.1981 by definition 6 and notes that Excel's, definition 7, gives 95.1959 (sorted: ... 95.1959 is
  // interpolated between 95.1937 and 95.1959 at position 9.9).
  test('agree with the definition on the measurements of the NIST handbook', () => {
    const gauge = [
      95.1772, 95.1567, 95.1937, 95.1959, 95.1442, 95.061, 95.1591, 95.1195, 95.1065, 95.0925, 95.199, 95.1682,
    ];
    expect(quantile(gauge, 0.9)).toBeCloseTo(95.1937 + 0.9 * (95.1959 - 95.1937), 10);
    expect(median(gauge)).toBeCloseTo((95.1567 + 95.1591) / 2, 10);
  });

  test('do not change or depend on the order of the samples', () => {
    const samples = [9, 1, 5, 3, 7];
    expect(median(samples)).toBe(5);
    expect(samples).toEqual([9, 1, 5, 3, 7]);
  });

  test('of one sample are that sample', () => {
    expect(summarize([42])).toEqual({ median: 42, q1: 42, q3: 42 });
  });

  test('of no sample are not a number', () => {
    expect(median([])).toBeNaN();
  });
});

describe("the median's confidence interval", () => {
  // The ranks that tables of the sign test give for 95 % (Conover, Practical Nonparametric Statistics, 3rd edition,
  // table A3; binomial with p = 1/2).
  test.each([
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [10, 2, 9],
    [15, 4, 12],
    [20, 6, 15],
    [25, 8, 18],
    [30, 10, 21],
    [50, 18, 33],
  ])('of %i samples reaches from the %ith to the %ith', (n, low, high) => {
    expect(medianInterval(upTo(n))).toEqual([low, high]);
  });

  test('is unknown below six samples', () => {
    expect(medianInterval(upTo(5))).toBeNull();
    expect(medianInterval([])).toBeNull();
  });
});

describe('a steady median', () => {
  test('needs an interval within the tolerance on both sides', () => {
    expect(isSteady([100, 101, 100, 99, 100, 100], 0.02)).toBe(true);
    expect(isSteady([100, 103, 100, 99, 100, 100], 0.02)).toBe(false);
  });

  test('is never claimed of too few samples', () => {
    expect(isSteady([100, 100, 100], 0.02)).toBe(false);
  });
});

describe('comparing two medians', () => {
  const near = [10, 11, 12, 13, 14, 15];
  test('tells lower from higher when the intervals lie apart', () => {
    expect(
      compareMedians(
        near,
        near.map((x) => x + 10),
      ),
    ).toBe('lower');
    expect(
      compareMedians(
        near.map((x) => x + 10),
        near,
      ),
    ).toBe('higher');
  });

  test('detects no difference when they overlap', () => {
    expect(
      compareMedians(
        near,
        near.map((x) => x + 1),
      ),
    ).toBe('undetected');
  });

  test('detects nothing in too few samples, however far apart', () => {
    expect(compareMedians([1, 2, 3], [100, 200, 300])).toBe('undetected');
  });
});

test('an interval for any number of samples: 2 ** -n is 0 from 1,075 on', () => {
  const samples = Array.from({ length: 5000 }, (_, i) => i);
  const [low, high] = /** @type {[number, number]} */ (medianInterval(samples));
  // The normal approximation: n/2 -+ 0.98 * sqrt(n), within a sample or two.
  expect(Math.abs(low - (2500 - 69.3))).toBeLessThan(3);
  expect(low + high).toBe(4999);
});
