'use strict';
// Clients that misuse their connections, on raw sockets: none of them keeps another client out, costs more than a bounded amount
// of memory, or ends the server.
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const {
  HTTP_LIMITS,
  IDLE_MS,
  MAX_HEADERS,
  MAX_MEMBERS,
  MAX_STRANGERS,
  MAX_UNREAD_BYTES,
} = require('../server/connections.js');
const { MAX_FILE_BYTES, MAX_RUNS } = require('../server/run-store.js');
const { LIMITS_MS, MAX_ENDED_SESSIONS } = require('../server/runs.js');
const { MAX_UNSENT_BYTES } = require('../server/subscribers.js');
const { testInCi } = require('./in-ci.js');
const { exchange, holdConnections: open, startLabProcess } = require('./lab-client.js');
const { root, until } = require('./support.js');

const LONG = { effort: 'thorough', mechanisms: ['pipe'], messages: 1_000_000, sizeBytes: 1024 };

/** @type {import('./lab-client.js').LabProcess} */
let lab;
beforeAll(async () => {
  lab = await startLabProcess();
});
afterAll(() => lab?.close());
/** What a failed test would leave open. @type {(() => void)[]} */
const held = [];
afterEach(async () => {
  for (const drop of held.splice(0)) drop();
  await until(() => lab.connections() === 0);
  const { running } = (await lab.ask('/api/mechanisms')).body;
  if (running) await lab.ask(`/api/runs/${running}`, { method: 'DELETE' });
  expect((await lab.ask('/api/mechanisms')).status).toBe(200);
  expect(lab.logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});

/** @type {typeof open} */
async function holdConnections(port, count, bytes) {
  const connections = await open(port, count, bytes);
  held.push(connections.drop);
  return connections;
}

/** The head of a request with valid credentials. @param {string} method @param {string} target */
const head = (method, target) =>
  `${method} ${target} HTTP/1.1\r\nHost: ${lab.host}\r\nX-Crossings-Token: ${lab.token}\r\n` +
  (method === 'POST' ? `Origin: http://${lab.host}\r\nContent-Type: application/json\r\n` : '');

/** @param {string} answer */
const statusesIn = (answer) => [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

/** Start a run that lasts until it is canceled. */
async function startLong() {
  const { status, body } = await lab.ask('/api/runs', { method: 'POST', body: LONG });
  expect(status).toBe(202);
  return {
    id: body.id,
    async cancel() {
      expect((await lab.ask(`/api/runs/${body.id}/cancel`, { method: 'POST', body: {} })).status).toBe(200);
    },
  };
}

describe('1,000 connections without the token, of which each', () => {
  /** @type {[string, () => string][]} */
  const kinds = [
    ['sends nothing', () => ''],
    ['sends half a request line', () => 'GET /api/ru'],
    ['never ends its headers', () => `GET / HTTP/1.1\r\nHost: ${lab.host}\r\nX-A: b\r\n`],
    ['never ends its body', () => `POST / HTTP/1.1\r\nHost: ${lab.host}\r\nContent-Length: 1000\r\n\r\n{`],
    ['reads no answer', () => `GET /vendor/chart.umd.min.js HTTP/1.1\r\nHost: ${lab.host}\r\n\r\n`],
  ];
  for (const [what, bytes] of kinds) {
    // Elsewhere than in CI the cheapest and the dearest kind.
    const testThis = /nothing|answer/.test(what) ? test : testInCi;
    testThis(`${what}, keep no other client out`, async () => {
      await holdConnections(lab.port, 1000, bytes());
      const page = await lab.ask('/bench.html', { headers: { 'x-crossings-token': undefined } });
      expect([page.status, (await lab.ask('/api/runs')).status]).toEqual([200, 200]);
    });
  }
});

// The page was empty: nobody learned that the cookies of another server were the reason.
test('a request whose cookies are too large is answered with the reason', async () => {
  const cookies = `Cookie: a=${'x'.repeat(17 << 10)}\r\n`;
  const answer = await exchange(lab.port, `${head('GET', '/bench.html')}${cookies}\r\n`);
  expect(statusesIn(answer)).toEqual([431]);
  expect(answer).toContain('large cookies');
  expect(statusesIn(await exchange(lab.port, 'no request\r\n\r\n'))).toEqual([400]);
});

test('a request that arrives just before 400 silent connections is answered', async () => {
  process.kill(lab.pid, 'SIGSTOP'); // so that it accepts them all at once
  const answer = exchange(lab.port, `${head('GET', '/api/runs')}Connection: close\r\n\r\n`);
  await holdConnections(lab.port, 400, '');
  process.kill(lab.pid, 'SIGCONT');
  expect(statusesIn(await answer)).toEqual([200]);
});

// Node accepts one connection in each turn of the event loop, so a turn that answered hundreds of strangers would keep clients out.
test.each(['/nowhere', '/api/runs'])(
  'a client with the token does not wait for 300 others that have asked for %s',
  async (path) => {
    const { sockets: strangers } = await holdConnections(lab.port, 300, '');
    const [member] = (await holdConnections(lab.port, 1, '')).sockets;
    await until(() => lab.connections() === 301);
    process.kill(lab.pid, 'SIGSTOP'); // so that it reads all requests in one turn
    let answered = 0;
    for (const stranger of strangers) {
      stranger.write(`GET ${path} HTTP/1.1\r\nHost: ${lab.host}\r\n\r\n`);
      stranger.resume().once('data', () => answered++);
    }
    member.write(`${head('GET', '/nowhere')}\r\n`);
    const answer = once(member.resume(), 'data');
    process.kill(lab.pid, 'SIGCONT');
    expect(statusesIn(String((await answer)[0]))).toEqual([404]);
    expect(answered).toBeLessThan(strangers.length / 2);
  },
);

// Each turn answered all of them, and accepted one connection.
test('50 new connections do not wait for thousands of answers to 100 others with the token', async () => {
  const request = `${head('GET', '/nowhere')}\r\n`;
  const { sockets: others } = await holdConnections(lab.port, 100, request);
  let answered = 0;
  let isOver = false;
  for (const other of others) {
    other.resume().on('data', () => {
      answered++;
      if (!isOver) other.write(request);
    });
  }
  await until(() => answered > 1000);
  process.kill(lab.pid, 'SIGSTOP'); // so that all of them are there at once
  const answers = Promise.all(
    Array.from({ length: 50 }, () => exchange(lab.port, `${head('GET', '/nowhere')}Connection: close\r\n\r\n`)),
  );
  await pause(500); // until they have connected
  const before = answered;
  process.kill(lab.pid, 'SIGCONT');
  await answers;
  isOver = true;
  expect(answered - before).toBeLessThan(1500);
});

// zod and the sentence about it took 10 ms.
test.each([
  ['lists in lists', '['.repeat(8000) + ']'.repeat(8000)],
  ['lists in lists, beside a text of brackets', `["${']'.repeat(5000)}",${'['.repeat(5000)}${']'.repeat(5000)}]`],
])('a body of %s is refused before it is examined', async (_, body) => {
  const length = `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  const answer = await exchange(lab.port, `${head('POST', '/api/runs')}${length}${body}`);
  expect(statusesIn(answer)).toEqual([400]);
  expect(answer).toContain('it is nested more than 64 levels deep');
});

// To parse 15 KB of escapes that are not UTF-8 took 50 ms.
test('a request with a target of more than 2,048 characters is refused before it is parsed', async () => {
  for (const [target, status] of [
    [`/?${'&%ff'.repeat(600)}`, 414],
    [`/?${'&%ff'.repeat(500)}`, 200],
  ]) {
    const answer = await exchange(lab.port, `${head('GET', String(target))}Connection: close\r\n\r\n`);
    expect(statusesIn(answer)).toEqual([status]);
  }
});

test('800 connections with the token that send nothing more keep no other client out', async () => {
  await holdConnections(lab.port, 800, `${head('POST', '/api/runs')}Content-Length: 1000\r\n\r\n{`);
  expect((await lab.ask('/api/runs')).status).toBe(200);
});

test('a client that does not wait for its answers is disconnected', async () => {
  const request = `${head('GET', '/api/runs')}\r\n`;
  const answers = await exchange(lab.port, request.repeat(1000));
  expect(statusesIn(answers).length).toBeLessThanOrEqual(1);
  const inTurn = await exchange(lab.port, `${head('GET', '/api/runs')}Connection: close\r\n\r\n`);
  expect(statusesIn(inTurn)).toEqual([200]);
});

describe('a request whose target is not a path is answered 400:', () => {
  test.each([
    'http://HOST/api/runs',
    'http://evil.com/api/runs',
    'http://user:password@HOST/api/runs/ID/events',
    'http://[/api/runs',
    'http://[x]:99999999/api/runs',
    'file:///etc/passwd',
    '*',
  ])('%s', async (target) => {
    const { id, cancel } = await startLong();
    const named = target.replace('HOST', lab.host).replace('ID', id);
    const answer = await exchange(
      lab.port,
      `${head(named === '*' ? 'OPTIONS' : 'GET', named)}Connection: close\r\n\r\n`,
    );
    expect(statusesIn(answer)).toEqual([400]);
    await cancel();
  });
});

describe('while a run is in progress,', () => {
  test('HEAD of its events is answered at once', async () => {
    const { id, cancel } = await startLong();
    const { status, headers } = await lab.ask(`/api/runs/${id}/events`, { method: 'HEAD' });
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/event-stream/)]);
    await cancel();
  });

  testInCi('clients that come and go do not make the server grow', async () => {
    const { id, cancel } = await startLong();
    const events = `${head('GET', `/api/runs/${id}/events`)}\r\n`;
    const comeAndGo = async (/** @type {number} */ times) => {
      for (let round = 0; round < times; round++) {
        const { sockets, drop } = await holdConnections(lab.port, 100, events);
        await Promise.all(
          sockets.map(
            (socket) => new Promise((resolve) => socket.resume().once('data', resolve).once('close', resolve)),
          ),
        );
        drop();
      }
    };
    await comeAndGo(20);
    const before = lab.memory();
    await comeAndGo(40);
    expect((lab.memory() - before) / 2 ** 20).toBeLessThan(70);
    await cancel();
  });

  test('clients that reset their connections at once neither disturb it nor stay in memory', async () => {
    const { id, cancel } = await startLong();
    const good = lab.events(id);
    for (let round = 0; round < 20; round++) {
      const { sockets } = await holdConnections(lab.port, 50, `${head('GET', `/api/runs/${id}/events`)}\r\n`);
      for (const socket of sockets) socket.resetAndDestroy();
    }
    await cancel();
    expect((await good).at(-1)).toEqual({ event: 'cancelled', data: {} });
    await until(() => lab.programs().length === 0);
  });
});

test('a recording whose client resets its connection is stopped, and its processes end', async () => {
  const { tracing } = (await lab.ask('/api/mechanisms')).body;
  if (!tracing.allowed) return expect(tracing.reason).not.toBe('');
  for (let time = 0; time < 5; time++) {
    const body = '{"mechanism":"shm-sem","messages":1000}';
    const { sockets } = await holdConnections(
      lab.port,
      1,
      `${head('POST', '/api/traces')}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answers = lab.logged.length; // it may end before its processes are seen
    await until(() => lab.programs().length > 0 || lab.logged.length > answers);
    sockets[0].resetAndDestroy();
    await until(() => lab.programs().length === 0);
  }
  expect((await lab.ask('/api/runs')).status).toBe(200);
});

// Each made the lab parse for as long as its client sent, and answer nobody else: node:http parses each packet to its end.
test.each([
  [
    'a thousand expectations in a packet',
    () => `GET / HTTP/1.1\r\nHost: ${lab.host}\r\nExpect: x\r\n\r\n`.repeat(1000),
    417,
  ],
  [
    'a body in thousands of pieces',
    () => `${head('POST', '/api/runs')}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(10_000)}`,
    411,
  ],
  [
    'a body in thousands of pieces, behind a thousand headers',
    () =>
      `${head('POST', '/api/runs')}${'a:b\r\n'.repeat(1000)}Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(10_000)}`,
    431,
  ],
  [
    'a body without end',
    () => `${head('POST', '/api/nothing')}Content-Length: 999999999\r\n\r\n${'x'.repeat(60_000)}`,
    413,
  ],
])('%s is not read to its end', async (_name, bytes, status) => {
  const statuses = statusesIn(await exchange(lab.port, bytes())); // it returns when the lab has closed the connection
  expect([[], [status]]).toContainEqual(statuses); // the answer may be lost, because what follows it is not read
});

test('a server that runs out of file descriptors answers again when it has some', async () => {
  const poor = await startLabProcess({ descriptors: 60 });
  const { drop } = await holdConnections(poor.port, 200, 'GET /');
  drop();
  // It closes some connections until it has seen the end of the others.
  const answers = () => poor.ask('/api/runs').then(Boolean, () => false);
  while (!(await answers()));
  const started = await poor.ask('/api/runs', { method: 'POST', body: { ...LONG, effort: 'quick' } });
  expect(started.status).toBe(202);
  await poor.ask(`/api/runs/${started.body.id}/cancel`, { method: 'POST', body: {} });
  expect(await poor.close()).toBe(143);
});

test('docs/lab.md states the limits', () => {
  const docs = readFileSync(join(root, 'docs', 'lab.md'), 'utf8');
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxHeaderSize } = HTTP_LIMITS;
  const kib = (/** @type {number} */ bytes) => `${bytes >> 10} KiB`;
  for (const row of [
    new RegExp(`not sent the token +\\| ${MAX_STRANGERS};`),
    new RegExp(`have sent it +\\| ${MAX_MEMBERS};`),
    new RegExp(`whole request +\\| ${headersTimeout / 1000} s, ${requestTimeout / 1000} s `),
    new RegExp(`\\| ${IDLE_MS / 1000} s; ${keepAliveTimeout / 1000} s between`),
    new RegExp(`head of a request, body +\\| ${kib(maxHeaderSize)} each; a head has fewer than ${MAX_HEADERS} headers`),
    new RegExp(`have not read +\\| ${MAX_UNREAD_BYTES >> 20} MiB and one answer`),
    new RegExp(`has not read +\\| ${kib(MAX_UNSENT_BYTES)} and`),
    new RegExp(
      `at most ${Object.values(LIMITS_MS)
        .map((ms) => ms / 60_000)
        .join(', ')
        .replace(/, (\d+)$/, ' or $1')} minutes`,
    ),
    new RegExp(`canceled +\\| the last ${MAX_ENDED_SESSIONS} `),
    new RegExp(`finished runs +\\| ${MAX_RUNS} files`),
    new RegExp(`a run file +\\| ${MAX_FILE_BYTES >> 20} MiB`),
  ]) {
    expect(docs).toMatch(row);
  }
});

// They were read for as long as a request may take, as fast as they came.
test('a connection that sends empty lines instead of a request is closed', async () => {
  expect(await exchange(lab.port, '\r\n'.repeat(1 << 19))).toBe('');
});
