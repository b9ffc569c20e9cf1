'use strict';
// HdrHistogram's percentile distribution in its text format (.hgrm), which its plotter and others read:
// https://hdrhistogram.github.io/HdrHistogram/plotFiles.html

/** @param {number} value @param {number} width @param {number} digits */
const fixed = (value, width, digits) => value.toFixed(digits).padStart(width);

/**
 * Values are nanoseconds.
 * @param {{distribution: [number, number, number][], ns: Record<string, number | null>}} series
 */
function toHgrm({ distribution, ns }) {
  const lines = distribution.map(([percent, value, count]) => {
    const columns = `${fixed(value, 12, 3)} ${fixed(percent / 100, 14, 12)} ${String(count).padStart(10)}`;
    return percent === 100 ? columns : `${columns} ${fixed(1 / (1 - percent / 100), 14, 2)}`;
  });
  const total = distribution[distribution.length - 1][2];
  return [
    `${'Value'.padStart(12)} ${'Percentile'.padStart(14)} ${'TotalCount'.padStart(10)} ${'1/(1-Percentile)'.padStart(14)}`,
    '',
    ...lines,
    `#[Mean    = ${fixed(Number(ns.mean), 12, 3)}, StdDeviation   = ${fixed(Number(ns.standardDeviation), 12, 3)}]`,
    `#[Max     = ${fixed(Number(ns.max), 12, 3)}, Total count    = ${String(total).padStart(12)}]`,
    '',
  ].join('\n');
}

module.exports = { toHgrm };
