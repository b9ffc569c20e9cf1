'use strict';
const { RoundTrips } = require('../lib/measure/round-trips.js');

/** Each nanosecond from 1 to n once. @param {number} n @returns {[number, number][]} */
const each = (n) => Array.from({ length: n }, (_, i) => [i + 1, 1]);

test('percentiles are exact to three significant digits, the extremes and the mean exactly', () => {
  const trips = new RoundTrips();
  trips.record(each(100_000));
  const summary = trips.summary();
  expect(summary).toMatchObject({ min: 1, max: 100_000, mean: 50_000.5 });
  for (const [name, value] of Object.entries({
    p50: 50_000,
    p90: 90_000,
    p99: 99_000,
    'p99.9': 99_900,
    'p99.99': 99_990,
  })) {
    expect(Math.abs(Number(summary[name]) / value - 1)).toBeLessThan(0.001);
  }
});

test('small times are exact to the nanosecond', () => {
  const trips = new RoundTrips();
  trips.record([
    [100, 50],
    [101, 49],
    [1999, 1],
  ]);
  expect(trips.summary()).toMatchObject({ min: 100, p50: 100, p90: 101, p99: 101, max: 1999 });
});

test('samples add up', () => {
  const trips = new RoundTrips();
  trips.record([[10, 3]]);
  trips.record([[30, 1]]);
  expect(trips.count).toBe(4);
  expect(trips.summary()).toMatchObject({ min: 10, max: 30, mean: 15 });
});

test('a percentile with nothing beyond it is null, not the maximum by another name', () => {
  const trips = new RoundTrips();
  trips.record(each(500));
  expect(trips.summary()).toMatchObject({ 'p99.9': null, 'p99.99': null });
  expect(trips.summary().p99).not.toBeNull();
});

test('the distribution climbs from the minimum towards the maximum, finer and finer towards 100 %', () => {
  const trips = new RoundTrips();
  trips.record(each(10_000));
  const points = trips.distribution();
  expect(points[0][0]).toBe(0);
  expect(points.map(([percent]) => percent)).toEqual(expect.arrayContaining([0, 90, 99, 99.9, 99.99]));
  for (let i = 1; i < points.length; i++) {
    expect(points[i][0]).toBeGreaterThan(points[i - 1][0]);
    expect(points[i][1]).toBeGreaterThanOrEqual(points[i - 1][1]);
  }
});

test('the histogram counts every round trip once, in bands of equal width on a logarithmic scale', () => {
  const trips = new RoundTrips();
  trips.record([
    [100, 2],
    [105, 3],
    [106, 4],
    [1e6, 5],
  ]);
  expect(trips.histogram()).toEqual([
    [100, 105.925, 5],
    [105.925, 112.202, 4],
    [1e6, 1.05925e6, 5],
  ]);
});
