'use strict';
// The channels of a server that accept() has not returned yet. The users take turns, and when there are too many channels,
// the user who has the most loses one: no user's clients keep another's waiting.

/** @typedef {InstanceType<typeof import('./channel.js').Channel>} AChannel */

class Unaccepted {
  #most;
  #size = 0;
  /** The user whose turn is next comes first, and so does a user's oldest channel. @type {Map<number, AChannel[]>} */
  #users = new Map();

  /** @param {number} most how many channels to keep */
  constructor(most) {
    this.#most = most;
  }

  /** @param {AChannel} channel @returns {AChannel | undefined} the channel that has lost its place, for the caller to close */
  add(channel) {
    const { uid } = channel.peer;
    const channels = this.#users.get(uid);
    if (channels) channels.push(channel);
    else this.#users.set(uid, [channel]);
    this.#size++;
    return this.#size > this.#most ? this.#removeVictim() : undefined;
  }

  /** Remove the oldest channel of the user whose turn it is. @returns {AChannel | undefined} undefined if there is none */
  next() {
    for (const [uid, channels] of this.#users) {
      this.#users.delete(uid);
      if (channels.length > 1) this.#users.set(uid, channels); // behind the others
      this.#size--;
      return channels.shift();
    }
    return undefined;
  }

  /** Remove all. @returns {AChannel[]} */
  clear() {
    const all = [...this.#users.values()].flat();
    this.#users.clear();
    this.#size = 0;
    return all;
  }

  /** Of the user who has the most: the oldest whose peer has gone, or else the oldest. */
  #removeVictim() {
    let user = -1;
    /** @type {AChannel[]} */
    let most = [];
    for (const [uid, channels] of this.#users) if (channels.length > most.length) [user, most] = [uid, channels];
    const gone = most.findIndex(({ state }) => state !== 'open');
    const [victim] = most.splice(Math.max(0, gone), 1);
    if (most.length === 0) this.#users.delete(user);
    this.#size--;
    return victim;
  }
}

module.exports = { Unaccepted };
