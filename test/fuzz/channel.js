'use strict';
// Fuzzes a whole channel in one thread, so that a seed repeats everything: the peer's region is in this process, and the
// fuzzer stores into it between the victim's calls. Properties: no call throws anything but ERR_PEER_CORRUPT,
// ERR_PEER_DIED and ERR_CLOSED, every message is as large as a frame can be, and calls come to an end.
const assert = require('node:assert');
const crossings = require('../../lib/index.js');
const { native } = require('../../lib/channel/native.js');
const { RingReader } = require('../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { generator, anySignal, anyKind } = require('./generator.js');

const HEADER = 4096;
const CAPACITY = 65536;
const STEPS = 200;
const STEPS_AFTER_THE_END = 10; // calls on a channel that has ended only throw
const SANE = new Set(['ERR_PEER_CORRUPT', 'ERR_PEER_DIED', 'ERR_CLOSED', 'ERR_REQUEST_FAILED', 'ERR_TIMEOUT']);

/** @param {unknown} error */
function sane(error) {
  if (!SANE.has(/** @type {any} */ (error).code)) throw error;
}

/** @typedef {import('./generator.js').Generator} Generator */

/** A victim and the attacker at its other end. @param {Generator} random */
async function open(random) {
  const [ours, theirs] = native.socketPair();
  const region = native.createRegion(CAPACITY, random.below(2) === 0, false);
  native.sendHello(theirs, region.handle);
  /** @type {any} */
  const victim = await crossings.openChannel(ours, {
    capacity: CAPACITY,
    wait: random.pick(['spin-then-sleep', 'sleep']),
    sharedBuffers: random.below(2) === 0,
  });
  const seen = native.receiveHello(theirs, false);
  if (seen === null) throw new Error('the victim has sent no hello');
  return {
    victim,
    theirs,
    region,
    seen,
    socketOpen: true,
    lied: false,
    words: new Int32Array(region.buffer),
    seenWords: new Int32Array(seen.buffer),
    writer: new RingWriter(region, seen),
    reader: new RingReader(region, seen),
    payload: new Uint8Array(CAPACITY),
    /** @type {Promise<unknown>[]} */ pending: [],
    received: 0,
  };
}

/** @typedef {Awaited<ReturnType<typeof open>>} Pair */

/** Where the victim reads next, as far as it shows, as a word of the attacker's region. @param {Pair} pair */
const target = ({ seenWords }) => (HEADER + (seenWords[32] & (CAPACITY - 1) & ~7)) >> 2;

/** What the attacker does. @type {((pair: Pair, random: Generator) => void)[]} */
const ATTACKS = [
  ...Array(4).fill(writeFrame),
  (pair, random) => {
    pair.words[target(pair)] = anySignal(random, CAPACITY) | 0;
  },
  (pair, random) => {
    pair.words[target(pair) + 1] = anyKind(random) | 0;
  },
  (pair, random) => {
    pair.words[target(pair) + 2] = random.pick([random.word() | 0, random.below(10)]);
  },
  (pair, random) => {
    pair.words[random.below(pair.words.length)] = random.word() | 0;
  },
  ({ words }, random) => {
    words[random.pick([32, 64, 65])] = random.pick([random.word() | 0, random.below(100), words[64] + 1]);
  },
  ({ words }, random) => {
    if (random.below(16) === 0) words[96] = random.below(2);
  },
  ({ theirs, socketOpen }) => {
    if (socketOpen) native.ring(theirs);
  },
  (pair, random) => {
    if (!pair.socketOpen || random.below(32) !== 0) return;
    native.closeFd(pair.theirs);
    pair.socketOpen = false;
  },
  (pair, random) => {
    if (random.below(16) !== 0) return;
    const kind = random.below(4);
    for (let at = HEADER >> 2; at < (HEADER + CAPACITY) >> 2; at += 16) {
      pair.words[at + 1] = kind;
      pair.words[at] = 5;
    }
  },
];

/** A correct frame. @param {Pair} pair @param {Generator} random */
function writeFrame({ writer, payload, theirs, socketOpen }, random) {
  try {
    const size = random.pick([0, 4, 40, 300, random.below(CAPACITY - 32)]);
    if (!writer.write(payload.subarray(0, size), random.pick([0, 0, 0, 1, 2, 3]), random.below(20))) return;
    if (writer.publish() && socketOpen) native.ring(theirs);
  } catch (error) {
    // The victim has followed a wrong size past what was written.
    if (/** @type {any} */ (error).code !== 'ERR_PEER_CORRUPT') throw error;
    writer.position = writer.peerRead = writer.peerWords[32];
    writer.heldSignal = 0;
  }
}

/** What the victim does. @type {((pair: Pair, random: Generator) => void)[]} */
const CALLS = [
  (pair) => got(pair, pair.victim.tryReceive()?.length),
  (pair, random) => {
    const size = pair.victim.tryReceiveInto(new Uint8Array(CAPACITY), random.below(16));
    if (size >= 0) got(pair, size);
  },
  (pair) =>
    pair.victim.tryRead((/** @type {any} */ message) => {
      message.copy(new Uint8Array(message.length));
      got(pair, message.length);
    }),
  ({ victim }, random) => victim.trySend(new Uint8Array(random.pick([0, 50, 60, 3000]))),
  (pair, random) => {
    if (pair.pending.length < 20)
      pair.pending.push(
        pair.victim.receive({ signal: AbortSignal.timeout(20 + random.below(20)) }).catch(saneOrAborted),
      );
  },
  (pair) => {
    if (pair.pending.length < 20) pair.pending.push(pair.victim.request('?', { timeout: 20 }).catch(sane));
  },
  ({ victim }, random) =>
    victim.onRequest(random.below(3) === 0 ? null : (/** @type {Buffer} */ bytes) => bytes.subarray(0, 9)),
  ({ victim }, random) => (random.below(2) === 0 ? victim.cork() : victim.uncork()),
];

/** @param {any} error */
function saneOrAborted(error) {
  if (error.name !== 'TimeoutError') sane(error);
}

/** @param {Pair} pair @param {number | undefined} size */
function got(pair, size) {
  if (size === undefined) return;
  assert(size >= 0 && size <= CAPACITY - 16, `a message of ${size} bytes`);
  pair.received++;
}

/** The attacker reads correctly: the victim's ring must always be valid. @param {Pair} pair */
function readCorrectly({ reader }) {
  for (let i = 0; i < 100; i++) {
    const size = reader.peek();
    if (size < 0) return;
    assert(reader.kind() >= 0 && reader.kind() <= 3, `the victim sent kind ${reader.kind()}`);
    reader.consume(size);
  }
}

/** @param {number} seed @returns {Promise<number>} messages received */
async function fuzzOnce(seed) {
  const random = generator(seed);
  const pair = await open(random);
  const turns = random.below(4) === 0;
  for (let left = STEPS; left > 0; left--) {
    random.pick(ATTACKS)(pair, random);
    try {
      random.pick(CALLS)(pair, random);
    } catch (error) {
      sane(error);
      left = Math.min(left, STEPS_AFTER_THE_END);
    }
    // It has claimed to have read what it has not, so the victim may write there.
    pair.lied ||= ((pair.words[32] - pair.reader.position) | 0) > 0;
    if (!pair.lied && random.below(8) === 0) readCorrectly(pair);
    if (turns && random.below(8) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await pair.victim.close();
  await Promise.all(pair.pending);
  if (pair.socketOpen) native.closeFd(pair.theirs);
  native.releaseRegion(pair.region.handle, pair.region.buffer);
  native.releaseRegion(pair.seen.handle, pair.seen.buffer);
  return pair.received;
}

/**
 * Runs in its own process, so that a loop without end can be stopped: node channel.js SEED SECONDS. Prints each seed before
 * a second of it, and at the end the number of cases.
 */
async function main() {
  const first = Number(process.argv[2]);
  const until = performance.now() + 1000 * Number(process.argv[3]);
  let cases = 0;
  let received = 0;
  let shown = 0;
  let seed = first;
  process.on('unhandledRejection', (error) => {
    process.stderr.write(`seed ${seed}: ${/** @type {any} */ (error)?.stack}\n`);
    process.exit(1);
  });
  for (; performance.now() < until; seed++, cases++) {
    process.title = `fuzz ${seed}`;
    if (performance.now() - shown > 200) {
      shown = performance.now();
      process.stdout.write(`${JSON.stringify({ seed })}\n`);
    }
    try {
      received += await fuzzOnce(seed);
    } catch (error) {
      process.stderr.write(`seed ${seed}: ${/** @type {any} */ (error).stack}\n`);
      process.exit(1);
    }
  }
  process.stdout.write(`${JSON.stringify({ cases, received })}\n`);
}

if (require.main === module) main();

module.exports = { fuzzOnce };
