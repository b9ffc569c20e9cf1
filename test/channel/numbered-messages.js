'use strict';
// Numbered messages. Their bytes follow from their number, so a receiver can verify each one.

/** Message number i, 8 to 200 bytes: the number, then bytes that follow from it. @param {number} i */
function message(i) {
  const bytes = Buffer.alloc(8 + (i % 193), i & 0xff);
  bytes.writeDoubleLE(i, 0);
  return bytes;
}

/** Throws unless these are the bytes of message number i. @param {Buffer} bytes @param {number} i */
function verify(bytes, i) {
  if (!bytes.equals(message(i))) throw new Error(`expected message ${i}, got ${bytes.toString('hex')}`);
}

/**
 * Writes message number i as words, without allocating.
 * @param {Uint32Array} words
 * @param {number} i
 * @returns {number} how many words it has
 */
function fillWords(words, i) {
  const length = 2 + (i % 13);
  words[0] = i;
  for (let at = 1; at < length; at++) words[at] = Math.imul(i + at, 2654435761);
  return length;
}

/** Adds words to a checksum that depends on their order. @param {number} checksum @param {Uint32Array} words @param {number} length */
function addToChecksum(checksum, words, length) {
  for (let at = 0; at < length; at++) checksum = (Math.imul(checksum, 31) + words[at]) | 0;
  return checksum;
}

module.exports = { message, verify, fillWords, addToChecksum };
