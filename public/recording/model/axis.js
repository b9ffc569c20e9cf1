// The ticks of the time axis: round numbers of one unit, with as many digits as the step needs.

const UNITS = /** @type {const} */ ([
  ['ns', 1],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
]);

/** A round step of at least `least` nanoseconds: 1, 2 or 5 times a power of ten. @param {number} least */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-3)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999) ?? power * 10;
}

/**
 * Ticks from `from` to `to`, in nanoseconds, at most `most` of them.
 * @param {number} from @param {number} to @param {number} most
 * @returns {{at: number, text: string}[]}
 */
export function ticksOf(from, to, most) {
  const step = roundStep((to - from) / Math.max(most, 1));
  const [unit, size] = UNITS.findLast(([, ns]) => Math.max(Math.abs(to), step) >= ns) ?? UNITS[0];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const format = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: Math.min(digits, 12),
  });
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to && ticks.length <= most + 1; i++) {
    ticks.push({ at: i * step, text: `${format.format((i * step) / size)} ${unit}` });
  }
  return ticks;
}
