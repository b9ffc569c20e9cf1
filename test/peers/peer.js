'use strict';
// A peer in a process of its own, for tests: node peer.js ROLE PATH [NUMBER]. It says "ready" when it is.
const { connect, listen, openChannel } = require('../../lib/index.js');

const [, , role, path, number = '0'] = process.argv;
const count = Number(number);

/** Message number i: its number, then bytes that follow from it; 8 to 200 bytes. @param {number} i */
function message(i) {
  const bytes = Buffer.alloc(8 + (i % 193), i & 0xff);
  bytes.writeDoubleLE(i, 0);
  return bytes;
}

/** @param {Buffer} bytes @param {number} i */
function check(bytes, i) {
  if (!bytes.equals(message(i))) throw new Error(`message ${i} came as ${bytes.toString('hex')}`);
}

/** Words of message number i: its number, then what follows from it. @param {Uint32Array} words @param {number} i */
function fill(words, i) {
  const length = 2 + (i % 13);
  words[0] = i;
  for (let at = 1; at < length; at++) words[at] = Math.imul(i + at, 2654435761);
  return length;
}

/** @param {number} checksum @param {Uint32Array} words @param {number} length */
function sum(checksum, words, length) {
  for (let at = 0; at < length; at++) checksum = (Math.imul(checksum, 31) + words[at]) | 0;
  return checksum;
}

const roles = {
  /** Sends `count` messages and closes. */
  async send() {
    const channel = await connect(path);
    for (let i = 0; i < count; i++) await channel.send(message(i));
    await channel.close();
  },
  /** Checks `count` messages, then the end. */
  async receive() {
    const channel = await connect(path);
    let i = 0;
    for await (const bytes of channel) check(bytes, i++);
    if (i !== count) throw new Error(`${i} messages came`);
    await channel.close();
  },
  /** Sends back all that comes. */
  async echo() {
    const channel = path === 'fd' ? await openChannel(count) : await connect(path);
    for await (const bytes of channel) await channel.send(bytes);
    await channel.close();
  },
  /** Answers tightly, without ever sleeping or turning the event loop, `count` times. */
  async spin() {
    const channel = path === 'fd' ? await openChannel(3, { wait: 'spin' }) : await connect(path, { wait: 'spin' });
    const buffer = new Uint8Array(channel.maxMessageBytes);
    for (let i = 0; i < count; i++) {
      let size = channel.tryReceiveInto(buffer);
      while (size < 0) size = channel.tryReceiveInto(buffer);
      while (!channel.trySend(buffer.subarray(0, size)));
    }
    await channel.close();
  },
  /** Sends `count` messages in a tight loop, and at last the checksum over all of them. */
  async flood() {
    const channel = await connect(path, { wait: 'spin' });
    const words = new Uint32Array(16);
    const views = Array.from({ length: 17 }, (_, length) => new Uint8Array(words.buffer, 0, Math.min(length, 16) * 4));
    let checksum = 0;
    for (let i = 0; i < count; i++) {
      const length = fill(words, i);
      checksum = sum(checksum, words, length);
      while (!channel.trySend(views[length]));
    }
    await channel.send(String(checksum));
    await channel.close();
  },
  /** Connects and does nothing. */
  async idle() {
    await connect(path);
    console.log('ready');
    setInterval(() => {}, 1000);
  },
  /** Listens, echoes one client, closes. */
  async serve() {
    const server = await listen(path);
    console.log('ready');
    const channel = await server.accept();
    for await (const bytes of channel) await channel.send(bytes);
    await channel.close();
    await server.close();
  },
  /** Waits for a message that never comes; unref'd: ends at once. */
  async unref() {
    const channel = await connect(path);
    channel.unref();
    channel.receive();
  },
  /** Sleeps on an open channel until a message comes, then tells the processor time it took meanwhile, microseconds. */
  async sleep() {
    const channel = await connect(path);
    await channel.receive();
    const before = process.cpuUsage();
    await channel.receive();
    const { user, system } = process.cpuUsage(before);
    await channel.send(String(user + system));
    await channel.close();
  },
};

module.exports = { message, check, sum };
if (require.main === module) /** @type {any} */ (roles)[role]();
