'use strict';
// How large a recording may grow. The lab's page opens recordings up to the same limits (public/recording/model/limits.js).

const LIMITS = {
  processes: 1000,
  threads: 4000,
  holdings: 200_000,
  objects: 100_000,
  events: 500_000,
  eventBytes: 160 << 20, // of the file's 256 MiB, which also hold everything else
  notes: 20,
  sourceCharacters: 8 << 20, // all files together
};

/** What ends a program that has more of it; events are dropped instead. */
const WORDS = {
  processes: 'processes',
  threads: 'threads',
  holdings: 'open descriptors, of all processes together',
  objects: 'objects, such as files and pipes',
};

/**
 * Why a recording may not grow any more; null: it may.
 * @param {Record<keyof typeof WORDS, number>} counts with what would be added
 */
function excessOf(counts) {
  const names = /** @type {(keyof typeof WORDS)[]} */ (Object.keys(WORDS));
  const name = names.find((one) => counts[one] > LIMITS[one]);
  if (!name) return null;
  const most = LIMITS[name].toLocaleString('en-US');
  return `The program was stopped because a recording can have at most ${most} ${WORDS[name]}.`;
}

module.exports = { LIMITS, excessOf };
