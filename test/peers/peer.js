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

module.exports = { message, check };
if (require.main === module) /** @type {any} */ (roles)[role]();
