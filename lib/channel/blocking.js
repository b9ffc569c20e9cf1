'use strict';
// receiveSync(): blocks this thread until a message arrives.
const { MOST_EQUAL, now } = require('./clock.js');
const { FOR_DATA, FOR_ROOM } = require('./connection.js');
const { SEND_MS, areUnrung, otherThan, ringOne, ringUnrung, sendHeld } = require('./connections.js');
const { CrossingsError } = require('./errors.js');
const { PENDING } = require('./waiters.js');

const LOOKS_PER_READING = 64;
// A thread that is blocked in the kernel cannot be terminated, and the process cannot exit. So no call blocks for longer.
const SLICE_MS = 50;
const FEW_MS = 1; // while there are doorbells to be rung, or other channels wait for room

/**
 * @param {object} channel
 * @param {InstanceType<typeof import('./connection.js').Connection>} channel.connection
 * @param {InstanceType<typeof import('./pump.js').Pump>} channel.pump
 * @param {() => unknown} channel.attempt returns a message, null at the end, or PENDING
 * @param {() => boolean} channel.hasInbox was a message moved out of the ring? Hooks of async_hooks can cause that
 * @param {{wait: string, spinMicros: number}} options
 * @param {number} timeoutMs
 */
function receiveBlocking({ connection, pump, attempt, hasInbox }, { wait, spinMicros }, timeoutMs) {
  const deadline = now() + timeoutMs;
  const spinMs = wait === 'sleep' ? 0 : spinMicros / 1000;
  let sendsUntil = 0;
  let isFirst = true;
  beginPass();
  if (pump.waitsToSend && connection.isOpen) connection.sendHeld(maySend);
  else connection.flush(); // the read position is announced less often
  isFirst = true;
  /** Other channels of this thread that may have something to send. */
  let others = sendHeld(maySend, otherThan(connection));
  connection.announceSleep(0);
  // For the other pending calls, afterwards: a handler may receive what comes after this message. Now, because later it could fail, if the
  // stack is full, and lose the message.
  pump.runSoon();
  pump.receiving();
  try {
    for (;;) {
      const message = attemptUntil(attempt, connection.reader, Math.min(now() + spinMs, deadline));
      if (message !== PENDING) return message;
      // What has been rung may have more to send: over sockets, a doorbell sends one chunk.
      if (ringOthers()) others = otherThan(connection);
      connection.answerDoorbell();
      beginPass();
      sendMore(); // what waits for room cannot make progress on the event loop while this thread is blocked
      const last = attempt();
      if (last !== PENDING) return last;
      if (now() >= deadline) throw new CrossingsError('ERR_TIMEOUT', `No message within ${timeoutMs} ms.`);
      if (wait !== 'spin') sleep();
    }
  } finally {
    connection.announceSleep(0);
    showRest();
  }

  /** This thread may block next in another way, and the peer waits for room or a message that it does not see. */
  function showRest() {
    try {
      if (connection.isOpen) connection.showAll();
    } catch {
      // The stack is full, but the message is taken. What was scheduled shows the rest.
    }
  }

  function beginPass() {
    isFirst = true;
    sendsUntil = now() + SEND_MS; // in any case: its own messages may always come in time, and its timeout may be 0
  }

  /** A peer may take what is sent as fast as it is sent, and one may fill my ring with what is no message. */
  function maySend() {
    if (isFirst) {
      isFirst = false;
      return true;
    }
    const time = now();
    return time < sendsUntil || (time < deadline && !connection.reader.isReady());
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
    if (!hasInbox() && !connection.reader.isReady() && connection.isOpen) {
      pump.sleeps++;
      let leftMs = deadline - now();
      while (!connection.waitForDoorbell(Math.max(0, Math.min(sliceMs(), Math.ceil(leftMs)))) && leftMs > 0) {
        beginPass(); // whatever is in the ring: its peer may not ring
        sendOnOthers();
        leftMs = hasInbox() ? 0 : deadline - now();
      }
    }
    connection.announceSleep(0);
  }

  /** Only this channel's doorbell ends a wait. */
  function sliceMs() {
    if (ringOthers()) others = otherThan(connection);
    return others.length > 0 ? FEW_MS : SLICE_MS;
  }
}

/** What is awaited may depend on doorbells that were put off, or could not be rung, also on other channels. @returns {boolean} were there any? */
function ringOthers() {
  if (!areUnrung()) return false;
  ringOne();
  ringUnrung();
  return true;
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
