'use strict';
// Fuzzes the JavaScript reader of a ring over arbitrary memory, without the addon. Properties: it throws nothing but
// ERR_PEER_CORRUPT, it reads only inside the region, each frame moves it on as docs/protocol.md says, and what it
// copies is what the memory holds.
const assert = require('node:assert');
const { RingReader } = require('../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { generator, anySignal, anyKind } = require('./generator.js');

const HEADER = 4096;
const CAPACITY = 65536;
const FRAMES = 200; // read in one case

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

/** The size of a frame, as docs/protocol.md defines it. @param {number} position @param {number} payload */
function frameSize(position, payload) {
  const bytes = Math.ceil((8 + payload) / 8) * 8;
  return bytes > 64 ? bytes : bytes + ((64 - ((position + bytes) & 63)) & 63);
}

/** @param {unknown} error */
const isCorrupt = (error) => /** @type {any} */ (error).code === 'ERR_PEER_CORRUPT';

/**
 * One case: memory with frames of any size and kind here and there, at a position that may be about to wrap around.
 * @param {number} seed
 * @returns {number} frames read
 */
function fuzzOnce(seed) {
  const random = generator(seed);
  new Int32Array(mine.buffer, 0, HEADER / 4).fill(0);
  new Int32Array(peer.buffer, 0, HEADER / 4).fill(0);
  const words = new Uint32Array(peer.buffer);
  const bytes = new Uint8Array(peer.buffer);
  const fillers = [0, random.word(), random.below(200)];
  const filler = random.pick(fillers);
  words.fill(filler, HEADER / 4);
  for (let i = random.below(64); i > 0; i--) words[random.below(words.length)] = random.word();
  const reader = new RingReader(mine, peer);
  reader.position = reader.announced = (random.pick([0, 0x7fffff00, 0x80000000, random.word()]) & ~63) | 0;
  new Int32Array(mine.buffer)[32] = reader.position;
  let at = reader.position;
  for (let i = 0; i < 40; i++) {
    const word = (HEADER + (at & (CAPACITY - 1))) >> 2;
    const signal = anySignal(random, CAPACITY);
    words[word] = signal;
    words[word + 1] = anyKind(random);
    if (random.below(4) > 0) at = (at + frameSize(at, Math.max(0, signal - 1) % CAPACITY)) | 0;
  }
  return readAll({ random, reader, words, bytes });
}

/**
 * @param {object} memory
 * @param {import('./generator.js').Generator} memory.random
 * @param {InstanceType<typeof RingReader>} memory.reader
 * @param {Uint32Array} memory.words of the peer
 * @param {Uint8Array} memory.bytes of the peer
 */
function readAll({ random, reader, words, bytes }) {
  let frames = 0;
  for (; frames < FRAMES; frames++) {
    const before = reader.position;
    const start = HEADER + (before & (CAPACITY - 1));
    const signal = words[start >> 2];
    const kind = words[(start >> 2) + 1];
    const valid = signal - 1 <= CAPACITY - 16;
    const fast = reader.peekMessage();
    let size = -1;
    try {
      size = reader.peek();
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      assert(!valid && signal !== 0, `refused a valid signal ${signal}`);
      assert.equal(fast, -2);
      return frames;
    }
    assert.equal(size, signal === 0 ? -1 : signal - 1);
    assert.equal(fast, signal === 0 ? -1 : kind === 0 ? size : -2);
    assert.equal(reader.position, before, 'looking moved the reader');
    if (size < 0) return frames;
    assert.equal(reader.kind() >>> 0, kind);
    const from = reader.payloadOffset();
    reader.copy(from, size, target, 0);
    for (const i of [0, size >> 1, size - 1]) if (size > 0) assert.equal(target[i], bytes[from + i]);
    reader.consume(size);
    assert.equal(reader.position, (before + frameSize(before, size)) | 0);
    if (random.below(4) === 0) reader.announceRest();
    const announced = new Int32Array(mine.buffer)[32];
    assert((reader.position - announced) >>> 0 <= CAPACITY, 'the announced position is out of the ring');
    assert.equal(announced & 7, 0);
  }
  return frames;
}

/** One case of the writer: a peer that stores any read position. @param {number} seed @returns {number} frames written */
function fuzzWriter(seed) {
  const random = generator(seed);
  new Int32Array(mine.buffer, 0, HEADER / 4).fill(0);
  new Int32Array(peer.buffer, 0, HEADER / 4).fill(0);
  const peerWords = new Int32Array(peer.buffer);
  const writer = new RingWriter(mine, peer);
  const payload = new Uint8Array(CAPACITY);
  let read = 0; // what a correct peer has read at most: everything up to here may be overwritten
  let frames = 0;
  for (; frames < FRAMES; frames++) {
    const position = random.pick([writer.position, writer.position - random.below(CAPACITY), random.word(), read]) | 0;
    peerWords[32] = random.below(3) === 0 ? position : position & ~7;
    const size = random.pick([0, 1, 48, 56, 57, 1000, CAPACITY - 16, random.below(CAPACITY - 16)]);
    const before = writer.position;
    try {
      const written = writer.write(payload.subarray(0, size), 0);
      const used = (writer.position - writer.peerRead) | 0;
      assert(used >= 0 && used <= CAPACITY, 'the ring holds more than its capacity');
      assert.equal(writer.position, written ? (before + frameSize(before, size)) | 0 : before);
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      assert(
        peerWords[32] & 7 || (before - peerWords[32]) >>> 0 > (before - writer.peerRead) >>> 0,
        'refused a valid position',
      );
      return frames;
    }
    writer.publish();
    read = writer.peerRead;
  }
  return frames;
}

module.exports = { fuzzOnce, fuzzWriter };
