'use strict';
// What each user has open at one server: channels, and the bytes of their rings. A user above a limit is refused, and no
// user's channels count against another's.
const { CrossingsError } = require('./errors.js');

const FEW = 32; // channels; with at most this many, closed ones are not removed

/**
 * @typedef {{capacity: number, handle: unknown}} Memory a region
 * @typedef {{bytes: number, handle: unknown}} Entry a channel: the bytes of both rings, and the region that it releases when it closes
 */

class Usage {
  #maxChannels;
  #maxBytes;
  #isReleased;
  /** @type {Map<number, Entry[]>} */ #users = new Map(); // with channels that are closed, until #removeClosed()
  #size = 0; // channels of all users, also closed ones
  #removeAt = FEW; // the size at which closed channels are removed: twice what was open the last time

  /**
   * @param {{maxChannelsPerUser: number, maxBytesPerUser: number}} options
   * @param {(handle: any) => boolean} isReleased has the channel of this region been closed?
   */
  constructor({ maxChannelsPerUser, maxBytesPerUser }, isReleased) {
    this.#isReleased = isReleased;
    this.#maxChannels = maxChannelsPerUser;
    this.#maxBytes = maxBytesPerUser;
  }

  /**
   * Throws if a user cannot have more.
   * @param {number} uid
   * @param {number} channels to be added
   * @param {number} bytes to be added
   */
  check(uid, channels, bytes) {
    if (this.#fits(uid, channels, bytes)) return;
    this.#removeClosed();
    if (this.#fits(uid, channels, bytes)) return;
    throw new CrossingsError(
      'ERR_LIMIT_EXCEEDED',
      `User ${uid} has reached a limit: ${this.#entries(uid).length} channels (maxChannelsPerUser: ${this.#maxChannels}) with ${this.#bytes(uid)} bytes in total (maxBytesPerUser: ${this.#maxBytes}).`,
    );
  }

  /** Count a channel that is about to open. Throws as check() does. @param {number} uid @param {Memory} mine @param {Memory} peer */
  add(uid, mine, peer) {
    const bytes = mine.capacity + peer.capacity;
    this.check(uid, 1, bytes);
    const entries = this.#entries(uid);
    entries.push({ bytes, handle: mine.handle });
    this.#users.set(uid, entries);
    this.#size++;
    if (this.#size > this.#removeAt) this.#removeClosed();
  }

  /** @param {number} uid @returns {Entry[]} */
  #entries(uid) {
    return this.#users.get(uid) ?? [];
  }

  /** @param {number} uid */
  #bytes(uid) {
    return this.#entries(uid).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** @param {number} uid @param {number} channels @param {number} bytes */
  #fits(uid, channels, bytes) {
    return this.#entries(uid).length + channels <= this.#maxChannels && this.#bytes(uid) + bytes <= this.#maxBytes;
  }

  #removeClosed() {
    this.#size = 0;
    for (const [uid, entries] of this.#users) {
      const open = entries.filter(({ handle }) => !this.#isReleased(handle));
      if (open.length > 0) this.#users.set(uid, open);
      else this.#users.delete(uid);
      this.#size += open.length;
    }
    this.#removeAt = Math.max(FEW, 2 * this.#size);
  }
}

module.exports = { Usage };
