'use strict';
// SipHash-2-4 (Aumasson and Bernstein, 2012): native/siphash.h in JavaScript. JavaScript has no 64-bit integers that are
// fast, so each 64-bit word is a low and a high 32-bit integer.

/**
 * The carry of an addition of two 32-bit integers. Converting the comparison is three times as fast as a conditional: the
 * processor cannot predict a carry.
 * @param {number} sum of the low halves, as a 32-bit integer
 * @param {number} part one of them
 */
const carry = (sum, part) => +(sum >>> 0 < part >>> 0);

/** Computes 64-bit tags of messages under one 128-bit key. */
class SipHash {
  #key;
  low = 0; // the last tag
  high = 0;

  /** @param {ArrayLike<number>} key four 32-bit integers, the lowest first */
  constructor(key) {
    this.#key = Int32Array.from(key);
  }

  /**
   * Compute the tag of the first `size` bytes, and store it in `low` and `high`.
   * @param {Int32Array} words the message. Bytes after its end have no effect
   * @param {number} size bytes
   */
  digest(words, size) {
    const key = this.#key;
    // The constants are the paper's: the ASCII text "somepseudorandomlygeneratedbytes".
    let a = key[0] ^ 0x70736575;
    let aHigh = key[1] ^ 0x736f6d65;
    let b = key[2] ^ 0x6e646f6d;
    let bHigh = key[3] ^ 0x646f7261;
    let c = key[0] ^ 0x6e657261;
    let cHigh = key[1] ^ 0x6c796765;
    let d = key[2] ^ 0x79746573;
    let dHigh = key[3] ^ 0x74656462;
    const whole = size >> 3; // complete 8-byte words, followed by one with the rest and the size, and by the end
    for (let i = 0; i <= whole + 1; i++) {
      let rounds = 2;
      let word = 0;
      let wordHigh = 0;
      if (i < whole) {
        word = words[2 * i];
        wordHigh = words[2 * i + 1];
      } else if (i === whole) {
        const rest = size & 7;
        if (rest >= 4) word = words[2 * i];
        else if (rest !== 0) word = words[2 * i] & ((1 << (rest << 3)) - 1);
        if (rest > 4) wordHigh = words[2 * i + 1] & ((1 << ((rest - 4) << 3)) - 1);
        wordHigh |= size << 24;
      } else {
        c ^= 0xff;
        rounds = 4;
      }
      d ^= word;
      dHigh ^= wordHigh;
      for (; rounds > 0; rounds--) {
        let sum = (a + b) | 0;
        aHigh = (aHigh + bHigh + carry(sum, a)) | 0;
        a = sum;
        let old = b;
        b = ((b << 13) | (bHigh >>> 19)) ^ a;
        bHigh = ((bHigh << 13) | (old >>> 19)) ^ aHigh;
        old = a; // rotated by 32: the halves change places
        a = aHigh;
        aHigh = old;
        sum = (c + d) | 0;
        cHigh = (cHigh + dHigh + carry(sum, c)) | 0;
        c = sum;
        old = d;
        d = ((d << 16) | (dHigh >>> 16)) ^ c;
        dHigh = ((dHigh << 16) | (old >>> 16)) ^ cHigh;
        sum = (a + d) | 0;
        aHigh = (aHigh + dHigh + carry(sum, a)) | 0;
        a = sum;
        old = d;
        d = ((d << 21) | (dHigh >>> 11)) ^ a;
        dHigh = ((dHigh << 21) | (old >>> 11)) ^ aHigh;
        sum = (c + b) | 0;
        cHigh = (cHigh + bHigh + carry(sum, c)) | 0;
        c = sum;
        old = b;
        b = ((b << 17) | (bHigh >>> 15)) ^ c;
        bHigh = ((bHigh << 17) | (old >>> 15)) ^ cHigh;
        old = c;
        c = cHigh;
        cHigh = old;
      }
      a ^= word;
      aHigh ^= wordHigh;
    }
    this.low = a ^ b ^ c ^ d;
    this.high = aHigh ^ bHigh ^ cHigh ^ dHigh;
  }
}

module.exports = { SipHash };
