'use strict';
// What each user has open at one server: channels, and the bytes of their rings. A user above a limit is refused, and no
// user's channels count against another's. What was closed or refused is freed by another thread, and a peer can make that last:
// until then, a user with too much of it has to wait.
const { now } = require('./clock.js');
const { CrossingsError } = require('./errors.js');

const FEW = 32; // entries; with at most this many, closed ones are not removed
const MANY = 1024; // entries besides open channels, with which a user has to wait, however small they are
const PAUSE_MS = 5; // between two looks for what has been freed

/**
 * @typedef {{capacity: number, handle: unknown}} Memory a region
 * @typedef {{isOpen: boolean, bytes: number, mine: unknown, peer: unknown}} Entry a channel, or what was refused: the bytes of both rings, and the handles of the regions
 * @typedef {{entries: Entry[], channels: number, bytes: number, heldBytes: number}} User the open channels and their bytes; the bytes of all entries
 * @typedef {object} Regions
 * @property {(handle: any) => boolean} isReleased has the channel of this region been closed?
 * @property {(handle: any) => boolean} isFree has its memory been freed, too?
 */

class Usage {
  #maxChannels;
  #maxBytes;
  #regions;
  /** @type {Map<number, User>} */ #users = new Map(); // with channels that are closed, until #removeClosed()
  #size = 0; // entries of all users
  #removeAt = FEW; // the size at which closed channels are removed: twice what was left the last time
  #removedAt = 0; // now()

  /**
   * @param {{maxChannelsPerUser: number, maxBytesPerUser: number}} options
   * @param {Regions} regions
   */
  constructor({ maxChannelsPerUser, maxBytesPerUser }, regions) {
    this.#regions = regions;
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
    const user = this.#of(uid);
    throw new CrossingsError(
      'ERR_LIMIT_EXCEEDED',
      `User ${uid} has reached a limit: ${user.channels} channels (maxChannelsPerUser: ${this.#maxChannels}) with ${user.bytes} bytes in total (maxBytesPerUser: ${this.#maxBytes}).`,
    );
  }

  /**
   * May a client's region be received? Not while what this user has closed, or was refused, fills the limit: then try again soon.
   * @param {number} uid
   */
  mayReceive(uid) {
    if (this.#hasRoom(uid)) return true;
    if (now() - this.#removedAt < PAUSE_MS) return false;
    this.#removeClosed();
    return this.#hasRoom(uid);
  }

  /** Count a channel that is about to open. Throws as check() does: then the caller releases the regions. @param {number} uid @param {Memory} mine @param {Memory} peer */
  add(uid, mine, peer) {
    const bytes = mine.capacity + peer.capacity;
    const entry = { isOpen: false, bytes, mine: mine.handle, peer: peer.handle };
    try {
      this.check(uid, 1, bytes);
      entry.isOpen = true;
    } finally {
      this.#count(uid, entry);
    }
  }

  /** @param {number} uid @param {Entry} entry */
  #count(uid, entry) {
    const user = this.#of(uid);
    this.#users.set(uid, user);
    user.entries.push(entry);
    user.heldBytes += entry.bytes;
    if (entry.isOpen) user.channels++;
    if (entry.isOpen) user.bytes += entry.bytes;
    this.#size++;
    if (this.#size > this.#removeAt) this.#removeClosed();
  }

  /** @param {number} uid @returns {User} */
  #of(uid) {
    return this.#users.get(uid) ?? { entries: [], channels: 0, bytes: 0, heldBytes: 0 };
  }

  /** @param {number} uid @param {number} channels @param {number} bytes */
  #fits(uid, channels, bytes) {
    const user = this.#of(uid);
    return user.channels + channels <= this.#maxChannels && user.bytes + bytes <= this.#maxBytes;
  }

  /** Does what is not freed yet leave room for more? @param {number} uid */
  #hasRoom(uid) {
    const { bytes, channels, entries, heldBytes } = this.#of(uid);
    return heldBytes === bytes || (heldBytes <= this.#maxBytes && entries.length - channels < MANY);
  }

  #removeClosed() {
    const { isReleased, isFree } = this.#regions;
    const users = this.#users;
    this.#users = new Map();
    this.#size = 0;
    this.#removeAt = Number.POSITIVE_INFINITY; // #count() must not come back here
    for (const [uid, { entries }] of users) {
      for (const entry of entries) {
        entry.isOpen = entry.isOpen && !isReleased(entry.mine);
        if (entry.isOpen || !isFree(entry.mine) || !isFree(entry.peer)) this.#count(uid, entry);
      }
    }
    this.#removeAt = Math.max(FEW, 2 * this.#size);
    this.#removedAt = now();
  }
}

module.exports = { Usage };
