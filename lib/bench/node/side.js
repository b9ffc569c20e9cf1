'use strict';
// One side of a measurement between two Node processes: node side.js {"transport": …, "role": "first" | "other", …}.
// The first side starts the other one and prints its measurements as one line of JSON.
const { transports } = require('./transports.js');

/**
 * @typedef {object} Task
 * @property {string} transport
 * @property {'first' | 'other'} role
 * @property {number} sizeBytes
 * @property {number} trips round trips that are timed
 * @property {number} messages of the throughput pass
 * @property {number} [cork] messages per publish
 * @property {string[]} prefix of the other's command
 */

/** @type {Task} */
const task = JSON.parse(process.argv[2]);
const { sizeBytes, trips, messages, cork = 1 } = task;
const transport = transports[task.transport];
const WARMUP_SHARE = 0.2; // of the trips, before timing begins: time to compile the code
const WINDOW = 64; // messages in flight from a sender without back-pressure
// Reading the clock takes a noticeable part of the ring's round trip, so the ring reads it once per this many trips.
const TRIPS_PER_READING = transport.style === 'loop' ? 100 : 1;
const warmup = Math.ceil(trips * WARMUP_SHARE);

/** @param {number} number @returns {any} a message that contains its number, in this transport's form */
function makeMessage(number) {
  if (transport.text) return String(number).padEnd(sizeBytes, '.');
  const message = Buffer.alloc(sizeBytes, number & 0xff);
  message.writeInt32LE(number, 0);
  return message;
}

/** @param {any} message */
const numberOf = (message) =>
  typeof message === 'string' ? Number.parseInt(message, 10) : toBuffer(message).readInt32LE(0);

/** A Buffer sent through a MessagePort arrives as a plain Uint8Array. @param {any} message @returns {Buffer} */
const toBuffer = (message) =>
  Buffer.isBuffer(message) ? message : Buffer.from(message.buffer, message.byteOffset, message.byteLength);

/** @param {any} message @param {number} due */
function check(message, due) {
  if (message === undefined) return; // a bare wake-up carries no message
  const got = numberOf(message);
  if (got !== due) throw new Error(`expected message ${due}, got message ${got}`);
}

const now = () => Number(process.hrtime.bigint());

/** @param {number[]} times nanoseconds @returns {[number, number][]} [nanoseconds, count] */
function distribution(times) {
  const counts = new Map();
  for (const ns of times) counts.set(Math.round(ns), (counts.get(Math.round(ns)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b);
}

/** Sends, and waits if the transport applies back-pressure. @param {import('./transports.js').End} end @param {any} message */
async function sendAndWait(end, message) {
  const answer = end.send(message);
  if (answer === false) await new Promise((resolve) => end.onDrain?.(() => resolve(undefined)));
  else if (answer instanceof Promise) await answer;
}

// ---- Tight loops, for the ring ----

/** @param {any} channel @param {Uint8Array} target */
function receiveNow(channel, target) {
  for (;;) if (channel.tryReceiveInto(target) >= 0) return;
}

/** @param {any} channel @param {Uint8Array} message */
function sendNow(channel, message) {
  for (;;) if (channel.trySend(message)) return;
}

/** Writes a message's number into its first four bytes. @param {Int32Array} word @param {number} number */
function stamp(word, number) {
  word[0] = number;
}

/** @param {any} channel */
function loopFirst(channel) {
  const message = new Uint8Array(sizeBytes);
  const answer = new Uint8Array(sizeBytes);
  const [word, echoed] = [new Int32Array(message.buffer), new Int32Array(answer.buffer)];
  const times = [];
  let number = 0;
  const trip = () => {
    stamp(word, number);
    sendNow(channel, message);
    receiveNow(channel, answer);
    if (echoed[0] !== number++) throw new Error(`expected message ${number - 1}, got message ${echoed[0]}`);
  };
  for (let i = 0; i < warmup; i++) trip();
  for (let i = 0; i < trips; i += TRIPS_PER_READING) {
    const start = now();
    for (let j = 0; j < TRIPS_PER_READING; j++) trip();
    times.push((now() - start) / TRIPS_PER_READING);
  }
  const began = now();
  for (let i = 0; i < messages; i++) {
    stamp(word, i);
    if (cork > 1 && i % cork === 0) channel.cork();
    sendNow(channel, message);
    if (cork > 1 && (i % cork === cork - 1 || i === messages - 1)) channel.uncork();
  }
  if (messages > 0) receiveNow(channel, answer); // the other side has received them all
  return { times, streamNs: now() - began };
}

/** @param {any} channel */
function loopOther(channel) {
  const message = new Uint8Array(sizeBytes);
  const word = new Int32Array(message.buffer);
  const total = warmup + Math.ceil(trips / TRIPS_PER_READING) * TRIPS_PER_READING;
  for (let i = 0; i < total; i++) {
    receiveNow(channel, message);
    sendNow(channel, message);
  }
  for (let i = 0; i < messages; i++) {
    receiveNow(channel, message);
    if (word[0] !== i) throw new Error(`expected message ${i}, got message ${word[0]}`);
  }
  if (messages > 0) sendNow(channel, message);
}

// ---- Events and promises, for every transport ----

/** @param {import('./transports.js').End} end */
async function eventsFirst(end) {
  /** @type {number[]} */
  const times = [];
  /** @type {(message: any) => void} */
  let arrived = () => {};
  end.onMessage((message) => arrived(message));
  await new Promise((resolve, reject) => {
    let number = 0;
    let start = now();
    const next = () => {
      const message = makeMessage(number);
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
  const all = Array.from({ length: WINDOW }, (_, i) => makeMessage(i));
  const done = new Promise((resolve) => {
    arrived = resolve;
  });
  const began = now();
  const paced = transport.style === 'events' && !end.onDrain;
  for (let i = 0; i < messages; i++) {
    const message = transport.text ? makeMessage(i) : all[i % WINDOW];
    if (!transport.text) message.writeInt32LE(i, 0);
    // A port does not report that it is full, so send a window of messages per turn of the event loop. A promise per
    // message would measure promises.
    if (!paced) await sendAndWait(end, end.onDrain ? Buffer.from(message) : message);
    else if (i % WINDOW === WINDOW - 1) await Promise.resolve(end.send(message)).then(() => new Promise(setImmediate));
    else end.send(message);
  }
  await done;
  return { times, streamNs: now() - began };
}

/** @param {import('./transports.js').End} end */
function eventsOther(end) {
  let number = 0;
  end.onMessage((message) => {
    if (number < warmup + trips) {
      end.send(message);
    } else {
      check(message, number - warmup - trips);
      if (number === warmup + trips + messages - 1) end.send(message);
    }
    number++;
  });
}

// ---- Promises, for the ring's await interface ----

/** @param {any} channel */
async function asyncFirst(channel) {
  const times = [];
  for (let number = 0; number < warmup + trips; number++) {
    const message = makeMessage(number);
    const start = now();
    await channel.send(message);
    const answer = await channel.receive();
    if (number >= warmup) times.push(now() - start);
    check(answer, number);
  }
  const message = Buffer.alloc(sizeBytes);
  const began = now();
  for (let i = 0; i < messages; i++) {
    message.writeInt32LE(i, 0);
    await channel.send(message);
  }
  if (messages > 0) await channel.receive();
  return { times, streamNs: now() - began };
}

/** @param {any} channel */
async function asyncOther(channel) {
  let number = 0;
  for await (const message of channel) {
    if (number < warmup + trips) await channel.send(message);
    else check(message, number - warmup - trips);
    if (number === warmup + trips + messages - 1 && messages > 0) await channel.send(message);
    number++;
  }
  await channel.close();
}

// ---- Both ----

async function first() {
  const other = JSON.stringify({ ...task, role: 'other' });
  const end = await transport.start({ prefix: task.prefix, script: __filename, args: [other], sizeBytes });
  const measured = await (transport.style === 'loop'
    ? loopFirst(end.channel)
    : end.channel
      ? asyncFirst(end.channel)
      : eventsFirst(end));
  process.stdout.write(
    `${JSON.stringify({
      type: 'sample',
      tripsPerReading: TRIPS_PER_READING,
      messagesPerSecond: messages > 0 ? (messages / measured.streamNs) * 1e9 : null,
      values: distribution(measured.times),
    })}\n`,
  );
  await end.close();
}

async function other() {
  const end = await transport.join(sizeBytes);
  if (transport.style === 'loop') {
    loopOther(end.channel);
    await end.close();
  } else if (end.channel) {
    await asyncOther(end.channel);
  } else {
    eventsOther(end);
  }
}

(task.role === 'first' ? first() : other()).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
