'use strict';
// What a peer can do that speaks the protocol of the socket and lies: every limit holds, and nothing grows.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { join } = require('node:path');
const { text } = require('node:stream/consumers');
const { setImmediate: turnOfLoop } = require('node:timers/promises');
const { closing, crossings, errorWith, newPath, pause } = require('../channel/support.js');
const { KIND } = require('../../lib/channel/layout.js');
const turn = require('../../lib/channel/turn.js');
const { RingWriter } = require('../../lib/channel/ring-writer.js');
const { createMemory } = require('../../lib/fallback/memory.js');
const { Receiver } = require('../../lib/fallback/receiver.js');
const { Sender } = require('../../lib/fallback/sender.js');
const { HELLO_BYTES, writeHello } = require('../../lib/fallback/wire.js');

const { listen } = crossings;
const ROOT = join(__dirname, '..', '..');
const CAPACITY = 65536;
const OPTIONS = { transport: 'socket', capacity: CAPACITY, timeout: 2000 };
const corrupt = errorWith('ERR_PEER_CORRUPT');

/** @type {net.Socket[]} */
const sockets = [];
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A client of nobody's library. @param {string} path @returns {Promise<net.Socket>} */
async function raw(path) {
  const socket = net.connect(path);
  sockets.push(socket.on('error', () => {}));
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** One record, and its payload. @param {number} value @param {number} kind @param {Uint8Array} [payload] */
function record(value, kind, payload = new Uint8Array(0)) {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(value >>> 0, 0);
  head.writeUInt32LE(kind >>> 0, 4);
  return Buffer.concat([head, payload]);
}

/** A channel whose peer is a raw socket. @param {object} [options] */
async function victim(options = {}) {
  const server = closing(await listen(newPath(), { ...OPTIONS, ...options }));
  const socket = await raw(server.path);
  socket.write(writeHello(CAPACITY, null));
  return { socket, channel: closing(await server.accept()), server };
}

describe('a client whose hello is', () => {
  test.each([
    ['garbage', Buffer.alloc(HELLO_BYTES, 0x41), 'ERR_PROTOCOL', 'does not use'],
    [
      'a request for a web page',
      Buffer.from(`GET / HTTP/1.1\r\nHost: ${'x'.repeat(40)}\r\n\r\n`),
      'ERR_PROTOCOL',
      'does not use',
    ],
    ['of another version', writeHello(CAPACITY, null).fill(9, 4, 5), 'ERR_PROTOCOL', 'version 9'],
    ['a capacity of 3', writeHello(3, null), 'ERR_PROTOCOL', 'invalid capacity, 3'],
    ['a capacity of 2^31', writeHello(2 ** 31, null), 'ERR_PROTOCOL', 'invalid capacity'],
    ['a capacity of 2^30', writeHello(2 ** 30, null), 'ERR_LIMIT_EXCEEDED', 'maxPeerCapacity'],
    [
      'one with a key',
      writeHello(CAPACITY, [1, 2, 3, 4]),
      'ERR_PROTOCOL',
      'only the peer has set the option authenticate',
    ],
    ['cut off', writeHello(CAPACITY, null).subarray(0, 31), 'ERR_PEER_DIED', 'closed the connection'],
  ])('%s is refused, and the next one is served', async (_, hello, code, text) => {
    const server = closing(await listen(newPath(), OPTIONS));
    const socket = await raw(server.path);
    socket.end(hello);
    await new Promise((resolve) => socket.resume().once('close', resolve));
    while (server.refusals.count === 0) await pause(1);
    expect(server.refusals.last).toEqual(errorWith(code));
    expect(server.refusals.last.message).toContain(text);
    closing(await crossings.connect(server.path, OPTIONS));
    closing(await server.accept());
  });

  test('never sent is refused after the timeout', async () => {
    const server = closing(await listen(newPath(), { ...OPTIONS, timeout: 50 }));
    await raw(server.path);
    while (server.refusals.count === 0) await pause(1);
    expect(server.refusals.last).toEqual(errorWith('ERR_TIMEOUT'));
  });
});

test('of more clients than maxChannelsPerUser, the others are refused until one has closed', async () => {
  const options = { ...OPTIONS, maxChannelsPerUser: 2 };
  const server = closing(await listen(newPath(), options));
  const connect = async () => closing(await crossings.connect(server.path, OPTIONS));
  await connect();
  const second = await connect();
  await expect(connect()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  expect(server.refusals.last).toEqual(errorWith('ERR_LIMIT_EXCEEDED'));
  await closing(await server.accept()).close();
  await connect();
  expect(second.state).toBe('open');
});

// Otherwise a client could end a server that sets a handler for each client that it accepts.
test('onRequest() does not throw if the client has sent a bad record before accept() returns', async () => {
  const server = closing(await listen(newPath(), OPTIONS));
  const socket = await raw(server.path);
  socket.write(Buffer.concat([writeHello(CAPACITY, null), record(0, 9)]));
  const channel = closing(await server.accept());
  expect(await channel.closed).toBe('peer-corrupt');
  expect(channel.onRequest(() => 'answer')).toBeUndefined();
  expect(channel.onRequest(null)).toBeUndefined();
  expect(() => channel.onRequest('handler')).toThrow(errorWith('ERR_INVALID_ARGUMENT'));
  await channel.close();
  expect(() => channel.onRequest(null)).toThrow(errorWith('ERR_CLOSED'));
});

describe('a record that no channel sends shuts the channel down:', () => {
  test.each([
    ['a frame larger than the ring', record(CAPACITY, 0), 'invalid frame size 65536'],
    ['a frame of 4 GiB', record(0xffffffff, 0), 'invalid frame size 4294967295'],
    ['a kind that does not exist', record(0, 9), 'invalid frame kind 9'],
    ['a read position ahead of what was sent', record(4096, 16), 'invalid read position 4096'],
    ['a read position that does not move', record(0, 16), 'invalid read position 0'],
    ['a read position that is no multiple of 8', record(3, 16), 'invalid read position 3'],
    [
      'a frame without room for it',
      Buffer.concat(Array.from({ length: 10 }, () => record(32768, 0, Buffer.alloc(32768)))), // more than it reads meanwhile
      'without room',
    ],
    ['a request without a number', record(2, 1, Buffer.alloc(2)), 'only 2 bytes'],
  ])('%s', async (_, bytes, text) => {
    const { socket, channel } = await victim();
    channel.onRequest(() => 'answer');
    const received = channel.receive();
    received.catch(() => {});
    const pending = channel.request('x');
    pending.catch(() => {});
    socket.write(bytes);
    expect(await channel.closed).toBe('peer-corrupt');
    await expect(pending).rejects.toEqual(corrupt);
    await expect(pending).rejects.toThrow(text);
    expect(() => channel.trySend('x')).toThrow(corrupt);
    const receiveAll = () => {
      while (channel.tryReceive() !== null); // what arrived before the invalid record
    };
    expect(receiveAll).toThrow(corrupt);
  });
});

test('a peer that sends without end fills one ring, and is corrupt when it sends more', async () => {
  const { socket, channel } = await victim();
  for (let i = 0; i < CAPACITY / 64 - 1; i++) socket.write(record(1, 0, Buffer.from('x')));
  socket.write(record(1, 0, Buffer.from('x')));
  expect(await channel.closed).toBe('peer-corrupt');
});

test('a peer that never reads: trySend returns false, and what waits to be sent is bounded', async () => {
  const { socket, channel } = await victim();
  socket.pause();
  let sent = 0;
  for (let turn = 0; turn < 20; turn++) {
    while (channel.trySend(Buffer.alloc(1000))) sent++;
    await pause(1);
  }
  expect(sent).toBe(65); // frames of 1008 bytes
  await expect(channel.waitForRoom(0, { signal: AbortSignal.timeout(20) })).rejects.toThrow();
});

test('a peer that claims to have read what it does not take cannot make this side store more than a chunk', async () => {
  const { socket, channel } = await victim();
  socket.pause();
  let read = 0;
  let sent = 0;
  channel.closed.then(() => socket.destroy());
  for (let turn = 0; turn < 100 && channel.state === 'open'; turn++) {
    while (channel.state === 'open' && channel.trySend(Buffer.alloc(1016))) {
      sent++;
      read += 1024;
    }
    socket.write(record(read, 16)); // all of it, long before it has arrived
    await pause(1);
  }
  expect(channel.state).toBe('peer-corrupt');
  expect(sent).toBeLessThan(1024); // what the kernel's buffers and one ring hold
});

test('a peer that sends as fast as it can: what one turn of the event loop has no time for is taken in the next', async () => {
  // In this program 0.1 ms pass between two looks at the clock, so a turn has time for one or two records.
  const program = `
    let time = 0;
    Object.getPrototypeOf(performance).now = () => (time += 0.1);
    const { listen } = require(${JSON.stringify(ROOT)});
    (async () => {
      const server = await listen(process.argv[1], ${JSON.stringify(OPTIONS)});
      process.send('ready');
      const channel = await server.accept();
      let turns = 0;
      const count = () => { turns++; counting = setImmediate(count); };
      let counting = setImmediate(count);
      while (channel.stats().messagesReceived < 1000) if (channel.tryReceive() === null) await new Promise(setImmediate);
      clearImmediate(counting);
      console.log(turns, String(await channel.receive()), await channel.closed);
      server.close();
    })();`;
  const path = newPath();
  const child = spawn(process.execPath, ['-e', program, path], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  children.push(child);
  await once(child, 'message');
  const socket = await raw(path);
  const flood = Array.from({ length: 1000 }, () => record(0, 0));
  socket.end(Buffer.concat([writeHello(CAPACITY, null), ...flood, record(4, 0, Buffer.from('last'))]));
  socket.resume();
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  await once(child, 'close');
  const [turns, last, state] = printed.trim().split(' ');
  expect([last, state]).toEqual(['last', 'peer-died']);
  expect(Number(turns)).toBeGreaterThan(300);
});

describe('a peer that ends', () => {
  test('without a goodbye has died; what it sent whole is received first, and half a frame is not', async () => {
    const { socket, channel } = await victim();
    socket.end(Buffer.concat([record(3, 0, Buffer.from('one')), record(100, 0, Buffer.from('half'))]));
    expect(String(await channel.receive())).toBe('one');
    await expect(channel.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
    expect(channel.state).toBe('peer-died');
  });

  test('with a goodbye has closed, even if it keeps its socket', async () => {
    const { socket, channel } = await victim();
    socket.write(Buffer.concat([record(3, 0, Buffer.from('one')), record(0, 17), record(3, 0, Buffer.from('two'))]));
    expect(await channel.closed).toBe('peer-closed');
    expect(String(await channel.receive())).toBe('one');
    expect(await channel.receive()).toBeNull();
  });

  test('while this side writes loses nothing that it had sent', async () => {
    const { socket, channel } = await victim();
    socket.write(record(4, 0, Buffer.from('last')));
    await new Promise((resolve) => socket.end(() => resolve(undefined)));
    socket.destroy();
    for (let i = 0; i < 10; i++) channel.trySend(`answer ${i}`); // nobody reads these
    expect(String(await channel.receive())).toBe('last');
    await expect(channel.receive()).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  });
});

test('close() does not wait forever for a peer that takes nothing, and does not keep its memory', async () => {
  const { socket, channel } = await victim({ capacity: 2 ** 22 });
  socket.pause();
  while (channel.trySend(Buffer.alloc(65000)));
  const closed = channel.close();
  expect(channel.state).toBe('closed');
  const ended = await Promise.race([closed.then(() => 'ended'), pause(50).then(() => 'pending')]);
  expect(ended).toBe('pending'); // the kernel does not take 4 MiB
  socket.resume();
  await closed;
});

// Each turn took all that 64 or 1000 sockets held.
test('the payload of a large frame is taken within the budget of a turn', async () => {
  const capacity = 2 ** 24;
  const handle = { isReleased: false };
  const [mine, peer] = [createMemory(CAPACITY, null, handle), createMemory(capacity, null, handle)];
  const receiver = new Receiver(mine, peer, () => true);
  const size = capacity / 2;
  while (receiver.take(record(size, 0)) === 0) await turnOfLoop(); // the turn may be spent
  const piece = Buffer.alloc(CAPACITY);
  let taken = 0;
  while (taken < size && receiver.take(piece) === piece.length) taken += piece.length;
  expect(taken).toBeLessThan(size); // 8 MiB take many times the budget, 0.12 ms
});

// A peer that read nothing and then read fast got a whole ring in one turn: 1 GiB took 40 ms.
test.each([
  ['a little later, in the same turn of the event loop', 1, 1],
  ['at once, except for the first', 1, 0],
  ['at once', 0, 0],
])(
  'what waits to be sent is sent within the budget of a turn, if the kernel takes each chunk %s',
  async (_, first, later) => {
    const mine = createMemory(2 ** 24, null, { isReleased: false });
    const writer = new RingWriter(mine, createMemory(CAPACITY, null, { isReleased: false }));
    writer.write(Buffer.alloc(2 ** 23), 0);
    writer.publish();
    let chunks = 0;
    const socket = {
      _write() {},
      writableLength: first,
      write(/** @type {Buffer} */ _chunk, /** @type {() => void} */ done) {
        if (++chunks > 1) this.writableLength = later;
        process.nextTick(done);
      },
    };
    const sender = new Sender(/** @type {any} */ (socket), mine, () => {});
    for (let rings = 0; rings < 200; rings++) sender.flush();
    await new Promise(setImmediate);
    expect(chunks).toBeGreaterThan(0);
    expect(chunks).toBeLessThan(128);
    while (sender.isBusy) await new Promise(setImmediate);
    expect(chunks).toBe(129); // all of them, and what the record has added
  },
);

// The limit was asked only for clients whose hello was there when they were accepted.
test('of many clients that say hello at the same moment, a turn opens few channels', async () => {
  const script = `
    const memory = require(${JSON.stringify(join(ROOT, 'lib/fallback/memory.js'))});
    const { createMemory } = memory;
    let made = 0, most = 0, all = 0;
    memory.createMemory = (...values) => { made++; return createMemory(...values); };
    const { listen } = require(${JSON.stringify(ROOT)});
    const hello = Buffer.from('${writeHello(CAPACITY, null).toString('hex')}', 'hex');
    listen(${JSON.stringify(newPath())}, ${JSON.stringify(OPTIONS)}).then(async (server) => {
      const { connect } = require('node:net');
      (async () => { for await (const channel of server) all++; })();
      const clients = Array.from({ length: 100 }, () => connect(server.path).on('error', () => {}));
      await new Promise((resolve) => setTimeout(resolve, 200)); // they are accepted
      made = 0;
      const turn = () => {
        most = Math.max(most, made / 2);
        made = 0;
        if (all < 100) return setImmediate(turn);
        console.log(most <= 64, all);
        process.exit();
      };
      setImmediate(turn);
      for (const client of clients) client.write(hello);
    });`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  expect(await text(child.stdout)).toBe('true 100\n');
});

test('what was put off for the next turn is sent if the process exits before it', async () => {
  const path = newPath();
  const server = closing(await listen(path, OPTIONS));
  const script = `
    const { connect } = require(${JSON.stringify(ROOT)});
    connect(${JSON.stringify(path)}, { transport: 'socket', capacity: 65536 }).then((channel) => {
      const until = performance.now() + 5; // more than a turn's budget
      while (performance.now() < until);
      for (let i = 0; i < 100; i++) channel.trySend('message ' + i);
      process.exit();
    });`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'inherit' });
  children.push(child);
  const channel = closing(await server.accept());
  const received = [];
  try {
    for await (const message of channel) received.push(String(message));
  } catch (error) {
    expect(error).toEqual(errorWith('ERR_PEER_DIED'));
  }
  expect(received).toEqual(Array.from({ length: 100 }, (_, i) => `message ${i}`));
});

// The server's hello could not be written, and that destroyed the socket with all that had not been read.
test('a client that has ended before the hello of the server comes is received to its end', async () => {
  const MESSAGES = 1000; // more than one read takes
  const server = closing(await listen(newPath(), OPTIONS));
  const socket = await raw(server.path);
  const messages = Array.from({ length: MESSAGES }, () => record(150, KIND.MESSAGE, new Uint8Array(150)));
  await new Promise((resolve) => socket.write(Buffer.concat([writeHello(2 ** 20, null), ...messages]), resolve));
  socket.destroy();
  const channel = closing(await server.accept());
  let received = 0;
  await expect(
    (async () => {
      for await (const message of channel) received += message.length / 150;
    })(),
  ).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  expect(received).toBe(MESSAGES);
});

// The socket was resumed after it had failed and before it was closed. Then it emits no 'data', and drops what it holds.
test('what a paused socket holds when it fails is received', async () => {
  const server = closing(await listen(newPath(), OPTIONS));
  const socket = await raw(server.path);
  socket.write(writeHello(CAPACITY, null));
  const channel = closing(await server.accept());
  await pause(10); // both hellos have been read
  const { push } = net.Socket.prototype;
  /** Node reads twice. Then the kernel reports that the peer has closed its end before it had read everything. */
  jest.spyOn(net.Socket.prototype, 'push').mockImplementation(
    /** @this {net.Socket} @param {Buffer | null} bytes */ function (bytes) {
      if (bytes === null) return false;
      for (const part of [bytes.subarray(0, 20), bytes.subarray(20)]) push.call(this, part);
      this.destroy(new Error('read ECONNRESET'));
      return false;
    },
  );
  /** @type {string[]} */ const received = [];
  const all = (async () => {
    for await (const message of channel) received.push(String(message));
  })();
  setTimeout(() => {
    for (let i = 0; i < 4; i++) socket.write(record(9, KIND.MESSAGE, Buffer.from(`message ${i}`)));
    while (turn.take()); // the next turn of the event loop begins after the socket has been read
  }, 20); // it sleeps
  await expect(all).rejects.toEqual(errorWith('ERR_PEER_DIED'));
  jest.restoreAllMocks();
  expect(received).toEqual([0, 1, 2, 3].map((i) => `message ${i}`));
});

// The record was taken in a later turn than it came in. Then the socket was resumed, and all that followed was read and dropped.
test('a channel reads nothing after a bad record that came with the hello', async () => {
  const server = closing(await listen(newPath(), OPTIONS));
  const socket = await raw(server.path);
  socket.write(Buffer.concat([writeHello(CAPACITY, null), record(-1, 99)]));
  const channel = closing(await server.accept());
  expect(await channel.closed).toBe('peer-corrupt');
  const piece = Buffer.alloc(65536);
  const MOST = 1024;
  let sent = 0;
  let isTaken = true;
  while (isTaken && sent < MOST) {
    sent++;
    isTaken =
      socket.write(piece) || (await Promise.race([once(socket, 'drain').then(() => true), pause(300)])) === true;
  }
  expect(sent).toBeLessThan(MOST); // what the kernel holds for a socket
});

// A peer can make the kernel walk through hundreds of thousands of its own waits whenever something is written to its socket.
test('of channels whose sockets take long to be written to, a turn writes to few', async () => {
  const CHANNELS = 40;
  const server = closing(await listen(newPath(), OPTIONS));
  /** @type {net.Socket[]} */ const peers = [];
  for (let i = 0; i < CHANNELS; i++) {
    const socket = await raw(server.path);
    socket.write(writeHello(CAPACITY, null));
    const channel = closing(await server.accept());
    channel.onRequest((/** @type {Uint8Array} */ bytes) => bytes);
    peers.push(socket);
  }
  await pause(10); // what follows a hello is sent
  const { prototype } = /** @type {any} */ (net.Socket);
  const write = prototype.write;
  let written = 0;
  let most = 0;
  prototype.write = function (/** @type {any[]} */ ...args) {
    if (peers.includes(this)) return write.apply(this, args);
    written++;
    for (const end = performance.now() + 1; performance.now() < end; ); // longer than the channels may use in a turn
    return write.apply(this, args);
  };
  try {
    for (const socket of peers) socket.write(record(7, KIND.REQUEST, Buffer.from('\x01\0\0\0abc')));
    for (let before = 0; before < CHANNELS; before = written) {
      await turnOfLoop();
      most = Math.max(most, written - before);
    }
  } finally {
    prototype.write = write;
  }
  expect(most).toBeLessThan(CHANNELS / 4);
});

// They filled the queue of those that wait, and each newer client was dropped.
test('more silent clients than can wait do not keep out one that says hello', async () => {
  const server = closing(await listen(newPath(), OPTIONS));
  for (let i = 0; i < 700; i++) await raw(server.path);
  closing(await crossings.connect(server.path, OPTIONS));
  closing(await server.accept());
});

test('a peer that sends more to a closed channel than its ring holds is cut off', async () => {
  const { socket, channel } = await victim();
  const ended = new Promise((resolve) => socket.resume().once('close', resolve));
  channel.close();
  let written = 0;
  for (let i = 0; i < 64; i++)
    socket.write(Buffer.alloc(2 ** 20), (error) => {
      if (!error) written++;
    });
  await ended;
  expect(written).toBeLessThan(16);
});

// What was on its way to it kept the process alive.
test('a program ends although a corrupt peer keeps its socket and reads nothing', async () => {
  const program = `
    const { listen } = require(${JSON.stringify(ROOT)});
    (async () => {
      const server = await listen(process.argv[1], { transport: 'socket', capacity: 2 ** 20 });
      console.log('listening');
      const channel = await server.accept();
      await server.close();
      for (let sent = 0; sent < 8; sent++) await channel.send(Buffer.alloc(50_000));
      console.log(await channel.closed);
    })();`;
  const path = newPath();
  const child = spawn(process.execPath, ['-e', program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  const socket = (await raw(path)).pause();
  socket.write(writeHello(CAPACITY, null));
  await once(socket, 'readable'); // its hello
  await pause(200); // until what it sends fills the kernel's buffer
  socket.write(Buffer.alloc(8, 0xff));
  expect(await text(child.stdout)).toBe('peer-corrupt\n');
  expect(await ended).toEqual([0, null]);
});

// The peer decided how long: 5 to 10 s, while the next channels took more.
test('a channel that has ended keeps no ring, although its peer keeps the socket open', async () => {
  const { execFileSync } = require('node:child_process');
  const program = `
    const net = require('node:net');
    const { listen } = require(${JSON.stringify(ROOT)});
    const { writeHello } = require(${JSON.stringify(join(ROOT, 'lib/fallback/wire.js'))});
    const capacity = 2 ** 24;
    (async () => {
      const server = await listen(process.argv[1], { transport: 'socket', capacity, maxBytesPerUser: 3 * capacity });
      for (const isCorrupt of [true, false, true, false]) {
        const socket = net.connect(server.path).on('error', () => {}).resume();
        socket.write(writeHello(capacity, null));
        const channel = await server.accept();
        if (isCorrupt) socket.write(Buffer.alloc(8, 0xff));
        if (isCorrupt) await channel.closed;
        await channel.close();
      }
      // What the peer decided took at least 5 s.
      const isFree = () => (gc(), process.memoryUsage().arrayBuffers < 2 * capacity);
      for (let i = 0; i < 100 && !isFree(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(isFree());
      process.exit();
    })();`;
  const printed = execFileSync(process.execPath, ['--expose-gc', '-e', program, newPath()], { encoding: 'utf8' });
  expect(printed).toBe('true\n');
});

// 2,550 sockets of closed channels were open at a time.
test('peers that keep their sockets after the channel was closed hold a limited number of descriptors', async () => {
  const { linger } = require('../../lib/fallback/lingering.js');
  const server = net.createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(newPath());
  await once(server, 'listening');
  const own = [];
  for (let i = 0; i < 600; i++) own.push(await raw(String(server.address())));
  for (const socket of own) linger(socket);
  await new Promise(setImmediate);
  expect(own.filter(({ destroyed }) => destroyed)).toEqual(own.slice(0, 88));
  await pause(600);
  linger(await raw(String(server.address())));
  expect(own.filter(({ destroyed }) => !destroyed)).toHaveLength(63); // and the new one
  server.close();
});
