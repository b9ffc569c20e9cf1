'use strict';
// One end of a channel in a walk: what it has sent and received so far, and the checks of both.
const { Arrivals, HEADER_BYTES, lastMessageOf, messageOf } = require('./messages.js');
const { Choices } = require('./random.js');

/** @typedef {InstanceType<typeof Choices>} Random */

const ABORTED = 'aborted by the walk'; // the reason of every signal
const SIZES_AT_EDGES = [8, 40, 48, 49, 56, 57, 63, 64, 65, 120, 128, 256, 257];

/**
 * What the ends of an actor share.
 * @typedef {object} Shared
 * @property {number} seed
 * @property {End[]} ends that are open
 * @property {(what: string) => never} fail
 * @property {InstanceType<typeof import('./promises.js').Promises>} promises
 * @property {{messages: number, responses: number}} checked
 */

class End {
  #shared;
  #arrivals;
  #sent = 0;
  /** @type {number[]} */ #unsent = []; // numbers whose send() was aborted
  #onLast = () => {};
  asking = 0; // requests without a response
  hasSentLast = false;
  hasEnded = false; // receive() returned null
  consuming = 'nothing yet'; // the way of receiving
  /** @type {string[]} */ producing = []; // the step of each producer

  /**
   * @param {import('./topology.js').EndPlan} plan
   * @param {import('../../../lib/index.js').Channel} channel
   * @param {Shared} shared
   */
  constructor(plan, channel, shared) {
    this.plan = plan;
    this.channel = channel;
    this.name = `channel ${plan.channel}`;
    this.stream = 2 * plan.channel + plan.side;
    this.random = new Choices(shared.seed, this.stream); // for the handler of requests
    this.#shared = shared;
    this.#arrivals = new Arrivals(2 * plan.channel + 1 - plan.side);
    this.lastArrives = new Promise((resolve) => {
      this.#onLast = () => resolve(undefined);
    });
  }

  /** The ends of this actor that may still send. */
  get sendingEnds() {
    return this.#shared.ends.filter((end) => !end.hasSentLast);
  }

  get checked() {
    return this.#shared.checked;
  }

  get hasLast() {
    return this.#arrivals.hasLast;
  }

  /** The size of a message that fits both ways. */
  get mostBytesBothWays() {
    return Math.min(this.channel.maxMessageBytes, this.plan.peerCapacity - 64);
  }

  /** @param {string} what @returns {never} */
  fail(what) {
    return this.#shared.fail(`${this.name}: ${what}`);
  }

  /** @param {string} what @param {unknown} error @returns {never} */
  failWith(what, error) {
    return this.fail(`${what}: ${error instanceof Error ? error.stack : error}`);
  }

  /** @template T @param {Promise<T>} promise @param {string} what */
  track(promise, what) {
    return this.#shared.promises.track(promise, `${this.name}: ${what}`);
  }

  /** Mostly small, sometimes the largest there is. @param {Random} random */
  drawSize(random) {
    const most = this.channel.maxMessageBytes;
    const share = random.next();
    if (share < 0.5) return random.between(HEADER_BYTES, 60);
    if (share < 0.7) return random.pick(SIZES_AT_EDGES);
    if (share < 0.9) return random.between(64, 3000);
    if (share < 0.97) return random.between(1000, Math.min(most, 60_000));
    return random.pick([most, most - 1, most - 8, most >> 1, (most >> 1) + 9, most >> 2]);
  }

  /** Sends the next message. @param {Random} random @param {AbortSignal} [signal] */
  async send(random, signal) {
    const number = this.#sent++;
    const message = messageOf(this.stream, number, this.drawSize(random));
    try {
      const sending = this.channel.send(message, signal && { signal });
      await this.track(sending, `send() of ${message.length} bytes`);
    } catch (reason) {
      if (reason !== ABORTED || !signal) this.failWith('send()', reason);
      this.#unsent.push(number);
    }
  }

  /** Sends the next message if there is room. @param {Random} random */
  trySend(random) {
    const isSent = this.channel.trySend(messageOf(this.stream, this.#sent, this.drawSize(random)));
    if (isSent) this.#sent++;
    return isSent;
  }

  /** @param {number} sizeBytes @param {AbortSignal} [signal] */
  async waitForRoom(sizeBytes, signal) {
    try {
      const waiting = this.channel.waitForRoom(sizeBytes, signal && { signal });
      await this.track(waiting, `waitForRoom(${sizeBytes})`);
    } catch (reason) {
      if (reason !== ABORTED || !signal) this.failWith('waitForRoom()', reason);
    }
  }

  async sendLast() {
    this.hasSentLast = true;
    await null; // what was sent in this turn is in order before it
    const message = lastMessageOf({ count: this.#sent, unsent: this.#unsent });
    await this.track(this.channel.send(message), 'send() of the last message');
  }

  /** @param {AbortSignal} [signal] */
  receive(signal) {
    return this.track(this.channel.receive(signal && { signal }), 'receive()');
  }

  /** Checks what was received. @param {Buffer | null} message null: the channel has ended */
  accept(message) {
    if (message === null) return this.end();
    this.#shared.checked.messages++;
    const wrong = this.#arrivals.check(message);
    if (wrong) this.fail(`${wrong} (${this.consuming})`);
    if (this.hasLast) this.#onLast();
  }

  end() {
    this.hasEnded = true;
    if (!this.hasLast) this.fail(`it ended before the last message (${this.consuming})`);
  }

  toString() {
    const { channel, plan } = this;
    const { transport, wait, spinMicros, capacity, authenticate } = plan.options;
    const lines = [
      `${this.name}, side ${plan.side}: ${transport}, ${wait}, spinMicros ${spinMicros}, capacity ${capacity}${authenticate ? ', authenticated' : ''}, ${channel.state}`,
      `${this.#sent} sent${this.hasSentLast ? ', then the last one' : ''}; ${this.#arrivals}; ${this.asking} requests wait`,
      `producers: ${this.producing.join(', ')}; consumer: ${this.consuming}`,
    ];
    if (channel.state !== 'closed') lines.push(JSON.stringify(channel.stats()));
    return lines.join('\n    ');
  }
}

module.exports = { ABORTED, End };
