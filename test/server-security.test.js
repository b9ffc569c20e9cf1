'use strict';
// A client that is not a page of this lab, or does not have its token, can read nothing and start nothing.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { get } = require('node:http');
const { connect, createServer } = require('node:net');
const { text } = require('node:stream/consumers');
const { MOST_LOOKS, Opening, userOf } = require('../server/opening.js');
const { parseQuery } = require('../server/server.js');
const { version } = require('../package.json');
const { descendantsOf, startLabHere } = require('./lab.js');

const testAsRoot = process.getuid?.() === 0 ? test : test.skip; // who can become another user

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
beforeAll(async () => {
  lab = await startLabHere();
});
afterAll(() => lab?.close());

const RUN = { effort: 'quick', mechanisms: ['pipe'], messages: 100 };

/** No run is in progress, and none was started. */
async function expectNothingStarted() {
  expect((await lab.ask('/api/mechanisms')).body.running).toBeNull();
  expect((await lab.ask('/api/runs')).body.runs).toEqual([]);
  expect(descendantsOf(process.pid)).toEqual([]);
}

/** @param {import('./lab.js').Answer} answer @param {string} code */
function expectRefused({ status, body }, code) {
  expect(status).toBe(403);
  expect(body).toEqual({ error: { code, message: expect.stringMatching(/^[A-Z].*\.$/) } });
}

describe('a wrong Host is refused, everywhere:', () => {
  const wrong = [
    'evil.com',
    'localhost',
    '127.0.0.1',
    'rebound.evil.com:PORT',
    'localhost.evil.com:PORT',
    '0.0.0.0:PORT',
  ];
  const odd = [
    'localhost:1',
    '127.0.0.1:PORT.evil.com',
    'user@127.0.0.1:PORT',
    '127.1:PORT',
    '[::ffff:127.0.0.1]:PORT',
    '',
  ];
  test.each([...wrong, ...odd])('"%s"', async (name) => {
    const headers = { host: name.replace('PORT', String(lab.port)) };
    expectRefused(await lab.ask('/api/mechanisms', { headers }), 'ERR_HOST');
    expectRefused(await lab.ask('/api/runs', { method: 'POST', headers, body: RUN }), 'ERR_HOST');
    expect((await lab.ask('/', { headers })).status).toBe(403);
    expect((await lab.ask('/shared/base.css', { headers })).status).toBe(403);
    expect((await lab.ask(`/?token=${lab.token}`, { headers })).headers['set-cookie']).toBeUndefined();
    await expectNothingStarted();
  });

  test.each([
    ['missing', ''],
    ['given twice', 'Host: 127.0.0.1:PORT\r\nHost: evil.com\r\n'],
  ])('%s', async (_what, hosts) => {
    const socket = connect(lab.port, '127.0.0.1');
    socket.end(`GET / HTTP/1.1\r\n${hosts.replace('PORT', String(lab.port))}Connection: close\r\n\r\n`);
    let answer = '';
    for await (const piece of socket.setEncoding('utf8')) answer += piece;
    expect(answer).toMatch(/^HTTP\/1.1 40[03] /);
  });
});

test.each(['127.0.0.1:PORT', 'localhost:PORT', '[::1]:PORT', 'LOCALHOST:PORT'])(
  'the lab answers to %s',
  async (name) => {
    const headers = { host: name.replace('PORT', String(lab.port)) };
    expect((await lab.ask('/api/mechanisms', { headers })).status).toBe(200);
  },
);

// A thousand of them took 5 ms in each request, of which hundreds may arrive in one turn of the event loop.
test('cookies that cannot be the token are not compared with it', () => {
  const crypto = require('node:crypto');
  const work = jest.fn();
  /** @type {typeof import('../server/security.js').tokenCheck} */ let tokenCheck = () => () => false;
  jest.isolateModules(() => {
    jest.doMock('node:crypto', () => ({
      ...crypto,
      createHash: (/** @type {string} */ name) => work() ?? crypto.createHash(name),
      timingSafeEqual: (/** @type {Buffer} */ a, /** @type {Buffer} */ b) => work() ?? crypto.timingSafeEqual(a, b),
    }));
    tokenCheck = require('../server/security.js').tokenCheck;
  });
  jest.dontMock('node:crypto');
  const hasToken = tokenCheck('A'.repeat(43), 'crossings-1');
  const hasCookies = (/** @type {string} */ text) => hasToken(/** @type {any} */ ({ headers: { cookie: text } }));
  expect(hasCookies('crossings-1=A; crossings-1; '.repeat(500))).toBe(false);
  expect(work).not.toHaveBeenCalled();
  expect(hasCookies(`${'crossings-1=A; '.repeat(500)}crossings-1=${'A'.repeat(43)}`)).toBe(true);
  expect(work).toHaveBeenCalledTimes(1);
});

// Node's own parser throws and catches an error for each name: a stranger's request took 50 ms.
test('no error is thrown for invalid escapes in a query, and a name that is there twice becomes a list', () => {
  const thrown = jest.spyOn(globalThis, 'decodeURIComponent');
  expect({ ...parseQuery('a=%&%=b&c=1&c=2&c=3&d=x+y%20z') }).toEqual({
    a: '%',
    '%': 'b',
    c: ['1', '2', '3'],
    d: 'x y z',
  });
  expect({ ...parseQuery('__proto__=1&token=2') }).toEqual({ ['__proto__']: '1', token: '2' });
  expect(thrown).not.toHaveBeenCalled();
  thrown.mockRestore();
});

describe('without the token, /api answers and starts nothing:', () => {
  const cookie = (/** @type {string} */ value) => ({ 'x-crossings-token': undefined, cookie: value });
  test.each([
    ['none', () => ({ 'x-crossings-token': undefined })],
    ['an empty one', () => ({ 'x-crossings-token': '' })],
    ['a wrong one', () => ({ 'x-crossings-token': 'A'.repeat(43) })],
    ['its beginning', () => ({ 'x-crossings-token': lab.token.slice(0, -1) })],
    ['one that is longer', () => ({ 'x-crossings-token': `${lab.token}A` })],
    ['a cookie with a wrong one', () => cookie(`crossings-${lab.port}=${'A'.repeat(43)}`)],
    ['a cookie with its beginning', () => cookie(`crossings-${lab.port}=${lab.token.slice(0, -1)}`)],
    ['a cookie with one that is longer', () => cookie(`crossings-${lab.port}=${lab.token}A; a=b`)],
    ['a cookie of a longer name', () => cookie(`a-crossings-${lab.port}=${lab.token}`)],
    ['the cookie of another port', () => cookie(`crossings-1=${lab.token}`)],
  ])('%s', async (_what, headers) => {
    const paths = ['/api/mechanisms', '/api/runs', '/api/traces/pipe', '/api/nothing', '/api'];
    for (const path of paths) expectRefused(await lab.ask(path, { headers: headers() }), 'ERR_TOKEN');
    expectRefused(await lab.ask('/api/runs', { method: 'POST', headers: headers(), body: RUN }), 'ERR_TOKEN');
    await expectNothingStarted();
  });

  test('in the address of an API call it is ignored', async () => {
    const headers = { 'x-crossings-token': undefined };
    expectRefused(await lab.ask(`/api/mechanisms?token=${lab.token}`, { headers }), 'ERR_TOKEN');
  });
});

describe('the printed address', () => {
  test('is exchanged for a cookie that scripts and other sites cannot use, and loses the token', async () => {
    const { status, headers } = await lab.ask(`/bench.html?token=${lab.token}&a=1`);
    expect(status).toBe(303);
    expect(headers.location).toBe('/bench.html?a=1');
    const [cookie] = headers['set-cookie'] ?? [];
    expect(cookie.split('; ').sort()).toEqual(
      [`crossings-${lab.port}=${lab.token}`, 'HttpOnly', 'Path=/', 'SameSite=Strict'].sort(),
    );
    const request = { headers: { 'x-crossings-token': undefined, cookie: `other=1; ${cookie.split(';')[0]}` } };
    expect((await lab.ask('/api/mechanisms', request)).status).toBe(200);
  });

  test('never leads to another host', async () => {
    for (const path of ['//evil.com/', '/\\evil.com/', '///evil.com']) {
      const { headers } = await lab.ask(`${path}?token=${lab.token}`);
      expect(new URL(headers.location ?? '', `http://${lab.host}`).host).toBe(lab.host);
    }
  });

  test('of an earlier start is refused, and sets no cookie', async () => {
    const { status, text, headers } = await lab.ask(`/?token=${'A'.repeat(43)}`);
    expect({ status, cookie: headers['set-cookie'] }).toEqual({ status: 403, cookie: undefined });
    expect(text).toMatch(/^This address is from an earlier run of the lab\..*\.\n$/);
  });
});

describe("the browser's address", () => {
  const pathOf = (/** @type {string} */ address) => address.slice(new URL(address).origin.length);
  /** @type {Awaited<ReturnType<typeof startLabHere>>} */
  let own;
  beforeEach(async () => {
    own = await startLabHere();
  });
  afterEach(() => own.close());
  const headers = { 'x-crossings-token': undefined };

  test('has no token, and is exchanged for the cookie once', async () => {
    expect(own.browserAddress).not.toContain(own.token);
    const first = await own.ask(`${pathOf(own.browserAddress)}&a=1`, { headers });
    expect([first.status, first.headers.location]).toEqual([303, '/?a=1']);
    expect(first.headers['set-cookie']?.[0]).toContain(`crossings-${own.port}=${own.token}`);
    const second = await own.ask(pathOf(own.browserAddress), { headers });
    expect([second.status, second.headers['set-cookie']]).toEqual([403, undefined]);
    expect(second.text).toMatch(/^This address can be opened once, .*\.\n$/);
  });

  test('with a wrong code is refused, and does not use up the right one', async () => {
    for (const code of ['', 'A'.repeat(43), `${own.browserAddress.slice(-43)}A`])
      expect((await own.ask(`/?code=${code}`, { headers })).status).toBe(403);
    expect((await own.ask(pathOf(own.browserAddress), { headers })).status).toBe(303);
  });

  /** Use a connection of this process as the lab sees it. @param {string} host @param {(socket: import('node:net').Socket) => void} use */
  async function withConnection(host, use) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect(/** @type {import('node:net').AddressInfo} */ (server.address()).port, host);
    const [socket] = await once(server, 'connection');
    use(socket);
    client.destroy();
    server.close();
  }

  test.each(['127.0.0.1', '::ffff:127.0.0.1'])('is for the user at the other end, who connects to %s', (host) =>
    withConnection(host, (socket) => expect(userOf(socket)).toBe(process.getuid?.())),
  );

  // To find the user of a connection, the lab reads a table of all of them, and meanwhile answers nobody.
  test('is refused to everybody when others have tried it a few times', () =>
    withConnection('127.0.0.1', (own) => {
      const other = /** @type {any} */ ({ remoteAddress: '127.0.0.1', remotePort: 0, localAddress: '127.0.0.1' });
      for (const [tries, isAccepted] of /** @type {const} */ ([
        [MOST_LOOKS - 1, true],
        [MOST_LOOKS, false],
      ])) {
        const opening = new Opening();
        for (let i = 0; i < tries; i++) expect(opening.accepts(opening.code, other)).toBe(false);
        expect(opening.accepts(opening.code, own)).toBe(isAccepted);
      }
    }));

  testAsRoot('is refused to another user', async () => {
    const script = `fetch(process.argv[1], { redirect: 'manual' }).then(({ status, headers }) =>
      console.log(status, headers.get('set-cookie')))`;
    const child = spawn(process.execPath, ['-e', script, own.browserAddress], { uid: 65534, gid: 65534 });
    const said = await text(child.stdout);
    expect(said).toBe('403 null\n');
    expect((await own.ask(pathOf(own.browserAddress), { headers })).status).toBe(303);
  });
});

describe('a request that changes something is refused', () => {
  const changes = [
    ['POST', '/api/runs', RUN],
    ['POST', '/api/traces', { mechanism: 'pipe' }],
    ['DELETE', '/api/runs/00000000-0000-4000-8000-000000000000', {}],
  ];
  const origins = [
    undefined,
    'null',
    'http://evil.com',
    'https://127.0.0.1:PORT',
    'http://127.0.0.1',
    'http://localhost:1',
  ];
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', undefined];

  test.each(origins)('when its Origin is %s', async (origin) => {
    const headers = { origin: origin?.replace('PORT', String(lab.port)) };
    for (const [method, path, body] of changes) {
      expectRefused(await lab.ask(String(path), { method: String(method), headers, body }), 'ERR_ORIGIN');
    }
    await expectNothingStarted();
  });

  test.each([...types, 'application/jsonp', 'text/plain; application/json'])('when it is sent as %s', async (type) => {
    for (const [method, path, body] of changes) {
      const headers = { 'content-type': type };
      expectRefused(await lab.ask(String(path), { method: String(method), headers, body }), 'ERR_CONTENT_TYPE');
    }
    await expectNothingStarted();
  });

  test('when it is a form on another site', async () => {
    const headers = { origin: 'http://evil.com', 'content-type': 'application/x-www-form-urlencoded' };
    expectRefused(await lab.ask('/api/runs', { method: 'POST', headers, body: 'effort=quick' }), 'ERR_ORIGIN');
    await expectNothingStarted();
  });
});

test.each(['cross-site', 'same-site'])('a page that the browser marks as %s can read nothing', async (site) => {
  expectRefused(await lab.ask('/api/runs', { headers: { 'sec-fetch-site': site } }), 'ERR_ORIGIN');
  expectRefused(await lab.ask('/api/runs', { headers: { origin: 'http://evil.com' } }), 'ERR_ORIGIN');
});

test('no answer allows another site to read it', async () => {
  const preflight = await lab.ask('/api/runs', { method: 'OPTIONS', headers: { origin: 'http://evil.com' } });
  expectRefused(preflight, 'ERR_ORIGIN');
  for (const { headers } of [preflight, await lab.ask('/'), await lab.ask('/api/runs')]) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  }
});

test('every answer has a policy that allows no inline code and no other host', async () => {
  for (const path of ['/', '/bench.html', '/nowhere', '/api/mechanisms', '/vendor/chart.umd.min.js']) {
    const { headers } = await lab.ask(path);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*|upgrade-insecure-requests/);
    for (const rule of ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])
      expect(policy).toContain(rule);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(headers).not.toHaveProperty('x-powered-by');
  }
});

test('caches do not store what /api answers', async () => {
  expect((await lab.ask('/api/mechanisms')).headers['cache-control']).toBe('no-store');
});

test.each(['/', '/shared/dom.js', '/vendor/chart.umd.min.js', '/recordings/pipe.json'])(
  'browsers ask whether %s is still the same each time they use it, so that they never run the pages of an older package',
  async (path) => {
    const { status, headers } = await lab.ask(path);
    expect({ status, caching: headers['cache-control'] }).toEqual({ status: 200, caching: 'no-cache' });
    expect(headers.etag).toContain(version); // files of two versions may have the same size and time
    expect((await lab.ask(path, { headers: { 'if-none-match': headers.etag } })).status).toBe(304);
    expect(
      (await lab.ask(path, { headers: { 'if-none-match': headers.etag?.replace(version, '0.0.0') } })).status,
    ).toBe(200);
  },
);

test('no file outside public/ is served', async () => {
  const paths = [
    '/../package-lock.json',
    '/%2e%2e/package-lock.json',
    '/..%2fpackage-lock.json',
    '/.git/config',
    '/server/server.js',
  ];
  expect((await lab.ask('/API/mechanisms', { headers: { 'x-crossings-token': undefined } })).status).toBe(404);
  for (const path of [...paths, '/vendor/../package-lock.json', '/api/traces/..%2f..%2fpackage-lock']) {
    const { status, text } = await lab.ask(path);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain('"dependencies"');
  }
});

// Such a server's page locked the lab in that browser, even after a restart.
test('a cookie of the same name that another server of this host has set does not hide the token', async () => {
  const name = `crossings-${lab.port}`;
  const statusOf = async (/** @type {string} */ cookie) => {
    const request = get({ host: '127.0.0.1', port: lab.port, path: '/api/mechanisms', headers: { cookie } });
    const [response] = await once(request, 'response');
    response.resume();
    return response.statusCode;
  };
  expect(await statusOf(`${name}=evil`)).toBe(403);
  expect(await statusOf(`${name}=evil; a=b; ${name}=${lab.token}`)).toBe(200);
});

test('the token is never logged', async () => {
  await lab.ask(`/?token=${lab.token}`);
  await lab.ask('/api/mechanisms', { headers: { cookie: `crossings-${lab.port}=${lab.token}` } });
  expect(lab.logged.length).toBeGreaterThan(10);
  expect(lab.logged.join('')).not.toContain(lab.token);
  for (const line of lab.logged) {
    expect(JSON.parse(line)).toMatchObject({ method: expect.any(String), path: expect.any(String) });
  }
});
