'use strict';
// The Atomics that the ring uses. They are JavaScript's own wherever JavaScript can use the mapped memory. Two kinds of runtimes
// cannot; there, the addon performs the accesses, and the code that calls them stays the same:
//
// - Bun. JavaScriptCore's optimizing compiler makes Atomics.load a `lock cmpxchg`, which writes back what it has read. The peer's
//   region is mapped read-only, so it ends the process. A plain read is no substitute: the compiler may move it out of a loop or
//   past other reads, and so may an arm64 processor. So the addon copies the peer's frames into a private mirror. This
//   process's own region is mapped as usual.
// - Runtimes that allow buffers only over memory they have allocated, such as Electron. There, the own region has a mirror, too.
//
// A mirror has the layout of its region (native/ring-copy.h). The addon provides the memory order of the loads: once a frame is in
// the mirror, no other process or thread can change it, and plain reads see all of it.
const { HEADER_BYTES } = require('./layout.js');
const { native } = require('./native.js');
const { lacksExternalBuffers, lacksReadOnlyAtomics } = require('./runtime.js');

const HEADER_WORDS = HEADER_BYTES >> 2;
const INVALID = -1; // a signal that no frame has

/** Do my frames, or the peer's, go through a mirror? */
const copiesMine = lacksExternalBuffers(native.hasExternalBuffers);
const copiesPeer = copiesMine || lacksReadOnlyAtomics;

/**
 * The words of a region that JavaScript does not access directly. The addon looks behind them.
 * @typedef {Int32Array & {handle?: unknown, mask?: number, unpulled?: number, isMirror?: boolean}} Words
 *   handle: of the region; undefined for ordinary memory. unpulled: offset in the ring of the first frame that has not been pulled.
 */

/** @param {Words} words @param {number} index */
function load(words, index) {
  if (words.handle === undefined) return Atomics.load(words, index);
  if (index < HEADER_WORDS) return native.loadWord(words.handle, index);
  const offset = (index - HEADER_WORDS) << 2;
  // Otherwise, the reader is at a frame that was pulled before. A pull never fills a whole ring, so these offsets differ.
  if (offset !== words.unpulled) return words[index];
  const bytes = native.pullFrames(words.handle, offset);
  if (bytes < 0) return INVALID;
  if (bytes === 0) return 0;
  words.unpulled = (offset + bytes) & /** @type {number} */ (words.mask);
  return words[index];
}

/** @param {Words} words @param {number} index @param {number} value */
function store(words, index, value) {
  if (words.handle === undefined) return Atomics.store(words, index, value);
  if (index < HEADER_WORDS) native.storeWord(words.handle, index, value);
  else if (words.isMirror) native.pushFrames(words.handle, (index - HEADER_WORDS) << 2, value);
  else Atomics.store(words, index, value);
  return value;
}

/** @param {Words} words @param {number} index @param {number} value */
function add(words, index, value) {
  if (words.handle === undefined) return Atomics.add(words, index, value);
  native.addWord(words.handle, index, value);
  return 0; // no caller uses the old value
}

/** @type {{load: typeof load, store: typeof store, add: typeof add}} */
const ringAtomics = copiesPeer ? { load, store, add } : Atomics;

/**
 * A region as words for ringAtomics.
 * @param {import('./native.js').NativeRegion} region
 * @returns {Int32Array}
 */
function wordsOf({ buffer, handle, capacity, mirrored }) {
  const words = new Int32Array(buffer);
  if (copiesPeer && mirrored !== undefined)
    Object.assign(words, { handle, mask: capacity - 1, unpulled: 0, isMirror: mirrored });
  return words;
}

module.exports = { Atomics: ringAtomics, copiesMine, copiesPeer, wordsOf };
