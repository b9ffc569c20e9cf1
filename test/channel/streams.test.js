'use strict';
// Streams over a channel: Node's Duplex and the web's readable and writable streams.
const { randomBytes } = require('node:crypto');
const { Worker } = require('node:worker_threads');
const { rawPeer } = require('./raw-peer.js');
const { closing, crossings, newPath, pair, pause, runScript } = require('./support.js');
const { message } = require('./numbered-messages.js');

test.each([true, false])(
  'a Duplex with objectMode: %s delivers what was written, in order, then ends',
  async (objectMode) => {
    const [a, b] = await pair({ capacity: 65536 });
    const near = a.toDuplex({ objectMode });
    const far = b.toDuplex({ objectMode });
    const received = /** @type {Buffer[]} */ ([]);
    far.on('data', (/** @type {Buffer} */ chunk) => received.push(chunk));
    const ended = new Promise((resolve) => far.once('end', resolve));
    const sent = Array.from({ length: 300 }, (_, i) => message(i));
    for (const chunk of sent) near.write(chunk);
    const large = Buffer.alloc(500_000, 9); // larger than the ring: a stream of bytes splits it
    if (!objectMode) near.write(large);
    near.end();
    near.once('finish', () => near.destroy());
    await ended;
    if (objectMode) expect(received).toEqual(sent);
    else expect(Buffer.concat(received)).toEqual(Buffer.concat([...sent, large]));
    far.destroy();
  },
);

test('web streams carry one message per chunk', async () => {
  const [a, b] = await pair();
  const near = a.toWebStreams();
  const far = b.toWebStreams();
  const writer = near.writable.getWriter();
  await writer.write('one');
  await writer.write('two');
  await writer.close();
  const received = [];
  for await (const chunk of far.readable) received.push(String(chunk));
  expect(received).toEqual(['one', 'two']);
  await far.writable.close();
});

// With setEncoding(), a message that was only a part of a character stopped the stream.
test.each(['for await', 'readable', 'data'])(
  'a Duplex with an encoding joins the parts of a character: %s',
  async (way) => {
    const [a, b] = await pair();
    const far = b.toDuplex();
    far.setEncoding('utf8');
    let text = '';
    const read = {
      'for await': async () => {
        for await (const part of far) text += part;
      },
      readable: () => {
        far.on('readable', () => {
          for (let part = far.read(); part !== null; part = far.read()) text += part;
        });
        return new Promise((resolve) => far.once('end', resolve));
      },
      data: () => {
        far.on('data', (/** @type {string} */ part) => {
          text += part;
        });
        return new Promise((resolve) => far.once('end', resolve));
      },
    }[way];
    const done = read?.();
    for (const byte of Buffer.from('a€b')) {
      await a.send(Buffer.from([byte]));
      await pause(2);
    }
    await a.close();
    await done;
    expect(text).toBe('a€b');
    far.destroy();
  },
);

// Its read or write in progress failed, and an error without a listener ends the program.
test.each([
  ['reads', (/** @type {any} */ stream) => stream.resume()],
  [
    'writes',
    (/** @type {any} */ stream) => {
      for (let i = 0; i < 10; i++) stream.write(Buffer.alloc(20_000));
    },
  ],
  ['does nothing', () => {}],
])('close() of the channel destroys a Node stream that %s, without an error', async (_, use) => {
  const [a] = await pair({ capacity: 65536 });
  const stream = a.toDuplex();
  const failed = jest.fn();
  stream.on('error', failed);
  const closed = new Promise((resolve) => stream.once('close', resolve));
  use(stream);
  await pause(5);
  await a.close();
  await closed;
  expect(failed).not.toHaveBeenCalled();
});

test.each(['closed', 'died'])('close() of the channel destroys a Node stream whose peer has %s', async (end) => {
  const peer = await rawPeer();
  const stream = peer.a.toDuplex();
  peer.end(end === 'closed');
  await peer.a.closed;
  const closed = new Promise((resolve) => stream.once('close', resolve));
  await peer.close();
  await closed;
});

test('a Node stream that reads reports the death of its peer, although the channel is closed at once', async () => {
  const peer = await rawPeer();
  const stream = peer.a.toDuplex();
  const failed = new Promise((resolve) => stream.once('error', resolve));
  stream.resume();
  peer.a.closed.then(() => peer.a.close());
  await pause(5);
  peer.end(false);
  expect(await failed).toMatchObject({ code: 'ERR_PEER_DIED' });
  await peer.close();
});

test('abort() of a web stream closes the channel, although a write waits for room', async () => {
  const [a] = await pair({ capacity: 65536 });
  const writer = a.toWebStreams().writable.getWriter();
  const writes = Array.from({ length: 10 }, () => writer.write(Buffer.alloc(20_000)));
  const settled = Promise.allSettled([...writes, writer.closed]);
  await pause(5);
  await writer.abort(new Error('enough'));
  await settled;
  expect(a.state).toBe('closed');
});

// Node's http ends a request with an empty chunk. If the response came first, it used the connection for two requests at a time.
const transport = JSON.stringify(require.resolve('./transport.js'));
test('the callbacks of what was written come before its answer', async () => {
  const source = `
    const { workerData } = require('node:worker_threads');
    require(${transport}).crossings.openChannel(workerData, { capacity: 65536 }).then(async (channel) => {
      for await (const chunk of channel) await channel.send(chunk);
      await channel.close();
    });`;
  const { channel, port } = crossings.channelPair({ capacity: 65536 });
  const worker = new Worker(source, { eval: true, workerData: port.take(), env: { ...process.env } });
  const duplex = closing(await channel).toDuplex();
  let [left, isFinished, early] = [0, true, 0];
  let onEcho = () => {};
  duplex.on('data', (/** @type {Buffer} */ chunk) => {
    left -= chunk.length;
    if (left === 0 && !isFinished) early++;
    if (left === 0) onEcho();
  });
  const end = performance.now() + 2000;
  for (let i = 0; performance.now() < end; i++) {
    const echo = new Promise((resolve) => {
      onEcho = () => resolve(undefined);
    });
    left = [10, 300, 3000, 30_000, 100_000][i % 5];
    isFinished = false;
    const finished = new Promise((resolve) => {
      duplex.write(Buffer.alloc(left));
      duplex.write('', () => {
        isFinished = true;
        resolve(undefined);
      });
    });
    await Promise.all([echo, finished]);
  }
  duplex.destroy();
  await worker.terminate();
  expect(early).toBe(0);
});

test.each(['write', 'end'])(
  'what was passed to %s() reaches the peer, although the callback kills the process',
  async (call) => {
    const path = newPath();
    const server = closing(await crossings.listen(path));
    const script = `
    const { crossings } = require(${transport});
    crossings.connect(${JSON.stringify(path)}, ${JSON.stringify({ transport: process.env.CROSSINGS_TEST_TRANSPORT })}).then((channel) => {
      const duplex = channel.toDuplex();
      setImmediate(() => duplex.${call}('bye', () => process.kill(process.pid, 'SIGKILL')));
    });`;
    const { ended } = runScript(script);
    const channel = closing(await server.accept());
    expect(await channel.receive()).toEqual(Buffer.from('bye'));
    await expect(channel.receive()).rejects.toMatchObject({ code: 'ERR_PEER_DIED' });
    await ended;
  },
);

test.each([
  ['just before process.exit()', 'writes(); process.exit();'],
  ["in a listener of 'exit'", "process.on('exit', writes); process.exit();"],
])('what is written %s reaches the peer, although the turn is over', async (_when, ends) => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const script = `
    const { crossings } = require(${transport});
    crossings.connect(${JSON.stringify(path)}, ${JSON.stringify({ transport: process.env.CROSSINGS_TEST_TRANSPORT })}).then((channel) => {
      const duplex = channel.toDuplex();
      const writes = () => {
        for (let n = 1; n <= 5; n++) duplex.write(String(n));
      };
      setImmediate(() => {
        duplex.write('0');
        for (const end = performance.now() + 5; performance.now() < end; );
        ${ends}
      });
    });`;
  const { ended } = runScript(script);
  const channel = closing(await server.accept());
  for (let n = 0; n <= 5; n++) expect(await channel.receive()).toEqual(Buffer.from(String(n)));
  await ended;
});

test('a Duplex reads on after a listener has thrown, if the program goes on', async () => {
  const script = `
    const { crossings } = require(${transport});
    let received = '';
    process.on('uncaughtException', ({ message }) => {
      received += '!';
      if (message !== 'mine') throw new Error(message);
    });
    (async () => {
      const { channel, port } = crossings.channelPair();
      const [a, b] = await Promise.all([channel, crossings.openChannel(port.take())]);
      const [near, far] = [a.toDuplex(), b.toDuplex()];
      far.setEncoding('utf8').on('data', (chunk) => {
        received += chunk;
        throw new Error('mine');
      });
      for (const word of ['one', 'two', 'three']) {
        far.pause();
        near.write(word);
        setTimeout(() => far.resume(), word === 'two' ? 20 : 0); // so that it waits in the stream, or not
        while (!received.endsWith(word + '!')) await new Promise(setImmediate);
      }
      console.log(received);
      near.destroy();
      far.destroy();
    })();`;
  expect(await runScript(script).ended).toEqual({ status: 0, signal: null, output: 'one!two!three!\n' });
});

test.each([true, false])(
  'a program that reads once for each readable event gets everything (objectMode: %s)',
  async (objectMode) => {
    const [a, b] = await pair();
    const duplex = b.toDuplex({ objectMode });
    let received = '';
    duplex.on('readable', () => {
      received += duplex.read() ?? '';
    });
    for (const word of ['one', 'two', 'three']) {
      a.trySend(word);
      while (!received.endsWith(word)) await new Promise(setImmediate);
    }
    expect(received).toBe('onetwothree');
  },
);

test('a large message comes in pieces, and no more of them after pause()', async () => {
  const [a, b] = await pair({ capacity: 4 << 20 });
  const message = randomBytes(1_000_000);
  const duplex = b.toDuplex();
  const pieces = /** @type {Buffer[]} */ ([]);
  duplex.on('data', (/** @type {Buffer} */ piece) => {
    pieces.push(piece);
    duplex.pause();
  });
  a.trySend(message);
  while (pieces.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(pieces).toHaveLength(1);
  for (let bytes = pieces[0].length; bytes < message.length; bytes += pieces[pieces.length - 1].length) {
    const { length } = pieces;
    duplex.resume();
    while (pieces.length === length) await new Promise(setImmediate);
  }
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65536);
  expect(Buffer.concat(pieces).equals(message)).toBe(true);
});
