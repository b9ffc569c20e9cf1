'use strict';
// Messages sent by a function call and received by a listener: the exchange of every transport except the ring.
const { allTrips, check, makeMessage, now, streamed, warmupMessagesOf, warmupOf } = require('./messages.js');

const WINDOW = 64; // messages per turn of the event loop if the transport has no back-pressure

/** Sends a message, then waits if the transport applies back-pressure. @param {import('../transports.js').End} end @param {any} message */
async function sendAndWait(end, message) {
  const answer = end.send(message);
  if (answer === false) await new Promise((resolve) => end.onDrain?.(() => resolve(undefined)));
  else if (answer instanceof Promise) await answer;
}

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function first(end, work) {
  const { trips, messages, text } = work;
  const warmup = warmupOf(work);
  /** @type {number[]} */
  const times = [];
  /** @type {(message: any) => void} */
  let arrived = () => {};
  end.onMessage((message) => arrived(message));
  await new Promise((resolve, reject) => {
    let number = 0;
    let start = now();
    const next = () => {
      const message = makeMessage(number, work);
      start = now();
      Promise.resolve(end.send(message)).catch(reject);
    };
    arrived = (message) => {
      const ns = now() - start;
      check(message, number);
      if (number++ >= warmup) times.push(ns);
      if (number < warmup + trips) next();
      else resolve(undefined);
    };
    next();
  });
  if (messages === 0) return { times, streamNs: 0 };
  const all = Array.from({ length: WINDOW }, (_, i) => makeMessage(i, work));
  const paced = !end.awaited && !end.onDrain;
  const stream = async (/** @type {number} */ count) => {
    const done = new Promise((resolve) => {
      arrived = resolve;
    });
    for (let i = 0; i < count; i++) {
      const message = text ? makeMessage(i, work) : all[i % WINDOW];
      if (!text) message.writeInt32LE(i, 0);
      // Some transports never report that they are full, so send them one window of messages per turn of the event loop.
      // Awaiting a promise for every message would mainly measure the promises.
      if (!paced) await sendAndWait(end, end.onDrain ? Buffer.from(message) : message);
      else if (i % WINDOW === WINDOW - 1)
        await Promise.resolve(end.send(message)).then(() => new Promise(setImmediate));
      else end.send(message);
    }
    await done;
  };
  await stream(warmupMessagesOf(work));
  const began = now();
  await stream(messages);
  return { times, streamNs: now() - began };
}

/** @param {import('../transports.js').End} end @param {import('./messages.js').Work} work */
async function other(end, work) {
  const trips = allTrips(work);
  let number = 0;
  end.onMessage((message) => {
    if (number < trips) {
      end.send(message);
    } else {
      const { due, isLast } = streamed(number - trips, work);
      check(message, due);
      if (isLast) end.send(message);
    }
    number++;
  });
}

module.exports = { first, other };
