'use strict';
// What travels over the socket: a hello from each side, then records. A record is 8 bytes, a value and a kind. The payload of a
// frame follows its record: the value is its size. Numbers are little-endian and have 32 bits.
const { CrossingsError } = require('../channel/errors.js');
const { MAX_CAPACITY, MIN_CAPACITY } = require('../channel/layout.js');

const MAGIC = 0x4b535243; // "CRSK"
const VERSION = 1;
const AUTHENTICATED = 2; // the flag's value in a region, too
const HELLO_BYTES = 32; // magic, version, capacity, flags, and a key of four words
const RECORD_BYTES = 8;

/** The kinds of records that are not frames. Those of frames are in lib/channel/layout.js. */
const RECORD = Object.freeze({ READ: 16, CLOSED: 17 });

/** @param {number} capacity @param {number[] | null} key of an authenticated channel */
function writeHello(capacity, key) {
  const hello = Buffer.alloc(HELLO_BYTES);
  const words = [MAGIC, VERSION, capacity, key === null ? 0 : AUTHENTICATED, ...(key ?? [])];
  for (const [index, word] of words.entries()) hello.writeUInt32LE(word >>> 0, 4 * index);
  return hello;
}

/**
 * Check a peer's hello.
 * @param {Buffer} hello
 * @param {{maxPeerCapacity: number, authenticate: boolean}} options
 * @param {() => void} onVersion called once the peer is known to speak this version: it understands this side's hello
 * @returns {{capacity: number, key: number[] | null}}
 */
function readHello(hello, { maxPeerCapacity, authenticate }, onVersion) {
  const [magic, version, capacity, flags, ...key] = Array.from({ length: 8 }, (_, at) => hello.readUInt32LE(4 * at));
  if (magic !== MAGIC) refuse("the peer does not use transport: 'socket'");
  if (version !== VERSION) refuse(`the peer uses protocol version ${version}; this side uses version ${VERSION}`);
  onVersion();
  if ((flags & ~AUTHENTICATED) !== 0) refuse(`the peer sent unknown flags ${flags}`);
  if (capacity < MIN_CAPACITY || capacity > MAX_CAPACITY || (capacity & (capacity - 1)) !== 0)
    refuse(`the peer sent an invalid capacity, ${capacity}`);
  const isAuthenticated = flags !== 0;
  if (isAuthenticated !== authenticate)
    refuse(
      `${authenticate ? 'only this side' : 'only the peer'} has set the option authenticate. Set it at both ends, or at neither`,
    );
  if (capacity > maxPeerCapacity)
    throw new CrossingsError(
      'ERR_LIMIT_EXCEEDED',
      `The peer's ring has ${capacity} bytes; the option maxPeerCapacity allows ${maxPeerCapacity}.`,
    );
  return { capacity, key: isAuthenticated ? key : null };
}

/** @param {string} reason @returns {never} */
function refuse(reason) {
  throw new CrossingsError('ERR_PROTOCOL', `Handshake failed: ${reason}.`);
}

module.exports = { HELLO_BYTES, RECORD, RECORD_BYTES, readHello, writeHello };
