'use strict';
// The lab's server against hostile clients: requests generated from the schemas of every endpoint, 500 slow connections and 500
// readers that stall while a run streams, and many runs started and canceled. The lab runs in its own process.
const { readdirSync } = require('node:fs');
const fc = require('fast-check');
const { z } = require('zod');
const { EXPERIMENTS } = require('../../../lib/experiments/index.js');
const schemas = require('../../../server/request-schema.js');
const { exchange, holdConnections, startLabProcess } = require('../../lab-client.js');
const { until } = require('../../support.js');

/** @typedef {import('../../lab-client.js').LabProcess} Lab */
/** @typedef {{figures: Record<string, number | string>, failures: string[]}} Report */
/** @typedef {(fraction: number, text: string) => void} Progress */

const SCALES = {
  short: { requests: 600, fuzzMs: 6000, streams: 1, cancels: 30, cancelsMs: 3000, patience: false },
  long: { requests: 20_000, fuzzMs: 60_000, streams: 3, cancels: 10_000, cancelsMs: 60_000, patience: true },
};
const MEMORY_LIMIT_MB = 512; // of the server, whatever its clients do; docs/lab.md
const LONG_RUN = { effort: 'thorough', mechanisms: ['pipe'], messages: 1_000_000, sizeBytes: 1024 };
const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];
const HOSTILE_NAMES = ['__proto__', 'constructor', 'toString', '', 'realtime', 'cores'];
const HOSTILE_TEXTS = [
  '..',
  '../../package',
  '__proto__',
  '%00',
  '--help',
  '/etc/passwd',
  'C:\\',
  '\r\nX: y',
  '\ud800',
  '$(id)',
];

const megabytes = (/** @type {number} */ bytes) => Math.round(bytes / 2 ** 20);

/** What a JSON schema accepts, and its edges. @param {any} schema @returns {fc.Arbitrary<any>} */
function valid(schema) {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.type === 'integer') {
    const { minimum: min, maximum: max } = schema;
    // Small, so that recordings are short.
    return fc.oneof({ weight: 30, arbitrary: fc.integer({ min, max: min + 10 }) }, fc.constantFrom(min, max));
  }
  if (schema.type === 'array') return fc.array(valid(schema.items), { minLength: 1, maxLength: schema.maxItems ?? 6 });
  if (schema.format === 'uuid') return fc.uuid();
  if (schema.type === 'object') {
    const fields = Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, valid(field)]));
    return fc.record(fields, { requiredKeys: schema.required ?? [] });
  }
  throw new Error(`the generator has no rule for ${JSON.stringify(schema)}`);
}

/** What it does not accept, mostly: other types, edges, and texts that attack a parser. */
const hostileValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(...HOSTILE_TEXTS, null, -1, 0, 1.5, 2 ** 31, 2 ** 53, 1e308, -0, [], {}),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

/** A body as text: valid, one field replaced, one field added, deeply nested, too large, cut off, or no JSON at all. @param {any} schema */
function bodies(schema) {
  const good = valid(schema);
  const names = Object.keys(schema.properties);
  const changed = fc
    .tuple(good, fc.constantFrom(...names, ...HOSTILE_NAMES), hostileValue)
    .map(([body, name, value]) => {
      const others = Object.entries(body).filter(([key]) => key !== name);
      const fields = [...others, [name, value]].map(
        ([key, field]) => `${JSON.stringify(key)}:${JSON.stringify(field)}`,
      );
      return `{${fields.join()}}`; // as text: an object literal cannot hold a field __proto__
    });
  const nested = fc.integer({ min: 1, max: 9000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth));
  const cut = fc.tuple(good, fc.nat(60)).map(([body, length]) => JSON.stringify(body).slice(0, length));
  const large = fc.integer({ min: 1, max: 300_000 }).map((length) => JSON.stringify('x'.repeat(length)));
  return fc.oneof(
    { weight: 2, arbitrary: good.map((body) => JSON.stringify(body)) },
    { weight: 6, arbitrary: changed },
    {
      weight: 1,
      arbitrary: fc.oneof(
        nested,
        cut,
        large,
        hostileValue.map((value) => JSON.stringify(value) ?? ''),
      ),
    },
  );
}

/** @param {import('zod').ZodType} schema */
const jsonSchema = (schema) => z.toJSONSchema(schema, { io: 'input' });

/** Part of a path or a query. @param {fc.Arbitrary<any>} good */
const textOf = (good) =>
  fc
    .oneof(
      { weight: 2, arbitrary: good.map(String) },
      fc.constantFrom(...HOSTILE_TEXTS),
      fc.string({ unit: 'binary', maxLength: 40 }),
    )
    .map(encoded);

/** @param {string} text */
const encoded = (text) => encodeURIComponent(text.replace(/[\ud800-\udfff]/g, '')); // half a pair cannot be encoded

/** @param {any} schema of a query */
const queries = (schema) => {
  const names = fc.constantFrom(...Object.keys(schema.properties), ...HOSTILE_NAMES);
  const pair = fc.tuple(names, textOf(fc.oneof(...Object.values(schema.properties).map(valid))));
  return fc
    .array(pair, { maxLength: 4 })
    .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`);
};

/**
 * Requests to every endpoint. @param {fc.Arbitrary<string>} ids
 * @returns {fc.Arbitrary<{method: string, path: string, body?: string}>}
 */
function requests(ids) {
  const id = textOf(ids);
  const mechanism = textOf(fc.constantFrom(...MECHANISMS));
  const get = (/** @type {fc.Arbitrary<string>} */ path) =>
    fc.record({ method: fc.constantFrom('GET', 'GET', 'HEAD'), path });
  const change = (
    /** @type {string} */ method,
    /** @type {fc.Arbitrary<string>} */ path,
    /** @type {fc.Arbitrary<string>} */ body,
  ) => fc.record({ method: fc.constant(method), path, body });
  const junk = fc.constantFrom('{}', '', 'null', '[');
  return fc.oneof(
    get(fc.constantFrom('/api/mechanisms', '/api/experiments', '/api/gates', '/api/runs')),
    get(mechanism.map((name) => `/api/traces/${name}`)),
    get(mechanism.map((name) => `/api/traces/${name}/perfetto`)),
    get(id.map((name) => `/api/runs/${name}`)),
    get(fc.tuple(id, queries(jsonSchema(schemas.fileQuery))).map(([name, query]) => `/api/runs/${name}/file${query}`)),
    get(queries(jsonSchema(schemas.compareQuery)).map((query) => `/api/compare${query}`)),
    // Of a run that has ended or does not exist: a stream of one in progress would not end.
    get(fc.uuid().map((name) => `/api/runs/${name}/events`)),
    change('POST', fc.constant('/api/runs'), bodies(jsonSchema(schemas.runBody(MECHANISMS)))),
    ...EXPERIMENTS.map((experiment) =>
      change('POST', fc.constant('/api/runs'), bodies(jsonSchema(schemas.experimentBody(experiment)))),
    ),
    change('POST', fc.constant('/api/traces'), bodies(jsonSchema(schemas.traceBody(MECHANISMS)))),
    change(
      'POST',
      id.map((name) => `/api/runs/${name}/cancel`),
      junk,
    ),
    change(
      'DELETE',
      id.map((name) => `/api/runs/${name}`),
      junk,
    ),
    fc.record({ method: fc.constantFrom('PUT', 'PATCH', 'OPTIONS', 'TRACE'), path: fc.constantFrom('/api/runs', '/') }),
  );
}

/** Cancel the run in progress, if any. @param {Lab} lab */
async function cancelRunning(lab) {
  const { running } = (await lab.ask('/api/mechanisms')).body;
  if (running) await lab.ask(`/api/runs/${running}/cancel`, { method: 'POST', body: {} });
}

/** @param {Lab} lab @param {Report} report @param {{requests: number, seed: number, limitMs: number}} options */
async function fuzz(lab, { figures, failures }, { requests: numRuns, seed, limitMs }) {
  /** @type {string[]} */
  const started = [];
  const ids = fc.oneof(
    fc.uuid(),
    fc.nat().map((n) => started[n % started.length] ?? 'none'),
  );
  /** @type {Map<number, number>} */
  const statuses = new Map();
  const deadline = Date.now() + limitMs;
  let sent = 0;
  const property = fc.asyncProperty(requests(ids), async ({ method, path, body }) => {
    if (Date.now() > deadline) return; // fast-check's own time limit would leave a request in progress
    sent++;
    const { status, body: answer, text } = await lab.ask(path, { method, body });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 202) started.push(answer.id);
    if (status === 202 && started.length % 2) await cancelRunning(lab); // otherwise the following requests meet a run
    if (status === 409) await cancelRunning(lab);
    const told = status < 400 || method === 'HEAD' || !path.startsWith('/api') || /^ERR_/.test(answer?.error?.code);
    // 503: a recording is impossible on this machine.
    if ((status >= 500 && status !== 503) || !told) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
  });
  const details = await fc.check(property, { numRuns, seed, endOnFailure: true });
  if (details.failed) failures.push(`fuzz: ${details.errorInstance}\n${fc.defaultReportMessage(details)}`);
  await cancelRunning(lab);
  figures['requests generated from the schemas'] = sent;
  figures['statuses of their answers'] = [...statuses]
    .sort()
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');
}

/** 500 slow connections and 500 readers that stall while a run streams to a client that reads. @param {Lab} lab @param {Report} report */
async function streamBesideSlowClients(lab, { failures }) {
  const { body, status } = await lab.ask('/api/runs', {
    method: 'POST',
    body: { effort: 'quick', mechanisms: ['pipe', 'uds'], messages: 100 },
  });
  if (status !== 202) return void failures.push(`a run did not start: status ${status}`);
  const good = lab.events(body.id);
  await lab.ask('/api/runs'); // answered after the stream has begun
  const credentials = `Host: ${lab.host}\r\nX-Crossings-Token: ${lab.token}\r\n`;
  const held = await Promise.all([
    holdConnections(lab.port, 125, ''),
    holdConnections(lab.port, 125, 'GET /api/ru'),
    holdConnections(lab.port, 125, `GET / HTTP/1.1\r\nHost: ${lab.host}\r\nX-A: b\r\n`),
    holdConnections(lab.port, 125, `POST / HTTP/1.1\r\nHost: ${lab.host}\r\nContent-Length: 100000000\r\n\r\n{`),
    holdConnections(lab.port, 500, `GET /api/runs/${body.id}/events HTTP/1.1\r\n${credentials}\r\n`),
  ]);
  const page = await lab.ask('/bench.html', { headers: { 'x-crossings-token': undefined } });
  if (page.status !== 200) failures.push(`a page was answered ${page.status} beside slow connections`);
  const events = await good;
  for (const { drop } of held) drop();
  const { run } = (await lab.ask(`/api/runs/${body.id}`)).body;
  if (events.at(-1)?.event !== 'done' || !run) return void failures.push('the stream did not end with "done"');
  for (const { mechanism, throughput } of run.results) {
    const counts = events.flatMap(({ event, data }) =>
      event === 'sample' && data.result.mechanism === mechanism
        ? [data.result.throughput.messagesPerSecond.samples.length]
        : [],
    );
    const all = throughput.messagesPerSecond.samples.map(
      (/** @type {number} */ _, /** @type {number} */ index) => index + 1,
    );
    if (String(counts) !== String(all))
      failures.push(`samples of ${mechanism} that arrived: ${counts}; expected ${all}`);
  }
}

/** @param {Lab} lab @param {Report} report @param {{cancels: number, limitMs: number, progress: Progress}} options */
async function startAndCancel(lab, { figures, failures }, { cancels, limitMs, progress }) {
  const until = Date.now() + limitMs;
  let warm = lab.memory();
  let count = 0;
  for (; count < cancels && Date.now() < until; count++) {
    if (count === Math.floor(cancels / 10)) warm = lab.memory();
    const { status, body } = await lab.ask('/api/runs', { method: 'POST', body: LONG_RUN });
    if (status !== 202) return void failures.push(`start ${count} was answered ${status}`);
    const { body: ended } = await lab.ask(`/api/runs/${body.id}/cancel`, { method: 'POST', body: {} });
    if (ended.state !== 'cancelled') return void failures.push(`cancel ${count} left the run ${ended.state}`);
    if (count % 500 === 0) progress(count / cancels, `${count} runs started and canceled`);
  }
  const growth = megabytes(lab.memory() - warm);
  figures['runs started and canceled'] = count;
  figures['growth of the server meanwhile in MB'] = growth;
  if (growth > 100) failures.push(`${count} canceled runs made the server grow by ${growth} MB`);
}

/** The server itself ends connections that never become requests. @param {Lab} lab @param {Report} report */
async function waitForTimeouts(lab, { failures }) {
  const slow = ['', 'GET /', `POST / HTTP/1.1\r\nHost: ${lab.host}\r\nContent-Length: 100\r\n\r\n{`];
  const began = Date.now();
  await Promise.all(slow.map((bytes) => exchange(lab.port, bytes, 90_000)));
  if (Date.now() - began >= 90_000) failures.push('a connection without a complete request stayed open for 90 s');
}

/**
 * @param {object} options
 * @param {'short' | 'long'} options.scale
 * @param {number} [options.seed]
 * @param {Progress} [options.progress]
 */
async function run({ scale, seed = 1, progress = () => {} }) {
  const { requests: requestCount, fuzzMs, streams, cancels, cancelsMs, patience } = SCALES[scale];
  /** @type {Report} */
  const report = { figures: {}, failures: [] };
  const lab = await startLabProcess();
  const descriptors = () => readdirSync(`/proc/${lab.pid}/fd`).length;
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, lab.memory());
  }, 100);
  try {
    const before = descriptors();
    progress(0, 'requests generated from the schemas');
    await fuzz(lab, report, { requests: requestCount, seed, limitMs: fuzzMs });
    for (let time = 0; time < streams; time++) {
      progress(0.3 + (0.3 * time) / streams, 'a run streams beside 1,000 slow clients');
      await streamBesideSlowClients(lab, report);
    }
    await startAndCancel(lab, report, {
      cancels,
      limitMs: cancelsMs,
      progress: (fraction, text) => progress(0.6 + 0.3 * fraction, text),
    });
    if (patience) await waitForTimeouts(lab, report);
    await until(() => lab.connections() === 0);
    report.figures['requests sent in one connection each'] = lab.logged.length;
    report.figures['most memory of the server in MB'] = megabytes(peak);
    if (megabytes(peak) > MEMORY_LIMIT_MB) report.failures.push(`the server took ${megabytes(peak)} MB`);
    if (lab.programs().length) report.failures.push(`${lab.programs().length} programs are left`);
    if (descriptors() > before + 5) report.failures.push(`descriptors grew from ${before} to ${descriptors()}`);
    const errors = lab.logged.filter((line) => JSON.parse(line).level >= 50);
    report.failures.push(...errors.slice(0, 3).map((line) => `the server logged ${line.slice(0, 300)}`));
  } finally {
    clearInterval(watch);
    const status = await lab.close();
    if (status !== 143) report.failures.push(`the server ended with status ${status}`);
  }
  return report;
}

module.exports = { name: 'lab', title: 'Hostile clients of the lab’s server', run };
