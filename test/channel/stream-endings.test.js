'use strict';
// Streams over a channel whose peer, process or listener ends in the middle of what has arrived.
const { once } = require('node:events');
const { Writable } = require('node:stream');
const { text } = require('node:stream/consumers');
const { finished, pipeline } = require('node:stream/promises');
const tls = require('node:tls');
const { closing, crossings, newPath, pair, pause, runScript, success } = require('./support.js');

const transport = JSON.stringify(require.resolve('./transport.js'));
const withTransport = JSON.stringify({ transport: process.env.CROSSINGS_TEST_TRANSPORT });

/** A script that connects to `path` and goes on with `channel`. @param {string} path @param {string} body */
const connecting = (path, body) => `
  const { crossings } = require(${transport});
  crossings.connect(${JSON.stringify(path)}, ${withTransport}).then(async (channel) => { ${body} });`;

/** A script with both ends of a channel as streams, `near` and `far`, in a program that goes on after errors named 'mine'. @param {string} body */
const withStreams = (body) => `
  const { crossings } = require(${transport});
  process.on('uncaughtException', ({ message }) => {
    if (message !== 'mine') throw new Error(message);
  });
  (async () => {
    const { channel, port } = crossings.channelPair();
    const [a, b] = await Promise.all([channel, crossings.openChannel(port.take())]);
    const [near, far] = [a.toDuplex(), b.toDuplex()];
    ${body}
  })();`;

const RECORDS = 50; // of ten bytes, five in a message

test('read(n) gets all records that a peer sent before it died, and then its error', async () => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const { ended } = runScript(
    connecting(
      path,
      `for (let n = 0; n < ${RECORDS}; n += 5) await channel.send(String(n).padStart(10).repeat(5));
       process.kill(process.pid, 'SIGKILL');`,
    ),
  );
  const duplex = (await server.accept()).toDuplex();
  const failed = new Promise((resolve) => duplex.once('error', resolve));
  const whole = /** @type {string[]} */ ([]);
  let isOver = false;
  failed.then(() => {
    isOver = true;
  });
  const arrival = () => Promise.race([failed, new Promise((resolve) => duplex.once('readable', resolve))]);
  await arrival();
  while (!isOver) {
    const record = duplex.read(10); // for this, Node raises the high-water mark
    if (record === null) await arrival();
    else whole.push(String(record));
    if (whole.length === 1) await ended;
    await pause(2); // as a program does that works on each
  }
  expect(await failed).toMatchObject({ code: 'ERR_PEER_DIED' });
  expect(whole).toHaveLength(RECORDS);
});

test('a reader that waits for more than has arrived gets the error', async () => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  runScript(connecting(path, `await channel.send('12345'); process.kill(process.pid, 'SIGKILL');`));
  const duplex = (await server.accept()).toDuplex();
  duplex.on('readable', () => duplex.read(10));
  const error = await new Promise((resolve) => duplex.once('error', resolve));
  expect(error).toMatchObject({ code: 'ERR_PEER_DIED' });
});

/** How a reader takes a line. What it pushes back is left for the next one. */
const LINE_READERS = {
  'read() and unshift()': (/** @type {import('node:stream').Duplex} */ duplex) => {
    const chunk = duplex.read();
    if (chunk?.length > 2) duplex.unshift(chunk.subarray(2));
    return chunk?.subarray(0, 2) ?? null;
  },
  'read(n), or what is there': (/** @type {import('node:stream').Duplex} */ duplex) =>
    duplex.read(1000) ?? duplex.read(),
};

test.each(Object.entries(LINE_READERS))('all that a peer sent before it died is read by %s', async (_, take) => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const lines = Array.from('abcdefgh', (letter) => `${letter}\n`);
  const { ended } = runScript(
    connecting(
      path,
      `const lines = ${JSON.stringify(lines)};
       await channel.send(lines.slice(0, 5).join(''));
       for (const line of lines.slice(5)) await channel.send(line);
       process.kill(process.pid, 'SIGKILL');`,
    ),
  );
  const duplex = (await server.accept()).toDuplex();
  let isOver = false;
  const failed = new Promise((resolve) => duplex.once('error', resolve));
  failed.then(() => {
    isOver = true;
  });
  let received = '';
  await new Promise((resolve) => duplex.once('readable', resolve));
  duplex.read(1000); // for this, Node raises the high-water mark: all is received before any of it is taken
  await ended;
  await pause(50);
  while (!isOver) {
    received += take(duplex) ?? '';
    await pause(2); // as a program does that works on each
  }
  expect(await failed).toMatchObject({ code: 'ERR_PEER_DIED' });
  expect(received).toBe(lines.join(''));
});

test.each(['for await', 'finished()'])(
  '%s reports a death although the last bytes were read before it',
  async (how) => {
    const path = newPath();
    const server = closing(await crossings.listen(path));
    const { ended } = runScript(
      connecting(path, `await channel.send('headbody'); process.kill(process.pid, 'SIGKILL');`),
    );
    const duplex = (await server.accept()).toDuplex();
    await new Promise((resolve) => duplex.once('readable', resolve));
    expect(String(duplex.read(4))).toBe('head');
    await ended;
    await pause(50);
    expect(String(duplex.read(4))).toBe('body');
    const all = how === 'for await' ? text(duplex) : finished(duplex.resume(), { writable: false });
    await expect(all).rejects.toThrow(expect.objectContaining({ code: 'ERR_PEER_DIED' }));
  },
);

test('the error comes although a listener has thrown at the last bytes before it', async () => {
  const script = `
    const { crossings } = require(${transport});
    process.on('uncaughtException', () => {});
    const decode = (bytes) => {
      if (bytes.length === 3) throw new Error('decode');
      return bytes;
    };
    (async () => {
      const { channel, port } = crossings.channelPair({ decode });
      const [near, far] = await Promise.all([channel, crossings.openChannel(port.take())]);
      const duplex = near.toDuplex();
      const readable = () => new Promise((resolve) => duplex.once('readable', resolve));
      await far.send('head');
      await readable();
      duplex.read(20); // for this, Node raises the high-water mark
      await far.send('body');
      while (duplex.readableLength < 8) await readable();
      await far.send('bad');
      await new Promise((resolve) => setTimeout(resolve, 50));
      let received = '';
      duplex.on('error', ({ message }) => {
        console.log(received, message);
        far.close();
      });
      duplex.on('data', (chunk) => {
        received += chunk;
        throw new Error('mine');
      });
    })();`;
  expect(await runScript(script).ended).toEqual({ status: 0, signal: null, output: 'headbody decode\n' });
});

test.each(['close', 'destroy'])('%s() destroys each of many streams of a channel once', async (how) => {
  const [a] = await pair();
  let calls = 0;
  const streams = Array.from({ length: 100 }, () => {
    const duplex = a.toDuplex();
    const { destroy } = duplex;
    return Object.assign(duplex, {
      destroy(/** @type {any} */ error) {
        calls++;
        return destroy.call(duplex, error);
      },
    });
  });
  const closed = streams.map((duplex) => new Promise((resolve) => duplex.once('close', resolve)));
  if (how === 'close') await a.close();
  else streams[0].destroy();
  await Promise.all(closed);
  expect(calls).toBeLessThanOrEqual(101);
});

test('a Duplex reads on after a listener has thrown while more than one chunk waited', async () => {
  const script = withStreams(`
    near.write('head+rest');
    await new Promise((resolve) => far.once('readable', resolve));
    far.unshift(far.read().subarray(5));
    near.write('next');
    while (far.readableLength < 8) await new Promise(setImmediate);
    let received = '';
    far.on('data', (chunk) => {
      received += chunk;
      if (received === 'rest') throw new Error('mine');
    });
    near.write('last');
    while (!received.endsWith('last')) await new Promise(setImmediate);
    console.log(received);
    near.destroy();
    far.destroy();`);
  expect(await runScript(script).ended).toEqual({ status: 0, signal: null, output: 'restnextlast\n' });
});

test('the rest of a large message does not keep a process alive whose channel does not', async () => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const { ended } = runScript(
    connecting(
      path,
      `let chunks = 0;
       process.once('exit', () => console.log(chunks < 8 ? 'ended' : chunks));
       channel.toDuplex().on('data', () => {
         chunks++;
         channel.unref();
       });`,
    ),
  );
  const channel = closing(await server.accept());
  await channel.send(Buffer.alloc(8 * 65536));
  expect(await ended).toEqual({ status: 0, signal: null, output: 'ended\n' });
});

test('ref() keeps a process alive that reads the rest of a large message, after unref(), beside a slow handler', async () => {
  const script = `
    const { crossings } = require(${transport});
    const options = { capacity: 4 << 20 };
    const pair = async () => {
      const { channel, port } = crossings.channelPair(options);
      return Promise.all([channel, crossings.openChannel(port.take(), options)]);
    };
    const keep = setInterval(() => {}, 1000);
    (async () => {
      const [[reads, writes], [responds, requests]] = await Promise.all([pair(), pair()]);
      await writes.send(Buffer.alloc(2 << 20));
      await writes.close();
      await reads.closed;
      responds.unref();
      requests.unref();
      const duplex = reads.toDuplex();
      let calls = 0;
      responds.onRequest(() => {
        for (const end = performance.now() + 2; performance.now() < end; );
        if (++calls === 1) reads.unref();
        if (calls === 2) {
          reads.ref();
          clearInterval(keep);
        }
        return '';
      });
      reads.unref();
      duplex.once('data', () => {
        for (let i = 0; i < 4; i++) requests.request('').catch(() => {});
      });
      let received = 0;
      duplex.on('data', (chunk) => {
        received += chunk.length;
      });
      process.on('exit', () => console.log(received));
    })();`;
  // Which of two timers comes first decides, so not every process would have ended early.
  for (const { ended } of Array.from({ length: 6 }, () => runScript(script)))
    expect(await ended).toEqual({ status: 0, signal: null, output: '2097152\n' });
});

test("a program that writes as long as it can ends at process.exit(), also in a listener of 'exit'", async () => {
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const { ended } = runScript(
    connecting(
      path,
      `const duplex = channel.toDuplex();
       const fill = () => { while (duplex.write('x')); };
       duplex.on('drain', fill);
       process.on('exit', fill);
       setImmediate(() => {
         for (const end = performance.now() + 5; performance.now() < end; );
         fill();
         process.exit();
       });`,
    ),
  );
  const channel = closing(await server.accept());
  let received = 0;
  try {
    for await (const _ of channel) received++;
  } catch {} // it has exited
  expect(received).toBeGreaterThan(16);
  expect(await ended).toEqual(success);
});

// While its target is full, pipe() does not ask whether the stream has ended. The target was never ended, and pipeline() never settled.
test('pipeline() ends its target if the channel is closed after the peer, while the last chunk is being written', async () => {
  const [a, b] = await pair();
  const duplex = b.toDuplex();
  /** @type {string[]} */ const written = [];
  /** @type {(error?: Error) => void} */ let done = () => {};
  const target = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, callback) {
      written.push(String(chunk));
      done = callback;
    },
  });
  const ended = pipeline(duplex, target);
  await a.send('one');
  while (written.length === 0) await pause(1);
  await a.close();
  while (b.state === 'open') await pause(1);
  await pause(20); // the stream ends
  await b.close();
  while (!duplex.closed) await pause(1);
  done();
  await ended;
  expect(written).toEqual(['one']);
});

// Only 'end' was emitted, so Node's http kept such a stream for its next request, and finished() never settled.
test('a Duplex closes when its peer has closed and all was read, as a socket does', async () => {
  const [a, b] = await pair();
  const duplex = b.toDuplex().resume();
  await a.send('last');
  await a.close();
  await finished(duplex);
  while (!duplex.closed) await pause(1);
  expect(b.state).toBe('closed');
});

test.each([undefined, 'message'])('a write after the peer has closed fails: %s, in object mode', async (message) => {
  const [a, b] = await pair({ ...crossings.structured });
  const duplex = b.toDuplex({ objectMode: true });
  await a.close();
  while (b.state === 'open') await pause(1);
  const failed = new Promise((resolve) => duplex.once('error', resolve));
  duplex.write(message);
  expect(await failed).toMatchObject({ code: 'ERR_CLOSED' });
  await b.close();
});

// The loop destroyed it with an AbortError, as its writable side had not ended.
test('a Duplex has no error after a loop over it until its end', async () => {
  const [a, b] = await pair();
  const duplex = b.toDuplex();
  /** @type {Error[]} */ const errors = [];
  duplex.on('error', (/** @type {Error} */ error) => errors.push(error));
  await a.send('last');
  await a.close();
  for await (const _ of duplex);
  while (!duplex.closed) await pause(1);
  await finished(duplex);
  expect(errors).toEqual([]);
});

const psk = Buffer.alloc(16, 1);
const WITHOUT_CERTIFICATES = {
  ciphers: 'PSK',
  maxVersion: /** @type {'TLSv1.2'} */ ('TLSv1.2'),
  pskCallback: /** @type {() => any} */ (() => ({ psk, identity: 'test' })),
};

/** TLS over both ends of a channel. */
async function tlsPair() {
  const [a, b] = await pair();
  const [near, far] = [a.toDuplex(), b.toDuplex()];
  const options = { isServer: true, ...WITHOUT_CERTIFICATES, pskCallback: () => psk };
  const server = new tls.TLSSocket(near, /** @type {any} */ (options));
  const client = tls.connect({ socket: far, checkServerIdentity: () => undefined, ...WITHOUT_CERTIFICATES });
  /** @type {Error[]} */ const errors = [];
  for (const stream of [near, far, server, client])
    stream.on('error', (/** @type {Error} */ error) => errors.push(error));
  await once(client, 'secureConnect');
  return { a, b, near, far, server, client, errors };
}

// A TLSSocket discards what was not read yet when the stream that it uses closes.
test.each(['end', 'end, after its reader', 'close'])(
  'TLS over a Duplex gets all, though its reader is slow, and closes: %s()',
  async (how) => {
    const BYTES = 300_000;
    const { a, b, near, far, server, client, errors } = await tlsPair();
    if (how === 'end, after its reader') client.end('request');
    server.resume();
    let bytes = 0;
    client.on('data', ({ length }) => {
      bytes += length;
      client.pause();
      setTimeout(() => client.resume(), 20);
    });
    server.write(Buffer.alloc(BYTES));
    if (how === 'close') server.write('last', () => a.close());
    else server.end(() => near.destroySoon());
    await once(client, 'close');
    while (!far.closed) await pause(1);
    expect({ bytes, errors, state: b.state }).toEqual({
      bytes: how === 'close' ? BYTES + 'last'.length : BYTES,
      errors: [],
      state: 'closed',
    });
  },
);

// What was written after the peer's end was dropped, as long as something had not been read.
test('a TLS socket that only writes learns that its peer has closed', async () => {
  const { a, b, server, client, errors } = await tlsPair();
  await new Promise((resolve) => client.write('not read', resolve));
  await pause(20);
  await b.close();
  while (!server.destroyed) {
    server.write('line');
    await pause(1);
  }
  while (a.state !== 'closed') await pause(1);
  expect(errors).not.toEqual([]);
});

test('a destroyed Duplex keeps nothing of a large message', async () => {
  const BYTES = 2 ** 24;
  const script = `
    const { crossings } = require(${transport});
    const { once } = require('node:events');
    (async () => {
      const { channel, port } = crossings.channelPair({ ...${withTransport}, capacity: ${2 * BYTES} });
      const [a, b] = await Promise.all([channel, crossings.openChannel(port.take(), { ...${withTransport}, capacity: ${2 * BYTES} })]);
      const duplex = b.toDuplex();
      await a.send(new Uint8Array(${BYTES}));
      await once(duplex, 'readable');
      duplex.destroy();
      await once(duplex, 'close');
      await a.close();
      for (let i = 0; i < 10; i++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      console.log(process.memoryUsage().arrayBuffers < ${BYTES}, duplex.destroyed);
    })();`;
  const { output } = await runScript(script, ['--expose-gc']).ended;
  expect(output).toBe('true true\n');
});

// They were parts of one buffer: to transfer one was an error, or detached those that had not been read yet.
test('each piece of a large message may be transferred', async () => {
  const [a, b] = await pair();
  let bytes = 0;
  const duplex = b.toDuplex().on('data', (/** @type {Buffer} */ { buffer }) => {
    bytes += structuredClone(buffer, { transfer: [buffer] }).byteLength;
  });
  await a.send(Buffer.alloc(200_001));
  await a.close();
  await new Promise((resolve) => duplex.once('close', resolve));
  expect(bytes).toBe(200_001);
});
