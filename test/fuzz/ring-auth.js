'use strict';
// Fuzzes the JavaScript reader of an authenticated ring: correct frames, in memory that something changes before and between
// the reads. Property: what is delivered is what was sent, in order and without a gap, until the reader finds the ring empty
// or throws ERR_PEER_CORRUPT. A wrong tag passes once in 2^64 tries.
const assert = require('node:assert');
const { AuthRingReader, AuthRingWriter } = require('../../lib/channel/ring-auth.js');
const { generator } = require('./generator.js');

const HEADER = 4096;
const CAPACITY = 65536;
const LARGEST_MOVE = 256; // bytes

const region = () => ({
  handle: null,
  buffer: new ArrayBuffer(HEADER + 2 * CAPACITY),
  capacity: CAPACITY,
  neverSleeps: false,
  key: null,
});

const mine = region();
const peer = region();
const target = new Uint8Array(CAPACITY);

/**
 * Change the memory somewhere in the frames: a bit, a byte, a word, or some bytes that another frame has.
 * @param {import('./generator.js').Generator} random
 * @param {number} from offset in the region
 * @param {number} size bytes of frames
 */
function change(random, from, size) {
  const bytes = new Uint8Array(peer.buffer);
  const at = from + random.below(size);
  const length = random.below(LARGEST_MOVE);
  const how = random.below(5);
  if (how === 0) bytes[at] ^= 1 << random.below(8);
  else if (how === 1) bytes[at] = random.word();
  else if (how === 2) new Int32Array(peer.buffer)[at >> 2] = random.word();
  else if (how === 3) bytes.copyWithin(at & ~7, (from + random.below(size)) & ~7, at + length);
  else bytes.fill(0, at, at + length);
}

/**
 * One case.
 * @param {number} seed
 * @returns {{frames: number, refused: number}} frames delivered, and 1 if the reader refused one
 */
function fuzzTags(seed) {
  const random = generator(seed);
  new Uint8Array(mine.buffer).fill(0);
  new Uint8Array(peer.buffer).fill(0);
  const key = Array.from({ length: 4 }, () => random.word() | 0);
  const writer = new AuthRingWriter(peer, mine, key);
  const reader = new AuthRingReader(mine, peer, key);
  const start = (random.pick([0, 0x7fffff00, 0x80000000, random.word()]) & ~63) | 0;
  writer.position = writer.peerRead = reader.position = reader.announced = start;
  new Int32Array(mine.buffer)[32] = start;
  const sent = Array.from({ length: 1 + random.below(20) }, () => {
    const kind = random.below(4);
    const payload = Buffer.from(
      Array.from({ length: random.pick([0, 1, 20, 48, 64, 300]) }, () => random.word() & 255),
    );
    const number = random.word() | 0;
    assert(writer.write(payload, kind, number));
    return { kind, number, payload };
  });
  writer.publish();
  const from = HEADER + (start & (CAPACITY - 1));
  const size = (writer.position - start) | 0;
  const changes = random.below(4) === 0 ? 0 : 3; // without changes everything must arrive
  for (let frames = 0; ; frames++) {
    for (let i = random.below(changes + 1); i > 0; i--) change(random, from, size);
    let payload = -1;
    try {
      const fast = reader.peekMessage();
      payload = reader.peek();
      assert(fast === -2 || fast === payload);
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'ERR_PEER_CORRUPT') throw error;
      assert(changes > 0, 'refused a frame that nobody changed');
      return { frames, refused: 1 };
    }
    if (payload < 0) {
      assert(changes > 0 || frames === sent.length, 'a frame was lost');
      return { frames, refused: 0 };
    }
    const expected = sent[frames];
    assert(expected, 'delivered a frame that was not sent');
    const prefix = expected.kind === 0 ? 0 : 4;
    assert.equal(reader.kind(), expected.kind);
    assert.equal(payload, expected.payload.length + prefix);
    if (prefix) assert.equal(reader.number(), expected.number);
    if (changes > 0) change(random, from, size); // also between the check and the copy
    reader.copy(reader.payloadOffset(), payload, target, 0);
    assert(expected.payload.equals(target.subarray(prefix, payload)), 'delivered what was not sent');
    reader.consume(payload);
  }
}

module.exports = { fuzzTags };
