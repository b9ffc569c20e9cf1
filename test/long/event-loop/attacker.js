'use strict';
// A peer that floods: node attacker.js {"path": …, "attack": …, "channels": …, "capacity": …}. It writes its own memory by hand,
// so that nothing slows it down, and ends with its parent. What each attack does is in ATTACKS.
const { writeSync } = require('node:fs');
const { CLOSED_WORD, KIND, READ_POSITION_WORD } = require('../../../lib/channel/layout.js');
const { native } = require('../../../lib/channel/native.js');
const { RingReader } = require('../../../lib/channel/ring-reader.js');
const { RingWriter } = require('../../../lib/channel/ring-writer.js');

const { path, attack, channels, capacity } = JSON.parse(process.argv[2]);
const STEPS = 2000; // between two looks at whether the parent is still there
const STEADY_LOOKS = 300; // at its own memory, between two messages: about a microsecond
const END_MS = 20; // from when the receiver may start until a peer with a full ring ends
const HELLO_MS = 20_000;
const parent = process.ppid;

/** Connects, and does the handshake. */
function open() {
  const fd = native.connect(path);
  const mine = native.createRegion(capacity, false, false);
  native.sendHello(fd, mine.handle);
  let theirs = native.receiveHello(fd, false);
  while (!theirs) {
    native.waitReadable(fd, HELLO_MS);
    theirs = native.receiveHello(fd, false);
  }
  return { fd, mine, writer: new RingWriter(mine, theirs), reader: new RingReader(mine, theirs), number: 0 };
}

/** @typedef {ReturnType<typeof open>} End */

const SMALL = Buffer.alloc(32);
const EMPTY = Buffer.alloc(0);
const LARGE = Buffer.alloc(capacity / 4);

/** Writes and publishes a frame, if there is room. @param {End} end @param {Uint8Array} bytes @param {number} kind */
function write(end, bytes, kind) {
  if (!end.writer.write(bytes, kind, ++end.number)) return false;
  if (end.writer.publish()) native.ring(end.fd);
  return true;
}

/**
 * Reads everything that has arrived.
 * @param {End} end
 * @param {(kind: number, number: number) => void} [each]
 */
function read({ fd, reader }, each) {
  for (let size = reader.peek(); size >= 0; size = reader.peek()) {
    const kind = reader.kind();
    const number = kind === KIND.MESSAGE ? 0 : reader.number();
    reader.consume(size);
    each?.(kind, number);
  }
  reader.announceRest();
  if (!reader.mustRing) return;
  reader.mustRing = false;
  native.ring(fd);
}

/** @param {End} end */
function fillRing(end) {
  while (write(end, SMALL, KIND.MESSAGE));
}

/** Each makes one step on one channel. @type {Record<string, (end: End) => void>} */
const ATTACKS = {
  messages: (end) => write(end, SMALL, KIND.MESSAGE),
  'messages beside a quiet channel': (end) => write(end, SMALL, KIND.MESSAGE),
  'empty messages': (end) => write(end, EMPTY, KIND.MESSAGE),
  /** As fast as they are read: the ring never holds more than one. */
  'messages one by one'(end) {
    if (Atomics.load(end.writer.peerWords, READ_POSITION_WORD) === end.writer.position) write(end, SMALL, KIND.MESSAGE);
  },
  /** A steady sender, at about the speed of a receiver. */
  'steady messages'(end) {
    for (let i = 0; i < STEADY_LOOKS; i++) Atomics.load(end.writer.peerWords, READ_POSITION_WORD);
    write(end, SMALL, KIND.MESSAGE);
  },
  'large messages': (end) => write(end, LARGE, KIND.MESSAGE),
  requests(end) {
    write(end, SMALL, KIND.REQUEST);
    read(end);
  },
  'reading everything': (end) => read(end),
  'echoes of messages and answers to requests'(end) {
    read(end, (kind, number) => {
      end.writer.write(SMALL, kind === KIND.REQUEST ? KIND.RESPONSE : kind, number);
      if (end.writer.publish()) native.ring(end.fd);
    });
  },
  'requests whose responses it never reads': (end) => write(end, SMALL, KIND.REQUEST),
  'responses nobody asked for': (end) => write(end, SMALL, KIND.RESPONSE),
  'refusals nobody asked for': (end) => write(end, SMALL, KIND.REFUSAL),
  doorbells: ({ fd }) => native.ring(fd),
  'doorbells and messages'(end) {
    write(end, SMALL, KIND.MESSAGE);
    native.ring(end.fd);
  },
  'everything at once'(end) {
    write(end, SMALL, end.number & 3);
    if ((end.number & 7) === 0) native.ring(end.fd);
    if ((end.number & 31) === 0) read(end);
  },
};

const exit = {
  closed() {
    for (const { mine } of ends) Atomics.store(new Int32Array(mine.buffer), CLOSED_WORD, 1);
    process.exit(0);
  },
  killed: () => process.kill(process.pid, 'SIGKILL'),
};
/** How the process ends with full rings, and when. @type {Record<string, () => unknown>} */
const ENDS = {
  'a peer that closed with a full ring': exit.closed,
  'a peer that was killed with a full ring': exit.killed,
  'a peer that closes while its full ring is read': () => setTimeout(exit.closed, END_MS),
  'a peer that is killed while its full ring is read': () => setTimeout(exit.killed, END_MS),
};

const ends = Array.from({ length: channels }, open);

if (attack in ENDS) {
  for (const end of ends) fillRing(end);
  writeSync(1, 'ready\n');
  ENDS[attack]();
} else {
  writeSync(1, 'ready\n');
  while (process.ppid === parent) {
    for (let step = 0; step < STEPS; step++) ATTACKS[attack](ends[step % channels]);
  }
}
