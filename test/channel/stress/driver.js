'use strict';
// Drives one end of one channel through a random schedule: sends, receives and requests in every way there is, in hot and cold
// spells, and accounts for each message. Ends when the channel has ended and everything has settled.
const { maxMessage } = require('../../../lib/channel/layout.js');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { DIRECTION, Numbered, Random, STREAM, hash } = require('./plan.js');

const LONGEST_COLD_MS = 30; // far longer than any look
const CLOSED = 'ERR_CLOSED';
const DIED = 'ERR_PEER_DIED';
const SENDING = ['await', 'ping-pong', 'ping-pong', 'burst', 'burst', 'try', 'cork', 'cork across turns', 'unref'];
const RECEIVING = ['await', 'await', 'several', 'abort', 'loop', 'batches', 'try', 'into', 'read', 'sync'];
const HANDLER_FAILED = 'the handler of this request fails';

/** @typedef {import('./plan.js').ChannelPlan} ChannelPlan */

/** A sentence with the channel's name. */
class Lost extends Error {}

class Driver {
  #channel;
  #plan;
  #side;
  #random;
  #decodes;
  /** @type {any} */ #out;
  /** @type {any} */ #in;
  #sendNext = 0; // number of the next message
  #receiveNext = 0;
  #requestNext = 0;
  #handledNext = 0; // requests before this number have been handled, or will never come
  /** @type {number[]} */ #aborted = []; // numbers of sends that ended by their signal
  /** @type {number[]} */ #missing = []; // numbers that never came
  #sent = 0; // sends that were fulfilled
  #received = 0;
  #requests = { answered: 0, refused: 0, aborted: 0, ended: 0 };
  /** @type {string | undefined} */ #end; // how the channel ended for this side
  #closing = false;
  #unsettled = 0;
  #target = Buffer.alloc((1 << 20) + 8);
  progress = 0;
  activity = { send: 'starting', receive: 'starting', request: 'starting' };

  /**
   * @param {any} channel
   * @param {ChannelPlan} plan
   * @param {'left' | 'right'} side
   * @param {boolean} decodes does the option decode make objects of messages?
   */
  constructor(channel, plan, side, decodes) {
    this.#channel = channel;
    this.#plan = plan;
    this.#side = side;
    this.#decodes = decodes;
    this.#random = new Random(plan.seed, side === 'left' ? 1 : 2);
    const other = side === 'left' ? 'right' : 'left';
    this.#out = this.#streams(side, maxMessage(plan[side].capacity), maxMessage(plan[other].capacity));
    this.#in = this.#streams(other, maxMessage(plan[other].capacity), maxMessage(plan[side].capacity));
  }

  /** What the end on `side` sends. @param {'left' | 'right'} side @param {number} most @param {number} mostBack */
  #streams(side, most, mostBack) {
    const direction = side === 'left' ? DIRECTION.fromLeft : DIRECTION.fromRight;
    const { seed } = this.#plan;
    return {
      messages: new Numbered(seed, STREAM.messages + direction, most, 0),
      requests: new Numbered(seed, STREAM.requests + direction, most - 4, 16),
      responses: new Numbered(seed, STREAM.responses + direction, mostBack - 4, 0), // to those requests
    };
  }

  get name() {
    return `${this.#plan.name}, ${this.#side} end`;
  }

  /** What to print if this channel makes no progress. */
  describe() {
    const state = this.#end ?? (this.#closing ? 'closing' : 'open');
    const counts = `sent ${this.#sent}, received ${this.#received}, ${this.#unsettled} promises pending`;
    return `${this.name} (${state}): ${JSON.stringify(this.activity)}, ${counts}, ${JSON.stringify(this.#channel.stats())}`;
  }

  /** Runs the schedule until the channel has ended and every promise has settled. */
  async run() {
    this.#handleRequests();
    const { end } = this.#plan;
    const mine = end.by === this.#side || end.by === 'both';
    const limit = mine ? end.after : Number.POSITIVE_INFINITY;
    if (this.#plan.conversation) await this.#converse(limit);
    else await Promise.all([this.#sendUntil(limit), this.#receiveUntilEnd(), this.#requestUntilEnd()]);
    if (this.#unsettled !== 0) throw new Lost(`${this.name}: ${this.#unsettled} promises were never settled`);
    await this.#verifyEnd();
    await this.#channel.close();
    return {
      name: this.#plan.name,
      side: this.#side,
      end: this.#end,
      sent: this.#sent,
      sendNext: this.#sendNext,
      aborted: this.#aborted,
      received: this.#received,
      receiveNext: this.#receiveNext,
      missing: this.#missing,
      requests: this.#requests,
    };
  }

  /** Counts a promise until it has settled. @template T @param {Promise<T>} promise @returns {Promise<T>} */
  async #settled(promise) {
    this.#unsettled++;
    try {
      return await promise;
    } finally {
      this.#unsettled--;
      this.progress++;
    }
  }

  /** The channel has ended for this side. Anything but the expected reasons is thrown. @param {any} error */
  #ended(error) {
    if (error?.code !== CLOSED && error?.code !== DIED) throw error;
    if (error.code === DIED && this.#plan.end.by !== 'killed')
      throw new Lost(`${this.name}: ERR_PEER_DIED, but nobody was killed`);
  }

  #pause(/** @type {InstanceType<typeof Random>} */ random) {
    const kind = random.below(10);
    if (kind < 6) return undefined;
    if (kind < 8) return nextTurn();
    return pause(1 + random.below(kind === 8 ? 3 : LONGEST_COLD_MS));
  }

  /** A signal that fires at a random moment, or never. @param {InstanceType<typeof Random>} random */
  #signal(random) {
    const controller = new AbortController();
    const abort = () => controller.abort(Symbol.for('aborted'));
    const moment = random.below(6);
    if (moment === 0) queueMicrotask(abort);
    else if (moment === 1) setImmediate(abort);
    else if (moment === 2) setTimeout(abort, random.below(4));
    else if (moment === 3) setTimeout(abort, random.below(LONGEST_COLD_MS));
    else if (moment === 4) Promise.resolve().then(nextTurn).then(abort);
    return controller.signal;
  }

  // ---- Sending ----

  /** @param {number} limit messages; then this end closes */
  async #sendUntil(limit) {
    const random = new Random(this.#random.below(2 ** 32));
    const { at } = this.#plan.end;
    if (Number.isFinite(limit) && at === 'any moment') this.#closeAt(limit, random);
    while (!this.#over) {
      if (this.#sendNext >= limit && at === 'end of an operation') {
        this.activity.send = 'closing';
        await this.#close();
        break;
      }
      try {
        await this.#sendSome(random);
        await this.#pause(random);
      } catch (error) {
        this.#ended(error);
        break;
      }
    }
    this.activity.send = 'done';
  }

  get #over() {
    return this.#closing || this.#end !== undefined;
  }

  /** Closes in the midst of whatever happens. @param {number} limit @param {InstanceType<typeof Random>} random */
  #closeAt(limit, random) {
    const look = () => {
      if (this.#over) return;
      if (this.#sendNext >= limit || this.#receiveNext >= limit) this.#close();
      else setTimeout(look, random.below(3));
    };
    look();
  }

  #close() {
    this.#closing = true;
    return this.#channel.close();
  }

  /** @param {InstanceType<typeof Random>} random */
  async #sendSome(random) {
    const count = 1 + random.below(random.chance(0.2) ? 300 : 20);
    const way = random.pick(SENDING);
    this.activity.send = `${way}, ${count} from number ${this.#sendNext}`;
    const channel = this.#channel;
    if (way === 'await') {
      for (let i = 0; i < count && !this.#over; i++) await this.#send(random);
    } else if (way === 'ping-pong') {
      for (let i = 0; i < count && !this.#over; i++) await this.#sendAfterOne(random);
    } else if (way === 'burst') {
      await this.#sendBurst(count, random);
    } else if (way === 'try') {
      for (let i = 0; i < count && !this.#over; i++) await this.#trySend(random);
    } else if (way === 'unref') {
      const busy = setInterval(() => {}, 1000); // something else keeps the process alive
      channel.unref();
      try {
        await this.#sendBurst(count, random);
      } finally {
        channel.ref();
        clearInterval(busy);
      }
    } else {
      channel.cork();
      const sent = this.#sendBurst(count, random);
      if (way === 'cork across turns') await Promise.race([sent, nextTurn()]);
      if (channel.state !== 'closed') channel.uncork();
      await sent;
    }
  }

  /** Sends when the peer has sent something, or at least had the time to. @param {InstanceType<typeof Random>} random */
  async #sendAfterOne(random) {
    const before = this.#received;
    for (let tries = 0; tries < 40 && this.#received === before && !this.#over; tries++) {
      await (tries < 30 ? undefined : nextTurn());
    }
    await this.#send(random);
  }

  /** Many sends in one tick. @param {number} count @param {InstanceType<typeof Random>} random */
  async #sendBurst(count, random) {
    const all = [];
    for (let i = 0; i < count; i++) all.push(this.#send(random));
    const failed = (await Promise.allSettled(all)).find(({ status }) => status === 'rejected');
    if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason;
  }

  /** Sends the next message. An aborted one is noted: its receiver must never see it. @param {InstanceType<typeof Random>} random */
  async #send(random) {
    const number = this.#sendNext++;
    const abortable = this.#out.messages.isAbortable(number);
    const options = abortable ? { signal: this.#signal(random) } : undefined;
    try {
      await this.#settled(this.#channel.send(this.#out.messages.bytes(number), options));
      this.#sent++;
    } catch (error) {
      this.#aborted.push(number);
      if (error !== Symbol.for('aborted')) throw error;
      if (!abortable) throw new Lost(`${this.name}: send ${number} was aborted without a signal`);
    }
  }

  /** @param {InstanceType<typeof Random>} random */
  async #trySend(random) {
    for (let tries = 0; tries < 20 && !this.#over; tries++) {
      if (this.#channel.trySend(this.#out.messages.bytes(this.#sendNext))) {
        this.#sendNext++;
        this.#sent++;
        this.progress++;
        return;
      }
      await this.#pause(random);
    }
    if (!this.#over) await this.#send(random); // there is no room for long
  }

  // ---- Receiving ----

  async #receiveUntilEnd() {
    const random = new Random(this.#random.below(2 ** 32));
    while (this.#end === undefined) {
      try {
        await this.#receiveSome(random);
        await this.#pause(random);
      } catch (error) {
        this.#ended(error);
        this.#end = /** @type {any} */ (error).code === DIED ? 'died' : 'closed here';
      }
    }
    this.activity.receive = 'done';
  }

  /** Verifies the next message. @param {any} message */
  #take(message) {
    const bytes = this.#decodes ? message.bytes : message;
    const stream = this.#in.messages;
    const expected = this.#receiveNext;
    if (this.#end !== undefined) throw new Lost(`${this.name}: ${stream.describe(bytes)} after the end`);
    while (!stream.matches(bytes, this.#receiveNext)) {
      if (!stream.isAbortable(this.#receiveNext)) {
        throw new Lost(`${this.name}: expected message ${expected}, got ${stream.describe(bytes)}`);
      }
      this.#missing.push(this.#receiveNext++); // compared with what the sender aborted
    }
    this.#receiveNext++;
    this.#received++;
    this.progress++;
  }

  /** Takes a message, or null: the peer closed. @param {any} message @returns {boolean} was it a message? */
  #takeOrEnd(message) {
    if (message === null) this.#peerClosed();
    else this.#take(message);
    return message !== null;
  }

  #peerClosed() {
    if (this.#plan.end.by === this.#side || this.#plan.end.by === 'killed')
      throw new Lost(`${this.name}: the end of the channel, but the peer does not close it`);
    this.#end = 'drained';
  }

  /** @param {InstanceType<typeof Random>} random */
  async #receiveSome(random) {
    const channel = this.#channel;
    const count = 1 + random.below(random.chance(0.2) ? 500 : 40);
    const way = random.pick(RECEIVING);
    this.activity.receive = `${way}, ${count} from number ${this.#receiveNext}`;
    switch (way) {
      case 'await':
        for (let i = 0; i < count; i++) if (!this.#takeOrEnd(await this.#settled(channel.receive()))) return;
        return;
      case 'several':
        return this.#receiveSeveral(count, random, false);
      case 'abort':
        return this.#receiveSeveral(count, random, true);
      case 'loop': {
        let left = count;
        for await (const message of channel) {
          this.#take(message);
          if (--left === 0) return;
        }
        return this.#loopEnded();
      }
      case 'batches': {
        let left = count;
        for await (const batch of channel.batches({ max: 1 + random.below(100) })) {
          if (batch.length === 0) throw new Lost(`${this.name}: an empty batch`);
          for (const message of batch) this.#take(message);
          left -= batch.length;
          if (left <= 0) return;
        }
        return this.#loopEnded();
      }
      case 'sync':
        return this.#receiveSync(count, random);
      default:
        return this.#tryReceive(way, count, random);
    }
  }

  /** A loop ends quietly when the channel is closed, by the peer or here. */
  async #loopEnded() {
    if (this.#closing) {
      this.#end = 'closed here';
      return;
    }
    this.#peerClosed();
  }

  /**
   * Several receives at a time; some may be aborted, and then take no message.
   * @param {number} count
   * @param {InstanceType<typeof Random>} random
   * @param {boolean} aborts
   */
  async #receiveSeveral(count, random, aborts) {
    const all = [];
    for (let i = 0; i < count; i++) {
      const signal = aborts && random.chance(0.3) ? this.#signal(random) : undefined;
      all.push(this.#settled(this.#channel.receive({ signal })));
    }
    let failure;
    for (const result of await Promise.allSettled(all)) {
      if (result.status === 'fulfilled') {
        if (failure !== undefined) throw new Lost(`${this.name}: a receive was fulfilled after one that failed`);
        this.#takeOrEnd(result.value);
      } else if (result.reason !== Symbol.for('aborted')) {
        failure = result.reason;
      }
    }
    if (failure !== undefined) throw failure;
  }

  /** @param {number} count @param {InstanceType<typeof Random>} random */
  #receiveSync(count, random) {
    const timeout = random.pick([0, 1, 5]);
    for (let i = 0; i < count; i++) {
      try {
        if (!this.#takeOrEnd(this.#channel.receiveSync({ timeout }))) return;
      } catch (error) {
        if (/** @type {any} */ (error).code === 'ERR_TIMEOUT') return; // others of this thread get a turn
        throw error;
      }
    }
  }

  /** Receives without waiting. @param {string} way @param {number} count @param {InstanceType<typeof Random>} random */
  async #tryReceive(way, count, random) {
    const channel = this.#channel;
    const target = this.#target;
    const offset = 8 * random.below(2);
    for (let empty = 0, i = 0; i < count && empty < 20; ) {
      let got = false;
      if (way === 'try') {
        const message = channel.tryReceive();
        got = message !== null;
        if (got) this.#take(message);
      } else if (way === 'into') {
        const size = channel.tryReceiveInto(target, offset);
        got = size >= 0;
        if (got) this.#takeBytes(target.subarray(offset, offset + size));
      } else {
        got = channel.tryRead((/** @type {any} */ cursor) => {
          cursor.copy(target);
          this.#takeBytes(target.subarray(0, cursor.length));
        });
      }
      if (got) i++;
      else empty++;
      if (!got) await this.#pause(random);
    }
  }

  /** @param {Buffer} bytes */
  #takeBytes(bytes) {
    this.#take(this.#decodes ? { bytes } : bytes);
  }

  // ---- Requests ----

  #handleRequests() {
    const random = new Random(this.#random.below(2 ** 32));
    this.#channel.onRequest((/** @type {any} */ message) => this.#respond(message, random));
  }

  /**
   * Responds now or later, in any order, or fails.
   * @param {any} message
   * @param {InstanceType<typeof Random>} random
   */
  #respond(message, random) {
    const bytes = this.#decodes ? message.bytes : message;
    const stream = this.#in.requests;
    const number = stream.numberOf(bytes);
    if (!stream.matches(bytes, number))
      this.#fail(new Lost(`${this.name}: expected a request, got ${stream.describe(bytes)}`));
    if (number < this.#handledNext)
      this.#fail(new Lost(`${this.name}: request ${number} after request ${this.#handledNext - 1}`));
    this.#handledNext = number + 1;
    this.progress++;
    const response = this.#in.responses.bytes(number);
    const fails = number % 10 === 9;
    const result = () => {
      if (fails) throw new Error(HANDLER_FAILED);
      return response;
    };
    switch (random.below(4)) {
      case 0:
        return pause(random.below(5)).then(result);
      case 1:
        return nextTurn().then(result);
      case 2:
        return Promise.resolve().then(result);
      default:
        return result();
    }
  }

  /** A failure inside a handler would only reach the requester. @param {Error} error */
  #fail(error) {
    process.nextTick(() => {
      throw error;
    });
    throw error;
  }

  async #requestUntilEnd() {
    const random = new Random(this.#random.below(2 ** 32));
    while (!this.#over) {
      const count = 1 + random.below(random.chance(0.1) ? 200 : 10); // at a time, or one after the other
      this.activity.request = `${count} from number ${this.#requestNext}`;
      if (random.chance(0.5)) {
        const results = await Promise.all(Array.from({ length: count }, () => this.#request(random)));
        if (results.includes(false)) break;
      } else {
        for (let i = 0; i < count && !this.#over; i++) await this.#request(random);
      }
      await this.#pause(random);
      if (random.chance(0.5)) await pause(random.below(2 * LONGEST_COLD_MS));
    }
    this.activity.request = 'done';
  }

  /** @param {InstanceType<typeof Random>} random @returns {Promise<boolean>} false: the channel has ended */
  async #request(random) {
    const number = this.#requestNext++;
    /** @type {any} */
    const options = {};
    if (random.chance(0.2)) options.signal = this.#signal(random);
    if (random.chance(0.2)) options.timeout = random.pick([0, 1, 5, 100_000]);
    try {
      const response = await this.#settled(this.#channel.request(this.#out.requests.bytes(number), options));
      const bytes = this.#decodes ? response.bytes : response;
      if (number % 10 === 9)
        throw new Lost(`${this.name}: request ${number} was fulfilled although its handler failed`);
      if (!this.#out.responses.matches(bytes, number))
        throw new Lost(`${this.name}: expected response ${number}, got ${this.#out.responses.describe(bytes)}`);
      this.#requests.answered++;
      return true;
    } catch (error) {
      return this.#requestFailed(error, number, options);
    }
  }

  /** @param {any} error @param {number} number @param {any} options */
  #requestFailed(error, number, options) {
    if (error === Symbol.for('aborted') && options.signal) {
      this.#requests.aborted++;
      return true;
    }
    if (error?.code === 'ERR_TIMEOUT' && options.timeout < 100_000) {
      this.#requests.aborted++;
      return true;
    }
    if (error?.code === 'ERR_REQUEST_FAILED') {
      if (error.message !== HANDLER_FAILED || number % 10 !== 9)
        throw new Lost(`${this.name}: request ${number} was refused: ${error.message}`);
      this.#requests.refused++;
      return true;
    }
    this.#ended(error);
    this.#requests.ended++;
    return false;
  }

  // ---- Taking turns ----

  /**
   * Each side sends only when it has received, and nothing else is on its way: a wake-up that is lost stays lost.
   * @param {number} limit round trips; then this end closes
   */
  async #converse(limit) {
    const random = new Random(this.#random.below(2 ** 32));
    const { by } = this.#plan.end;
    const leads = by === 'right' ? this.#side === 'right' : this.#side === 'left';
    this.activity.request = 'none';
    try {
      while (this.#received < limit && this.#end === undefined) {
        if (leads) await this.#speak(random);
        await this.#hear(random);
        if (!leads && this.#end === undefined) await this.#speak(random);
      }
      if (this.#end === undefined) await this.#close();
      this.#end ??= 'closed here';
    } catch (error) {
      this.#ended(error);
      this.#end ??= /** @type {any} */ (error).code === DIED ? 'died' : 'closed here';
    }
  }

  /** @param {InstanceType<typeof Random>} random */
  async #speak(random) {
    const spell = hash(this.#plan.seed, this.#received >> 8) % 4; // both sides are hot, or cold, for 256 round trips
    const busy = spell === 0 ? 0 : random.below(spell === 1 ? 200 : 5000);
    for (let i = 0; i < busy; i++) hash(i); // so that messages come at any moment of the peer's way to sleep
    if (spell === 3 && random.chance(0.1)) await pause(random.below(3));
    const number = this.#sendNext++;
    this.activity.send = `number ${number}`;
    const bytes = this.#out.messages.bytes(number);
    if (random.chance(0.5) || !this.#channel.trySend(bytes)) await this.#settled(this.#channel.send(bytes));
    this.#sent++;
  }

  /** @param {InstanceType<typeof Random>} random */
  async #hear(random) {
    const channel = this.#channel;
    const way = random.below(10);
    this.activity.receive = `way ${way}, number ${this.#receiveNext}`;
    if (way < 6) this.#takeOrEnd(await this.#settled(channel.receive()));
    else if (way < 8) this.#takeFirst(await this.#settled(channel[Symbol.asyncIterator]().next()));
    else if (way < 9) this.#takeFirst(await this.#settled(channel.batches().next()));
    else this.#takeOrEnd(await this.#hearBlocking());
  }

  /** @param {{done?: boolean, value: any}} result of an iterator */
  #takeFirst({ done, value }) {
    if (done) this.#peerClosed();
    else for (const message of Array.isArray(value) ? value : [value]) this.#take(message);
  }

  /** Blocks this thread, but not forever: another channel of both processes may block the peer. */
  async #hearBlocking() {
    for (;;) {
      try {
        return this.#channel.receiveSync({ timeout: 2 });
      } catch (error) {
        if (/** @type {any} */ (error).code !== 'ERR_TIMEOUT') throw error;
        await nextTurn();
      }
    }
  }

  // ---- The end ----

  /** Every later call must report the end that this side has met. */
  async #verifyEnd() {
    const channel = this.#channel;
    const code = this.#end === 'died' ? DIED : CLOSED;
    const calls = {
      trySend: async () => channel.trySend('x'),
      send: () => channel.send('x'),
      request: () => channel.request('x'),
      receive: () => channel.receive(),
      receiveSync: async () => channel.receiveSync({ timeout: 0 }),
      tryReceive: async () => channel.tryReceive(),
    };
    for (const [call, attempt] of Object.entries(calls)) {
      const outcome = await attempt().catch((/** @type {any} */ error) => error.code ?? error);
      const drained = this.#end === 'drained' && /receive/i.test(call) && outcome === null;
      if (outcome !== code && !drained)
        throw new Lost(`${this.name} (${this.#end}): ${call}() gave ${String(outcome)} instead of ${code}`);
    }
  }
}

module.exports = { Driver, Lost };
