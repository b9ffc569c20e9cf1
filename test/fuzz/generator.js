'use strict';
// A seeded generator for the fuzzers in JavaScript, with the values that matter to a ring.

/** mulberry32 @param {number} seed */
function generator(seed) {
  let state = seed >>> 0;
  const word = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return (z ^ (z >>> 14)) >>> 0;
  };
  /** A number below `limit`. @param {number} limit */
  const below = (limit) => Math.floor((word() / 2 ** 32) * limit);
  /** @template T @param {T[]} choices @returns {T} */
  const pick = (choices) => choices[below(choices.length)];
  return { word, below, pick };
}

/** @typedef {ReturnType<typeof generator>} Generator */

/** A signal that a hostile peer may store. @param {Generator} random @param {number} capacity */
function anySignal(random, capacity) {
  const largest = capacity - 16;
  const edges = [
    0,
    1,
    2,
    5,
    9,
    57,
    58,
    65,
    largest,
    largest + 1,
    largest + 2,
    capacity,
    0x7fffffff,
    0x80000000,
    0xffffffff,
  ];
  const kind = random.below(8);
  if (kind === 0) return random.word();
  if (kind === 1) return random.pick(edges);
  if (kind === 2) return random.below(largest + 2);
  return random.below(100);
}

/** A kind of frame that a hostile peer may store. @param {Generator} random */
const anyKind = (random) =>
  random.below(8) === 0 ? random.pick([4, 0xffffffff, 0x80000000, random.word()]) : random.below(4);

module.exports = { generator, anySignal, anyKind };
