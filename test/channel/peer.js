'use strict';
// One peer in its own process: node peer.js ROLE PATH [COUNT]. Some roles print "ready" once connected.
// PATH is a socket to connect to, `listen:` and a socket to listen on, or `fd:` and an inherited descriptor.
const { message, verify, fillWords, addToChecksum } = require('./numbered-messages.js');
const { connect, listen, openChannel } = require('./transport.js').crossings;

const [, , role, path, number = '0'] = process.argv;
const count = Number(number);

/** The channel that PATH names. @param {any} [options] */
async function open(options) {
  const [, scheme, rest] = /^(?:(fd|listen):)?(.*)$/.exec(path) ?? [];
  if (scheme === 'fd') return openChannel(Number(rest), options);
  if (scheme !== 'listen') return connect(path, options);
  const server = await listen(rest, options);
  const channel = await server.accept();
  await server.close();
  return channel;
}

const roles = {
  /** Sends `count` messages, then closes. */
  async send() {
    const channel = await open();
    for (let i = 0; i < count; i++) await channel.send(message(i));
    await channel.close();
  },

  /** Verifies `count` messages, then the end of the channel. */
  async receive() {
    const channel = await open();
    let i = 0;
    for await (const bytes of channel) verify(bytes, i++);
    if (i !== count) throw new Error(`expected ${count} messages, got ${i}`);
    await channel.close();
  },

  /** Sends every message back until the other end closes. */
  async echo() {
    const channel = await open();
    for await (const bytes of channel) await channel.send(bytes);
    await channel.close();
  },

  /**
   * Responds to requests with the same bytes until the other end closes. Some get something else: "refuse", "later" (its response
   * comes after the next one), "never", "count" (of the requests so far). "message" also sends a message. "room" waits for all of the room afterwards, and then prints "ready".
   */
  async respond() {
    const channel = await open({ wait: 'spin' });
    let respondLater = () => {};
    let requests = 0;
    channel.onRequest((/** @type {Buffer} */ request) => {
      const text = String(request);
      requests++;
      if (text === 'count') return String(requests);
      if (text === 'later') return new Promise((resolve) => (respondLater = () => resolve('at last')));
      if (text.startsWith('never')) return new Promise(() => {});
      respondLater();
      if (text === 'refuse') throw new Error('no');
      if (text === 'message') channel.trySend('a message');
      if (text === 'room')
        setImmediate(() => channel.waitForRoom(channel.maxMessageBytes).then(() => console.log('ready')));
      return request;
    });
    await channel.closed;
    await channel.close();
  },

  /** Sends `count` messages in a tight loop, then the checksum of them all. */
  async flood() {
    const channel = await open({ wait: 'spin' });
    const words = new Uint32Array(16);
    const views = Array.from({ length: 17 }, (_, length) => new Uint8Array(words.buffer, 0, Math.min(length, 16) * 4));
    let checksum = 0;
    for (let i = 0; i < count; i++) {
      const length = fillWords(words, i);
      checksum = addToChecksum(checksum, words, length);
      while (!channel.trySend(views[length]));
    }
    await channel.send(String(checksum));
    await channel.close();
  },

  /** Receives `count` messages in a tight loop, verifies their order, then the sender's checksum. */
  async drain() {
    const channel = await open({ wait: 'spin' });
    const words = new Uint32Array(16);
    const bytes = new Uint8Array(words.buffer);
    let checksum = 0;
    for (let i = 0; i < count; i++) {
      let size = channel.tryReceiveInto(bytes);
      while (size < 0) size = channel.tryReceiveInto(bytes);
      if (words[0] !== i) throw new Error(`expected message ${i}, got message ${words[0]}`);
      checksum = addToChecksum(checksum, words, size / 4);
    }
    const expected = Number(String(await channel.receive()));
    if (checksum !== expected) throw new Error(`expected checksum ${expected}, got ${checksum}`);
    await channel.close();
  },

  /** Connects and then does nothing, forever. */
  async idle() {
    await open();
    console.log('ready');
    setInterval(() => {}, 1000);
  },

  /** Waits on an unreferenced channel for a message that never comes. */
  async unref() {
    const channel = await open();
    channel.unref();
    channel.receive();
  },

  /** Receives two messages, which may come far apart, and closes. */
  async sleep() {
    const channel = await open();
    await channel.receive();
    console.log('ready');
    await channel.receive();
    await channel.close();
  },
};

/** @type {any} */ (roles)[role]();
