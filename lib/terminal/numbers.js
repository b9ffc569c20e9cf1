'use strict';
// Numbers as people read them: three significant digits, thousands separators, no exponent.

/**
 * 14391.1 -> "14,400"; 0.4749 -> "0.475"; null -> "–".
 * @param {number | null | undefined} value
 * @param {number} [digits] significant digits
 */
function significant(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', {
    maximumSignificantDigits: digits,
    minimumSignificantDigits: value ? digits : 1,
  });
}

/**
 * A count of crossings: 4 -> "4", 3.98 -> "3.98", 0 -> "0".
 * @param {number | null} value
 */
function crossingCount(value) {
  return value === null ? '–' : value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

/**
 * A time with the unit that suits it: 475 -> "475 ns", 67985 -> "68.0 µs".
 * @param {number} ns
 */
function duration(ns) {
  if (ns < 1e3) return `${significant(ns)} ns`;
  if (ns < 1e6) return `${significant(ns / 1e3)} µs`;
  if (ns < 1e9) return `${significant(ns / 1e6)} ms`;
  return `${significant(ns / 1e9)} s`;
}

/**
 * A size with the unit that suits it: 64 -> "64 bytes", 65536 -> "64 KiB".
 * @param {number} bytes
 */
function byteCount(bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) === 0) return `${bytes >> 20} MiB`;
  if (bytes >= 1 << 10 && bytes % (1 << 10) === 0) return `${bytes >> 10} KiB`;
  return `${bytes.toLocaleString('en-US')} bytes`;
}

module.exports = { significant, crossingCount, duration, byteCount };
