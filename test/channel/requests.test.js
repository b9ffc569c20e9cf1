'use strict';
// request and onRequest: every request gets its own answer or one clear error.
const { closing, crossings, errorWith, library, newPath, pair, pause, runScript, success } = require('./support.js');

const transport = JSON.stringify(require.resolve('./transport.js'));
/** For a script. @param {object} options */
const withTransport = (options) => JSON.stringify({ transport: process.env.CROSSINGS_TEST_TRANSPORT, ...options });

test('answers match their requests, in whatever order they come', async () => {
  const [a, b] = await pair();
  b.onRequest(async (/** @type {Buffer} */ request) => {
    const ms = Number(request.toString());
    await pause(ms);
    return `waited ${ms}`;
  });
  const answers = await Promise.all([30, 1, 15].map((ms) => a.request(String(ms))));
  expect(answers.map(String)).toEqual(['waited 30', 'waited 1', 'waited 15']);
});

test('both ends can send requests and plain messages at the same time', async () => {
  const [a, b] = await pair();
  a.onRequest((/** @type {Buffer} */ request) => `a:${request}`);
  b.onRequest((/** @type {Buffer} */ request) => `b:${request}`);
  a.trySend('plain');
  const [fromB, fromA] = await Promise.all([a.request('1'), b.request('2')]);
  expect([String(fromB), String(fromA)]).toEqual(['b:1', 'a:2']);
  expect((await b.receive()).toString()).toBe('plain');
});

test("a handler's error rejects the request with the same message", async () => {
  const [a, b] = await pair();
  b.onRequest(() => {
    throw new Error('no such thing');
  });
  await expect(a.request('x')).rejects.toMatchObject({ code: 'ERR_REQUEST_FAILED', message: 'no such thing' });
});

test("the name and the code of a handler's error are the cause of the requester's", async () => {
  const [a, b] = await pair();
  const errors = [
    Object.assign(new RangeError('no such thing'), { code: 'ERR_NO_SUCH_THING' }),
    new TypeError('with\0zero\0bytes'),
    Object.assign(new Error('x'.repeat(5000)), { name: 'n'.repeat(500), code: 404 }),
    'text',
  ];
  b.onRequest((/** @type {Buffer} */ index) => {
    throw errors[Number(index)];
  });
  const rejections = await Promise.all(
    errors.map((_, i) => a.request(String(i)).catch((/** @type {any} */ error) => error)),
  );
  for (const error of rejections) expect(error).toMatchObject({ name: 'CrossingsError', code: 'ERR_REQUEST_FAILED' });
  expect(rejections[0].cause).toMatchObject({
    name: 'RangeError',
    message: 'no such thing',
    code: 'ERR_NO_SUCH_THING',
  });
  expect(rejections[1]).toMatchObject({ message: 'with\ufffdzero\ufffdbytes', cause: { name: 'TypeError' } });
  expect(rejections[2].cause).toMatchObject({ message: 'x'.repeat(1000), name: 'n'.repeat(100), code: '404' });
  expect([rejections[3].message, 'cause' in rejections[3]]).toEqual(['text', false]);
});

describe('limits', () => {
  test.each([1, 3])(
    'a handler with a concurrency of %i works on no more requests at once, in their order',
    async (concurrency) => {
      const [a, b] = await pair();
      let atWork = 0;
      let most = 0;
      /** @type {string[]} */ const begun = [];
      b.onRequest(
        async (/** @type {Buffer} */ request) => {
          begun.push(String(request));
          most = Math.max(most, ++atWork);
          await pause(1);
          atWork--;
          if (begun.length % 5 === 0) throw new Error('every fifth fails');
          return request;
        },
        { concurrency },
      );
      const names = Array.from({ length: 40 }, (_, i) => String(i));
      await Promise.allSettled(names.map((name) => a.request(name)));
      expect([begun, most]).toEqual([names, concurrency]);
    },
  );

  test.each(['each settles at once', 'the first settles late'])(
    'the event loop lives beside a handler for one request at a time: %s',
    async (how) => {
      const [a, b] = await pair();
      let begun = 0;
      let turns = 0;
      const work = (/** @type {Buffer} */ request) => {
        const isLate = begun++ === 0 && how !== 'each settles at once';
        const until = performance.now() + 0.2;
        while (performance.now() < until);
        if (isLate) return pause(5).then(() => request);
        return how === 'each settles at once' ? Promise.resolve(request) : request;
      };
      b.onRequest(work, { concurrency: 1 });
      const answered = Promise.all(Array.from({ length: 400 }, (_, i) => a.request(String(i))));
      const turn = () => {
        if (begun > 1) turns++;
        if (begun < 400) setImmediate(turn);
      };
      setImmediate(turn);
      expect((await answered).map(String)).toEqual(Array.from({ length: 400 }, (_, i) => String(i)));
      // Without turns in between there were none. How many there are depends on how often the clock is read: up to 64
      // handlers that are answered at once may share a turn.
      expect(turns).toBeGreaterThan(3);
    },
  );

  test('requests that wait for a handler are refused when it is removed', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}), { concurrency: 1 });
    const [first, second] = [a.request('1'), a.request('2')];
    first.catch(() => {});
    while (b.stats().messagesReceived < 2) await pause(1);
    b.onRequest(null);
    await expect(second).rejects.toEqual(errorWith('ERR_REQUEST_FAILED'));
  });

  test('more than maxRequests pending requests are refused, until one is answered', async () => {
    const [a, b] = await pair({ maxRequests: 2 }, {});
    const answered = [a.request('1'), a.request('2')];
    await expect(a.request('3')).rejects.toThrow(
      'Too many pending requests: 2, the maximum set by the option maxRequests.',
    );
    b.onRequest((/** @type {Buffer} */ request) => request);
    await Promise.all(answered);
    expect(String(await a.request('4'))).toBe('4');
  });
});

test('a request to a peer without a handler is rejected', async () => {
  const [a, b] = await pair();
  const answer = a.request('x');
  const reading = b.receive().catch(() => {}); // rejects when b closes below
  await expect(answer).rejects.toEqual(errorWith('ERR_REQUEST_FAILED'));
  await b.close();
  await reading;
});

describe('a request that gets no answer ends', () => {
  test('when its timeout is over', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    await expect(a.request('x', { timeout: 10 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
  });

  test('when its signal is aborted', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const stop = new AbortController();
    const aborted = a.request('x', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('when this end closes', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const unanswered = a.request('x');
    await a.close();
    await expect(unanswered).rejects.toEqual(errorWith('ERR_CLOSED'));
  });

  test('when the peer closes', async () => {
    const [a, b] = await pair();
    b.onRequest(() => new Promise(() => {}));
    const unanswered = a.request('x');
    await b.close();
    await expect(unanswered).rejects.toEqual(errorWith('ERR_CLOSED'));
  });
});

// The peer had made room between two looks. The request was then in the ring and taken for one that still waits: its response was dropped.
test('a request that finds room at the second look gets its response, and its window is kept', async () => {
  const { Requests } = require('../../lib/channel/requests.js');
  const { KIND } = require('../../lib/channel/layout.js');
  let cancels = 0;
  const requests = new Requests(
    (_payload, _kind, _number, done) => {
      done();
      return () => {
        cancels++;
      };
    },
    { mine: 65536, peer: 65536 },
  );
  const asked = requests.ask(Buffer.from('x'), undefined, Number.POSITIVE_INFINITY, () => {});
  expect(requests.isAwaited(1)).toBe(true);
  const response = { kind: KIND.RESPONSE, number: 1, payload: Buffer.from('y') };
  requests.admit(response);
  requests.take(response);
  expect(String(await asked)).toBe('y');
  const stop = new AbortController();
  const aborted = requests.ask(Buffer.from('x'), stop.signal, Number.POSITIVE_INFINITY, () => {});
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  expect([cancels, requests.hasPending]).toEqual([0, true]); // it is open at the peer
});

// It was dispatched in its order only, behind up to 8,191 requests of the peer whose handlers took their time.
test('a response that has been read ends its request when the timeout expires, whatever is to be dispatched before it', async () => {
  const { Requests } = require('../../lib/channel/requests.js');
  const { KIND } = require('../../lib/channel/layout.js');
  const requests = new Requests(() => undefined, { mine: 65536, peer: 65536 });
  const asked = requests.ask(Buffer.from('x'), undefined, 10, () => {});
  const response = { kind: KIND.RESPONSE, number: 1, payload: Buffer.from('y') };
  expect(requests.admit(response)).toBe(true);
  expect(String(await asked)).toBe('y');
  expect(response.payload).toHaveLength(0); // while it waits for its turn
  requests.take(response); // its turn has come
  expect([requests.areAwaited, requests.hasPending]).toEqual([false, false]);
});

/** Blocks this thread. @param {number} ms */
const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

// All responses waited behind the peer's requests, without a limit of their bytes.
test.each([
  ['', {}],
  [', one at a time', { concurrency: 1 }],
])('a response does not wait until slow handlers have been called for all requests before it%s', async (_, options) => {
  const REQUESTS = 200;
  const path = newPath();
  const server = closing(await crossings.listen(path));
  runScript(`
    const { crossings } = require(${transport});
    crossings.connect(${JSON.stringify(path)}, ${withTransport({})}).then((channel) => {
      channel.onRequest(() => 'answer');
      for (let i = 0; i < ${REQUESTS}; i++) channel.request('x').catch(() => {});
    });`);
  const channel = closing(await server.accept());
  let handled = 0;
  channel.onRequest(async () => {
    handled++;
    block(5); // each call takes the rest of a turn
    return 'done';
  }, options);
  while (handled < 3) await pause(1);
  expect(String(await channel.request('q'))).toBe('answer');
  expect(handled).toBeLessThan(REQUESTS);
});

// Each response caused a request, whose response arrived before the next turn: those of the peer were never dispatched.
test('the handler is called while many requests of this side are in progress', async () => {
  const [LOOPS, MOST] = [2000, 100_000];
  const path = newPath();
  const server = closing(await crossings.listen(path));
  const { ended } = runScript(`
    const { crossings } = require(${transport});
    crossings.connect(${JSON.stringify(path)}, ${withTransport({})}).then(async (channel) => {
      channel.onRequest((message) => message);
      await channel.receive();
      await channel.request('question');
      channel.close();
    });`);
  const channel = closing(await server.accept());
  let responses = 0;
  let isAsked = false;
  channel.onRequest(() => {
    isAsked = true;
    return 'answer';
  });
  const all = Array.from({ length: LOOPS }, async () => {
    while (!isAsked && responses < MOST) {
      await channel.request('x');
      if (++responses === 5 * LOOPS) await channel.send('ask');
      for (const end = performance.now() + 0.02; performance.now() < end; );
    }
  });
  await Promise.allSettled(all);
  expect(responses).toBeLessThan(MOST);
  await channel.close();
  await ended;
});

// The loop took the first message of each turn, whose copy or decoding spent it.
test('a request is answered although a loop over messages spends each turn', async () => {
  const MOST = 200;
  const path = newPath();
  const options = { capacity: 2 ** 20 };
  const decode = (/** @type {Buffer} */ message) => {
    if (message.length > 1000) block(3);
    return message;
  };
  const server = closing(await crossings.listen(path, { ...options, decode }));
  runScript(`
    const { crossings } = require(${transport});
    crossings.connect(${JSON.stringify(path)}, ${withTransport(options)}).then(async (channel) => {
      channel.onRequest((message) => message);
      try {
        for (;;) await channel.send(new Uint8Array(150_000));
      } catch {}
    });`);
  const channel = closing(await server.accept());
  let received = 0;
  let isAnswered = false;
  for await (const _ of channel) {
    if (++received === 20) channel.request('x').then(() => (isAnswered = true));
    if (isAnswered || received === MOST) break;
  }
  expect(received).toBeLessThan(MOST);
});

// Each call spent a turn before waiting sends got theirs.
test('a send that waits for room goes on between the calls of a slow handler', async () => {
  const REQUESTS = 300;
  const [a, b] = await pair({ capacity: 65536 });
  let handled = 0;
  a.onRequest(() => {
    handled++;
    block(2);
    return 'done';
  });
  while (a.trySend(new Uint8Array(1000)));
  const sent = a.send(new Uint8Array(1000)).then(() => handled);
  const answers = Array.from({ length: REQUESTS }, () => b.request('x'));
  while (handled === 0) await pause(1);
  (async () => {
    for await (const _ of b);
  })();
  expect(await sent).toBeLessThan(REQUESTS);
  await Promise.all(answers);
  await a.close();
});

// Each request made room for another one when it ended, and all responses were held until their turn.
test('of a request that is aborted after its response was read, nothing is held', async () => {
  const { Requests } = require('../../lib/channel/requests.js');
  const { KIND } = require('../../lib/channel/layout.js');
  const requests = new Requests(() => undefined, { mine: 65536, peer: 65536 });
  const stop = new AbortController();
  const asked = requests.ask(Buffer.from('x'), stop.signal, Number.POSITIVE_INFINITY, () => {});
  const response = { kind: KIND.RESPONSE, number: 1, payload: Buffer.from('y') };
  expect(requests.admit(response)).toBe(true);
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect(response.payload).toHaveLength(0);
  requests.take(response);
  expect([requests.areAwaited, requests.hasPending]).toEqual([false, false]);
});

// A try call took that response out of the ring, and nobody sent the request that it had made room for.
test('a request that waits for the window is sent when the response to one that has timed out is found', async () => {
  const script = `
    const { Worker } = require('node:worker_threads');
    const { channelPair, openChannel } = require(${library});
    const { channel, port } = channelPair({ capacity: 65536, wait: 'spin' });
    const worker = new Worker(\`
      const { openChannel } = require(${library});
      openChannel(require('node:worker_threads').workerData, { capacity: 65536 }).then((other) =>
        other.onRequest(({ length }) => length === 60000 ? new Promise((done) => setTimeout(done, 300, 'late')) : 'early'));\`,
      { eval: true, workerData: port.take() });
    channel.then(async (ours) => {
      await ours.request(Buffer.alloc(60000), { timeout: 20 }).catch(({ code }) => code === 'ERR_TIMEOUT' || console.log(code));
      const second = ours.request(Buffer.alloc(10000), { timeout: 5000 });
      await new Promise((done) => setTimeout(done, 50)); // it looks for the response
      const until = performance.now() + 1000;
      while (performance.now() < until); // the late response has come
      ours.tryReceive();
      const answer = String(await second.catch(({ code }) => code));
      if (answer !== 'early') console.log(answer);
      await ours.close();
      worker.terminate();
    });`;
  expect(await runScript(script).ended).toEqual(success);
});
