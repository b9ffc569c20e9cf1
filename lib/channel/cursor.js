'use strict';
// Reads a message in place, usually in the peer's memory, without copying it. The user never gets a view of that memory:
// writing to it would crash the process, and the view could outlive the mapping.
const { Buffer } = require('node:buffer');
const { isUint8Array } = require('node:util').types;
const { CrossingsError } = require('./errors.js');
const { invalidArgument, shown } = require('./options.js');

/** Read-only access to one message, valid until the callback that received it returns or the channel is closed. Offsets are bytes. */
class Cursor {
  /** @type {Uint8Array | null} */ #bytes;
  /** @type {DataView} */ #view;
  #from;
  #length;

  /** @param {Uint8Array} bytes the peer's region, or a message from the inbox @param {number} from @param {number} length */
  constructor(bytes, from, length) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset + from, length);
    this.#from = from;
    this.#length = length;
  }

  /** Size of the message in bytes. */
  get length() {
    return this.#length;
  }

  #memory() {
    if (!this.#bytes)
      throw new CrossingsError('ERR_CLOSED', 'Cursor used after its callback returned or its channel was closed.');
    return this.#bytes;
  }

  /** @param {string} method @param {number} offset @param {boolean} [littleEndian] */
  #get(method, offset, littleEndian) {
    this.#memory();
    return /** @type {any} */ (this.#view)[method](offset, littleEndian);
  }

  /** @param {number} offset */ getInt8(offset) {
    return this.#get('getInt8', offset);
  }
  /** @param {number} offset */ getUint8(offset) {
    return this.#get('getUint8', offset);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getInt16(offset, littleEndian) {
    return this.#get('getInt16', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getUint16(offset, littleEndian) {
    return this.#get('getUint16', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getInt32(offset, littleEndian) {
    return this.#get('getInt32', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getUint32(offset, littleEndian) {
    return this.#get('getUint32', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getFloat32(offset, littleEndian) {
    return this.#get('getFloat32', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getFloat64(offset, littleEndian) {
    return this.#get('getFloat64', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getBigInt64(offset, littleEndian) {
    return this.#get('getBigInt64', offset, littleEndian);
  }
  /** @param {number} offset @param {boolean} [littleEndian] */ getBigUint64(offset, littleEndian) {
    return this.#get('getBigUint64', offset, littleEndian);
  }

  /**
   * Copy bytes of the message into a buffer.
   * @param {Uint8Array} target
   * @param {number} [targetStart]
   * @param {number} [start] in the message
   * @param {number} [end] in the message
   * @returns {number} bytes copied
   */
  copy(target, targetStart = 0, start = 0, end = this.#length) {
    const bytes = this.#memory();
    if (!isUint8Array(target)) invalidArgument('target', 'a Uint8Array', target);
    const { length } = target;
    if (!Number.isInteger(targetStart) || targetStart < 0 || targetStart > length)
      invalidArgument('targetStart', `an integer from 0 to ${length}`, targetStart);
    this.#check(start, end);
    const count = Math.min(end - start, length - targetStart);
    target.set(bytes.subarray(this.#from + start, this.#from + start + count), targetStart);
    return count;
  }

  /**
   * @param {BufferEncoding} [encoding]
   * @param {number} [start]
   * @param {number} [end]
   */
  toString(encoding = 'utf8', start = 0, end = this.#length) {
    this.#check(start, end); // first: a length in the message may be any number
    const copy = Buffer.allocUnsafe(end - start);
    this.copy(copy, 0, start, end);
    return copy.toString(encoding);
  }

  /** @param {number} start @param {number} end */
  #check(start, end) {
    if (Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= this.#length) return;
    throw new CrossingsError(
      'ERR_INVALID_ARGUMENT',
      `start and end must form a range within 0 to ${this.#length}; got ${shown(start)} to ${shown(end)}.`,
    );
  }

  /** Invalidate the cursor. */
  leave() {
    this.#bytes = null;
    this.#view = new DataView(new ArrayBuffer(0));
  }
}

module.exports = { Cursor };
