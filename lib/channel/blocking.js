'use strict';
// receiveSync(): blocks this thread until a message arrives.
const { MOST_EQUAL, now } = require('./clock.js');
const { FOR_DATA, FOR_ROOM, otherThan, ringOne, ringUnrung, sendHeld } = require('./connection.js');
const { CrossingsError } = require('./errors.js');
const { PENDING } = require('./waiters.js');

const LOOKS_PER_READING = 64;
// A thread that is blocked in the kernel cannot be terminated, and the process cannot exit. So no call blocks for longer.
const SLICE_MS = 50;
const FEW_MS = 1; // while there are doorbells to be rung, or other channels wait for room
const SENDS_AT_FIRST = 64; // in each call: in a thread that only makes such calls, no others are made if messages always come in time

/**
 * @param {object} channel
 * @param {InstanceType<typeof import('./connection.js').Connection>} channel.connection
 * @param {InstanceType<typeof import('./pump.js').Pump>} channel.pump
 * @param {() => unknown} channel.attempt returns a message, null at the end, or PENDING
 * @param {{wait: string, spinMicros: number}} options
 * @param {number} timeoutMs
 */
function receiveBlocking({ connection, pump, attempt }, { wait, spinMicros }, timeoutMs) {
  const deadline = now() + timeoutMs;
  const spinMs = wait === 'sleep' ? 0 : spinMicros / 1000;
  let sendsLeft = SENDS_AT_FIRST;
  if (pump.waitsToSend && connection.isOpen) connection.sendHeld(() => sendsLeft-- > 0);
  else connection.flush(); // the read position is announced less often
  /** Other channels of this thread that have something to send. */
  let others = sendHeld(() => sendsLeft-- > 0, otherThan(connection));
  connection.announceSleep(0);
  pump.receiving();
  try {
    for (;;) {
      const message = attemptUntil(attempt, connection.reader, Math.min(now() + spinMs, deadline));
      if (message !== PENDING) return message;
      ringOthers();
      connection.answerDoorbell();
      sendMore(); // what waits for room cannot make progress on the event loop while this thread is blocked
      const last = attempt();
      if (last !== PENDING) return last;
      if (now() >= deadline) throw new CrossingsError('ERR_TIMEOUT', `No message within ${timeoutMs} ms.`);
      if (wait !== 'spin') sleep();
    }
  } finally {
    connection.announceSleep(0);
    pump.run();
  }

  /** A peer may take what is sent as fast as it is sent. */
  function maySend() {
    return !connection.reader.isReady() && now() < deadline;
  }

  function sendMore() {
    if (connection.isOpen) connection.sendHeld(maySend);
    sendOnOthers();
  }

  function sendOnOthers() {
    if (others.length > 0) others = sendHeld(maySend, others);
  }

  function sleep() {
    sendMore(); // before the announcement: a queued request may have to wait for room
    connection.announceSleep(FOR_DATA | (pump.senders.size > 0 ? FOR_ROOM : 0));
    sendMore();
    connection.showAll(); // the last attempt may have set a request aside, whose room the peer is waiting for
    if (!connection.reader.isReady() && connection.isOpen) {
      pump.sleeps++;
      let leftMs = deadline - now();
      while (!connection.waitForDoorbell(Math.max(0, Math.min(sliceMs(), Math.ceil(leftMs)))) && leftMs > 0) {
        sendOnOthers();
        leftMs = deadline - now();
      }
    }
    connection.announceSleep(0);
  }

  /** Only this channel's doorbell ends a wait. */
  function sliceMs() {
    return ringOthers() || others.length > 0 ? FEW_MS : SLICE_MS;
  }
}

/** What is awaited may depend on doorbells that were put off, or could not be rung, also on other channels. @returns {boolean} are some left? */
function ringOthers() {
  const arePutOff = ringOne();
  return ringUnrung() || arePutOff;
}

/**
 * @param {() => unknown} attempt
 * @param {InstanceType<typeof import('./ring-reader.js').RingReader>} reader
 * @param {number} until
 */
function attemptUntil(attempt, reader, until) {
  const began = now();
  let time = began;
  let equal = 0; // readings
  do {
    const { position } = reader;
    // An attempt that passes over other frames, such as responses, may take long.
    for (let look = 0; look < LOOKS_PER_READING && reader.position === position; look++) {
      const message = attempt();
      if (message !== PENDING) return message;
    }
    time = now();
  } while (time < until && (time > began || ++equal < MOST_EQUAL));
  return PENDING;
}

module.exports = { receiveBlocking };
