'use strict';
// How large a recording may grow. The lab's page opens recordings up to the same limits (public/recording/model/limits.js).

const LIMITS = { processes: 1000, threads: 4000, holdings: 200_000 };

/** @type {Record<keyof typeof LIMITS, string>} */
const WORDS = { processes: 'processes', threads: 'threads', holdings: 'open descriptors, of all processes together' };

/**
 * Why a recording may not grow any more; null: it may.
 * @param {Record<keyof typeof LIMITS, number>} counts with what would be added
 */
function excessOf(counts) {
  const names = /** @type {(keyof typeof LIMITS)[]} */ (Object.keys(LIMITS));
  const name = names.find((one) => counts[one] > LIMITS[one]);
  if (!name) return null;
  const most = LIMITS[name].toLocaleString('en-US');
  return `The program was stopped because a recording can have at most ${most} ${WORDS[name]}.`;
}

module.exports = { LIMITS, excessOf };
