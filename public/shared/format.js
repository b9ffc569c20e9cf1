// How numbers are shown, the same on all pages and in the terminal (lib/terminal/numbers.js): three significant digits,
// thousands separators, no exponent.

/**
 * 14391.1 -> "14,400"; null -> "–".
 * @param {number | null | undefined} value
 * @param {number} [digits] significant digits
 */
export function significant(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', {
    maximumSignificantDigits: digits,
    minimumSignificantDigits: value ? digits : 1,
  });
}

/** 4 -> "4", 3.984 -> "3.98". @param {number | null | undefined} value */
export function crossingCount(value) {
  if (value === null || value === undefined) return '–';
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

/** 20000, 'message' -> "20,000 messages". @param {number} count @param {string} noun */
export const counted = (count, noun) => `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

/** @param {number} value @param {string[]} units each a thousand times the one before */
function scaled(value, units, digits = 3) {
  const thousands = value >= 1000 ? Math.min(Math.floor(Math.log10(value) / 3), units.length - 1) : 0;
  return `${significant(value / 1000 ** thousands, digits)} ${units[thousands]}`;
}

const TIMES = ['ns', 'µs', 'ms', 's'];
const RATES = ['/s', 'k/s', 'M/s', 'G/s'];

/** 475 -> "475 ns", 67985 -> "68.0 µs". @param {number | null | undefined} ns */
export const duration = (ns) => (ns === null || ns === undefined ? '–' : scaled(ns, TIMES));

/** 44032492 -> "44.0 M/s". @param {number} perSecond */
export const rate = (perSecond) => scaled(perSecond, RATES);

/** A tick of a linear axis: 2500 -> "2.5 µs", 0 -> "0". @param {number} ns */
export function linearTimeTick(ns) {
  if (ns === 0) return '0';
  const thousands = Math.max(0, Math.min(Math.floor(Math.log10(Math.abs(ns)) / 3), TIMES.length - 1));
  const value = (ns / 1000 ** thousands).toLocaleString('en-US', { maximumSignificantDigits: 3 });
  return `${value} ${TIMES[thousands]}`;
}

/** A tick of an axis: 1e5 -> "100 µs". @param {number} ns */
export const timeTick = (ns) => scaled(ns, TIMES, 1);
/** A tick of an axis. @param {number} perSecond */
export const rateTick = (perSecond) => scaled(perSecond, RATES, 1);

/** 64 -> "64 bytes", 65536 -> "64 KiB". @param {number} bytes */
export function byteCount(bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) === 0) return `${bytes >> 20} MiB`;
  if (bytes >= 1 << 10 && bytes % (1 << 10) === 0) return `${bytes >> 10} KiB`;
  return `${bytes.toLocaleString('en-US')} bytes`;
}

/** The same, short enough for an axis: 64 -> "64 B". @param {number} bytes */
export const byteTick = (bytes) => byteCount(bytes).replace(' bytes', ' B');

/** A p-value: 0.0312 -> "p = 0.031". @param {number | null | undefined} p */
export function pValue(p) {
  if (p === null || p === undefined) return 'no p-value';
  return p < 0.001 ? 'p < 0.001' : `p = ${significant(p, 2)}`;
}

/** "20 November 2026, 19:19:38" in the browser's time zone. @param {string} iso @param {'long' | 'medium'} [dateStyle] */
export const dateTime = (iso, dateStyle = 'long') =>
  new Date(iso).toLocaleString('en-GB', { dateStyle, timeStyle: 'medium' }).replace(' at ', ', ');
