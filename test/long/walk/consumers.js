'use strict';
// How the consumer of a walk receives: in every way that a channel has, for a while each, until the last message and the end.
const { setMaxListeners } = require('node:events');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { ABORTED } = require('./end.js');
const { ask } = require('./requests.js');

/** @typedef {InstanceType<typeof import('./end.js').End>} End */
/** @typedef {InstanceType<typeof import('./random.js').Choices>} Choices */

const MOST_OFFSET = 16; // in the buffer of tryReceiveInto()
const SMALL_BYTES = 10; // a buffer that is too small for most messages

/** The side that closes first has nothing to wait for once it has the last message. @param {End} end */
const isDone = (end) => end.hasEnded || (end.hasLast && end.plan.side === 0);

/** Prevents that a rejection is unhandled before it is awaited. @param {Promise<unknown>[]} promises */
function handleLater(promises) {
  for (const promise of promises) promise.catch(() => {});
}

/**
 * Receives by calls that do not wait, until some have found nothing, or there were enough.
 * @param {End} end @param {number} most how often it tries @param {number} misses how often it may find nothing
 * @param {() => boolean} attempt did it find a message?
 * @param {() => Promise<unknown>} rest when nothing was there
 */
async function attempts(end, most, misses, attempt, rest) {
  for (let left = most; left > 0 && misses > 0 && !end.hasLast; left--) {
    if (attempt()) continue;
    misses--;
    await rest();
  }
}

/**
 * Receives some messages by an iterator.
 * @param {End} end @param {Choices} random @param {AsyncIterable<Buffer>} messages @param {number} pauses how probable one is
 */
async function iterate(end, random, messages, pauses) {
  let left = random.between(1, 200);
  for await (const message of messages) {
    end.accept(message);
    if (random.chance(pauses)) await nextTurn();
    if (--left === 0 || end.hasLast) return;
  }
  end.end();
}

/** Uses what tryRead() lends, while the message is still in the ring. @param {End} end @param {Choices} random */
function useCallsWhileReading(end, random) {
  if (!end.hasSentLast) {
    if (random.chance(0.1)) end.trySend(random);
    if (random.chance(0.1)) end.send(random);
    if (random.chance(0.2)) ask(end, random, 1);
  }
  if (random.chance(0.9)) return;
  try {
    end.channel.tryReceive();
  } catch {
    return; // a message cannot be received while one is read
  }
  end.fail('tryReceive() during tryRead() did not throw');
}

/** @type {Record<string, (end: End, random: Choices) => unknown>} */
const WAYS = {
  async 'receive()'(end, random) {
    for (let left = random.between(1, 30); left > 0 && !isDone(end) && !end.hasLast; left--) {
      end.accept(await end.receive());
    }
  },
  async 'several receive(), some aborted'(end, random) {
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const receiving = Array.from({ length: random.between(1, 12) }, () =>
      end.receive(random.chance(0.3) ? controller.signal : undefined),
    );
    handleLater(receiving);
    if (random.chance(0.5)) await nextTurn();
    controller.abort(ABORTED);
    for (const promise of receiving) {
      try {
        const message = await promise;
        if (message !== null || !end.hasEnded) end.accept(message);
      } catch (reason) {
        if (reason !== ABORTED) throw reason;
      }
      if (isDone(end) && end.plan.side === 0) return; // the others wait until this side closes
    }
  },
  'for await': (end, random) => iterate(end, random, random.chance(0.5) ? end.channel : end.channel.messages(), 0.02),
  'messages({ reuse })': (end, random) => iterate(end, random, end.channel.messages({ reuse: true }), 0.05),
  async 'batches()'(end, random) {
    let left = random.between(1, 20);
    const options = { reuse: random.chance(0.6), max: random.pick([1, 2, 7, 1024]) };
    for await (const batch of end.channel.batches(options)) {
      if (random.chance(0.2)) await nextTurn();
      if (random.chance(0.1)) ask(end, random, 1);
      for (const message of batch) end.accept(message);
      if (--left === 0 || end.hasLast) return;
    }
    end.end();
  },
  async 'next() three times, then return()'(end) {
    const iterator = end.channel[Symbol.asyncIterator]();
    const receiving = [iterator.next(), iterator.next(), iterator.next()];
    handleLater(receiving);
    await iterator.return?.(); // the calls that still wait end with it
    for (const promise of receiving) {
      const { done, value } = await promise;
      if (!done) end.accept(value);
      if (isDone(end) && end.plan.side === 0) return;
    }
    await nextTurn(); // this consumer may be called again and again
  },
  'tryReceive()': (end, random) =>
    attempts(
      end,
      random.between(1, 200),
      random.between(1, 50),
      () => {
        const message = end.channel.tryReceive();
        if (message !== null) end.accept(message);
        return message !== null;
      },
      () => (random.chance(0.5) ? nextTurn() : pause(1)),
    ),
  'tryReceiveInto()': (end, random) => {
    const target = Buffer.alloc(end.plan.peerCapacity + MOST_OFFSET);
    const attempt = () => {
      const offset = random.between(0, MOST_OFFSET);
      const size = end.channel.tryReceiveInto(target, offset);
      if (size >= 0) end.accept(target.subarray(offset, offset + size));
      return size >= 0;
    };
    return attempts(end, random.between(1, 200), random.between(1, 20), attempt, () => nextTurn());
  },
  'tryReceiveInto() a small buffer': (end, random) => {
    const target = Buffer.alloc(SMALL_BYTES);
    const attempt = () => {
      try {
        const size = end.channel.tryReceiveInto(target);
        if (size >= 0) end.accept(target.subarray(0, size));
        return size >= 0;
      } catch (error) {
        if (/** @type {any} */ (error).code !== 'ERR_MESSAGE_TOO_LARGE') throw error;
        const message = end.channel.tryReceive();
        if (message === null) return end.fail('a message that was too large for tryReceiveInto() is gone');
        end.accept(message);
        return true;
      }
    };
    return attempts(end, random.between(1, 20), 20, attempt, () => nextTurn());
  },
  'tryRead()': (end, random) => {
    const attempt = () => {
      let message = Buffer.alloc(0);
      const isFound = end.channel.tryRead((cursor) => {
        message = Buffer.alloc(cursor.length);
        cursor.copy(message);
        useCallsWhileReading(end, random);
      });
      if (isFound) end.accept(message);
      return isFound;
    };
    return attempts(end, random.between(1, 100), random.between(1, 20), attempt, () => nextTurn());
  },
  async 'receiveSync()'(end, random) {
    if (!end.plan.mayBlock) return;
    for (let left = random.between(1, 20); left > 0 && !isDone(end) && !end.hasLast; left--) {
      try {
        end.accept(end.channel.receiveSync({ timeout: random.between(0, 5) }));
      } catch (error) {
        if (/** @type {any} */ (error).code !== 'ERR_TIMEOUT') throw error;
        await nextTurn();
      }
    }
  },
  pause: (_, random) => pause(random.between(0, 15)),
};
const NAMES = Object.keys(WAYS);

/** Receives and checks everything. @param {End} end @param {Choices} random */
async function consume(end, random) {
  try {
    while (!end.hasLast && !end.hasEnded) {
      end.consuming = random.pick(NAMES);
      await WAYS[end.consuming](end, random);
      if (random.chance(0.1)) await nextTurn();
    }
    end.consuming = 'the end';
    while (!isDone(end)) end.accept(await end.receive()); // nothing but the end may follow
  } catch (error) {
    end.failWith(`receiving failed (${end.consuming})`, error);
  }
}

module.exports = { consume };
