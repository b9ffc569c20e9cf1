'use strict';
// The bytes of a walk: each message carries its number and size in front of bytes that depend on its stream and number, so that
// its receiver can tell whether it is whole and in its place. The last message of a stream tells which numbers were never sent.
const { hash } = require('../../channel/stress/plan.js');

const HEADER_BYTES = 8; // the number, then the size
const LAST = 0xffffffff; // the number of the last message
const MAX_BYTES = 1 << 20;

const bodies = Buffer.alloc(2 * MAX_BYTES);
for (let at = 0; at < bodies.length; at += 4) bodies.writeUInt32LE(hash(at), at);

/** Bytes that depend on every argument. @param {number} sizeBytes @param {...number} key */
function bodyOf(sizeBytes, ...key) {
  const from = hash(...key) % MAX_BYTES;
  return Buffer.from(bodies.subarray(from, from + sizeBytes));
}

/** @param {number} stream @param {number} number @param {number} sizeBytes at least HEADER_BYTES */
function messageOf(stream, number, sizeBytes) {
  const message = bodyOf(sizeBytes, stream, number);
  message.writeUInt32LE(number, 0);
  message.writeUInt32LE(sizeBytes, 4);
  return message;
}

/** @param {{count: number, unsent: number[]}} summary what was numbered, and what of it was not sent */
function lastMessageOf(summary) {
  const text = Buffer.from(JSON.stringify(summary));
  const message = Buffer.concat([Buffer.alloc(HEADER_BYTES), text]);
  message.writeUInt32LE(LAST, 0);
  message.writeUInt32LE(message.length, 4);
  return message;
}

/** Checks one stream of messages as it arrives. Gaps are allowed only where the sender says that it did not send. */
class Arrivals {
  #stream;
  #next = 0;
  /** @type {number[]} */ #gaps = [];
  hasLast = false;

  /** @param {number} stream */
  constructor(stream) {
    this.#stream = stream;
  }

  /** @param {Buffer} message @returns {string | null} what is wrong with it */
  check(message) {
    if (message.length < HEADER_BYTES) return `a message of ${message.length} bytes was never sent`;
    const number = message.readUInt32LE(0);
    const size = message.readUInt32LE(4);
    if (this.hasLast) return `message ${number} arrived after the last one`;
    if (message.length !== size) return `message ${number} has ${message.length} of ${size} bytes`;
    if (number === LAST) return this.#checkLast(JSON.parse(message.toString('utf8', HEADER_BYTES)));
    if (number < this.#next) return `message ${number} arrived after message ${this.#next - 1}`;
    if (!message.equals(messageOf(this.#stream, number, size))) return `message ${number} of ${size} bytes is torn`;
    this.#skipTo(number);
    this.#next++;
    return null;
  }

  /** @param {number} number */
  #skipTo(number) {
    while (this.#next < number) this.#gaps.push(this.#next++);
  }

  /** @param {{count: number, unsent: number[]}} summary */
  #checkLast({ count, unsent }) {
    this.hasLast = true;
    if (this.#next > count) return `${this.#next} messages arrived of ${count}`;
    this.#skipTo(count);
    const allowed = new Set(unsent);
    const lost = this.#gaps.filter((number) => !allowed.has(number));
    if (lost.length > 0) return `of ${count} messages, these are lost: ${lost.slice(0, 20).join(', ')}`;
    if (this.#gaps.length < allowed.size) return `a message arrived although its send() was aborted: one of ${unsent}`;
    return null;
  }

  toString() {
    return `${this.#next} received${this.hasLast ? ', the last one among them' : ''}`;
  }
}

module.exports = { Arrivals, HEADER_BYTES, bodyOf, lastMessageOf, messageOf };
