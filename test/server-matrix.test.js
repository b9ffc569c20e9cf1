'use strict';
// Every route with every combination of Host, Origin, Sec-Fetch-Site, token and content type. The expected answer is computed
// from the rule in docs/lab.md, which expectedOf() states once more.
const http = require('node:http');
const { routes } = require('../server/routes.js');
const { inCi } = require('./in-ci.js');
const { descendantsOf, startLabHere } = require('./lab.js');

const NO_RUN = '00000000-0000-4000-8000-000000000000';

/** Which answer an accepted request gets; each route is called so that nothing starts. @type {Record<string, [number, string | null]>} */
const ACCEPTED = {
  'GET /mechanisms': [200, null],
  'GET /experiments': [200, null],
  'GET /traces/:mechanism': [200, null],
  'GET /traces/:mechanism/perfetto': [200, null],
  'GET /gates': [200, null],
  'POST /gates': [400, 'ERR_USAGE'],
  'GET /glossary': [200, null],
  'GET /lessons': [200, null],
  'GET /lessons/:name': [404, 'ERR_NO_LESSON'],
  'POST /lessons/:name/runs': [404, 'ERR_NO_LESSON'],
  'GET /pitfalls': [200, null],
  'GET /pitfalls/:name': [404, 'ERR_NO_PITFALL'],
  'POST /pitfalls/:name/runs': [404, 'ERR_NO_PITFALL'],
  'POST /traces': [400, 'ERR_USAGE'],
  'GET /runs': [200, null],
  'POST /runs': [400, 'ERR_USAGE'],
  'GET /runs/:id': [404, 'ERR_NO_RUN'],
  'GET /runs/:id/file': [404, 'ERR_NO_RUN'],
  'GET /runs/:id/events': [404, 'ERR_NO_RUN'],
  'POST /runs/:id/cancel': [404, 'ERR_NO_RUN'],
  'DELETE /runs/:id': [404, 'ERR_NO_RUN'],
  'GET /compare': [400, 'ERR_USAGE'],
};

/** What is not a route of the API: pages, files, and what does not exist. @type {[string, string, number, string | null][]} */
const OTHERS = [
  ['GET', '/', 200, null],
  ['HEAD', '/bench.html', 200, null],
  ['GET', '/shared/base.css', 200, null],
  ['GET', '/vendor/chart.umd.min.js', 200, null],
  ['GET', '/nowhere', 404, null],
  ['POST', '/', 404, null],
  ['OPTIONS', '/', 404, null],
  ['GET', '/api', 404, 'ERR_NO_ROUTE'],
  ['PUT', '/api/runs', 404, 'ERR_NO_ROUTE'],
  ['PATCH', '/api/runs', 404, 'ERR_NO_ROUTE'],
  ['TRACE', '/api/runs', 404, 'ERR_NO_ROUTE'],
  ['HEAD', '/api/mechanisms', 200, null],
];

/** The routes as Express has them, such as 'POST /runs'. @returns {string[]} */
function apiRoutes() {
  /** @type {any} */
  const nothing = { runs: {}, traces: {}, catalogue: [] };
  /** @param {any[]} stack @returns {string[]} */
  const collect = (stack) =>
    stack.flatMap(({ route, handle }) => [
      ...Object.keys(route?.methods ?? {}).map((method) => `${method.toUpperCase()} ${route.path}`),
      ...(route ? [] : collect(handle?.stack ?? [])), // the routes of a router that it uses
    ]);
  return collect(routes(nothing).stack);
}

/** Names stand for values that contain the port or the token. @type {Record<string, (string | null)[]>} */
const VALUES = {
  host: ['own', 'localhost', 'own twice', 'evil.com', '127.0.0.1', null],
  origin: [null, 'own', 'null', 'http://evil.com', 'https own'],
  site: [null, 'same-origin', 'same-site', 'cross-site'],
  token: ['header', 'cookie', 'wrong', null],
  type: ['application/json', 'Application/JSON; charset=utf-8', 'text/plain', null],
};

/** @typedef {Record<'host' | 'origin' | 'site' | 'token' | 'type', string | null>} Credentials */

const SHARES = 8;

/**
 * In CI, every combination. Elsewhere an eighth of them, in which every pair of values of two headers occurs: the places of the
 * values in their lists add up to a multiple of 8, which the three other headers can always make true.
 * @returns {Credentials[]}
 */
function combinations() {
  /** @type {{sent: any, sum: number}[]} */
  let all = [{ sent: {}, sum: 0 }];
  for (const [name, values] of Object.entries(VALUES)) {
    all = all.flatMap(({ sent, sum }) =>
      values.map((value, place) => ({ sent: { ...sent, [name]: value }, sum: sum + place })),
    );
  }
  return all.filter(({ sum }) => inCi || sum % SHARES === 0).map(({ sent }) => sent);
}

/**
 * The rule. In this order: the Host is the lab's, once; a request that may change something has the lab's Origin and is JSON;
 * under /api, what a browser says of the request's source is the lab, and the token is right.
 * @param {string} method
 * @param {string} path
 * @param {Credentials} sent
 * @param {[number, string | null]} accepted
 * @returns {[number, string | null]}
 */
function expectedOf(method, path, { host, origin, site, token, type }, accepted) {
  const refused = (/** @type {string} */ code) => /** @type {[number, string]} */ ([403, code]);
  if (host !== 'own' && host !== 'localhost') return refused('ERR_HOST');
  const changes = method !== 'GET' && method !== 'HEAD';
  if (changes && origin !== 'own') return refused('ERR_ORIGIN');
  if (changes && !type?.toLowerCase().startsWith('application/json')) return refused('ERR_CONTENT_TYPE');
  if (!path.startsWith('/api')) return accepted;
  if (origin !== null && origin !== 'own') return refused('ERR_ORIGIN');
  if (site === 'same-site' || site === 'cross-site') return refused('ERR_ORIGIN');
  if (token !== 'header' && token !== 'cookie') return refused('ERR_TOKEN');
  return accepted;
}

/** @type {Awaited<ReturnType<typeof startLabHere>>} */
let lab;
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
beforeAll(async () => {
  lab = await startLabHere();
});
afterAll(async () => {
  agent.destroy();
  await lab?.close();
});

/** Header lines in pairs, since one may be given twice. @param {Credentials} sent @returns {string[]} */
function headersOf({ host, origin, site, token, type }) {
  const own = lab.host;
  /** @type {Record<string, string>} */
  const named = {
    own,
    localhost: `localhost:${lab.port}`,
    header: lab.token,
    cookie: `a=b; crossings-${lab.port}=${lab.token}`,
  };
  const origins = /** @type {Record<string, string>} */ ({ own: `http://${own}`, 'https own': `https://${own}` });
  return [
    ...(host === 'own twice' ? ['Host', own, 'Host', own] : host === null ? [] : ['Host', named[host] ?? host]),
    ...(origin === null ? [] : ['Origin', origins[origin] ?? origin]),
    ...(site === null ? [] : ['Sec-Fetch-Site', site]),
    ...(token === null ? [] : [token === 'cookie' ? 'Cookie' : 'X-Crossings-Token', named[token] ?? token]),
    ...(type === null ? [] : ['Content-Type', type]),
  ];
}

/** @param {string} method @param {string} path @param {Credentials} sent @returns {Promise<[number, string | null]>} */
const send = (method, path, sent) =>
  new Promise((resolve, reject) => {
    const body = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) ? '{}' : '';
    const headers = [...headersOf(sent), ...(body ? ['Content-Length', String(body.length)] : [])];
    const options = { host: '127.0.0.1', port: lab.port, method, path, headers, agent, setHost: false };
    const request = http.request(/** @type {any} */ (options), async (response) => {
      let text = '';
      for await (const piece of response.setEncoding('utf8')) text += piece;
      const code = /^\{"error":\{"code":"(\w+)"/.exec(text)?.[1] ?? null;
      resolve([Number(response.statusCode), code]);
    });
    request.on('error', reject).end(body);
  });

/** The combinations that were answered otherwise than by the rule. @param {string} method @param {string} path @param {[number, string | null]} accepted */
async function deviations(method, path, accepted) {
  const found = [];
  const hasCode = path.startsWith('/api') && method !== 'HEAD'; // pages have a sentence instead
  // Elsewhere than in CI each route gets a third of them, and together the routes get all.
  const all = combinations().filter((_, i) => inCi || i % 3 === path.length % 3);
  for (let next = 0; next < all.length; next += 8) {
    const answers = all.slice(next, next + 8).map(async (sent) => {
      const [status, code] = expectedOf(method, path, sent, accepted);
      return { sent, expected: [status, hasCode ? code : null], got: await send(method, path, sent) };
    });
    for (const answer of await Promise.all(answers)) {
      if (String(answer.expected) !== String(answer.got)) found.push(answer);
    }
  }
  return found.slice(0, 5);
}

test('every pair of values of two headers is among the combinations', () => {
  const all = combinations();
  for (const [one, values] of Object.entries(VALUES)) {
    for (const [other, others] of Object.entries(VALUES)) {
      if (one === other) continue;
      const pairs = new Set(all.map((/** @type {any} */ sent) => JSON.stringify([sent[one], sent[other]])));
      expect({ one, other, pairs: pairs.size }).toEqual({ one, other, pairs: values.length * others.length });
    }
  }
});

test('the table has every route', () => {
  expect(Object.keys(ACCEPTED).sort()).toEqual(apiRoutes().sort());
});

describe('each combination is answered by the rule:', () => {
  test.each(Object.entries(ACCEPTED))('%s', async (route, accepted) => {
    const [method, path] = route.split(' ');
    const called = path.replace(':mechanism', 'pipe').replace(':id', NO_RUN);
    expect(await deviations(method, `/api${called}`, accepted)).toEqual([]);
  });

  test.each(OTHERS)('%s %s', async (method, path, status, code) => {
    expect(await deviations(method, path, [status, code])).toEqual([]);
  });
});

test('nothing has been started', async () => {
  expect((await lab.ask('/api/mechanisms')).body.running).toBeNull();
  expect((await lab.ask('/api/runs')).body.runs).toEqual([]);
  expect(descendantsOf(process.pid)).toEqual([]);
});
