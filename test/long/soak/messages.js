'use strict';
// What both sides of the long run in Node know: the ways of receiving, and what message number i is.
const LAPS = 20; // each uses every way once
const WAYS = ['into', 'batches', 'loop', 'await', 'read'];
const SMALL_WORDS = 12; // the most of a small message; it has 4 bytes each
const LARGE_WORDS = 8000;

/** What follows the number in a large message: always the same, since filling it again would take longer than to send it. */
const LARGE_BODY = Uint32Array.from({ length: LARGE_WORDS }, (_, at) => Math.imul(at + 1, 2654435761));

/**
 * Writes message number i. Returns how many words it has.
 * @param {Uint32Array} words
 * @param {number} i
 * @param {number} largeEvery every how many messages there is a large one
 */
function fillWords(words, i, largeEvery) {
  if (i % largeEvery === 0) {
    if (words[LARGE_WORDS - 1] !== LARGE_BODY[LARGE_WORDS - 1]) words.set(LARGE_BODY);
    fillSmall(words, i, SMALL_WORDS);
    return LARGE_WORDS;
  }
  const length = 3 + (i % (SMALL_WORDS - 2));
  fillSmall(words, i, length);
  return length;
}

/** @param {Uint32Array} words @param {number} i @param {number} length */
function fillSmall(words, i, length) {
  words[0] = i;
  for (let at = 1; at < length; at++) words[at] = Math.imul(i + at, 2654435761);
}

module.exports = { LAPS, LARGE_WORDS, WAYS, fillWords };
