'use strict';
// Records a demo: runs it traced, then untraced for its true times, and assembles both into a trace file.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { version } = require('../../package.json');
const { describeEnvironment } = require('../measure/environment.js');
const { eventOf, runProgram } = require('../measure/programs.js');
const { summarize } = require('../measure/statistics.js');
const { orderByCause } = require('./causes.js');
const { argumentsBefore, decodeArguments, decodeResult } = require('./decode.js');
const { Effects } = require('./effects.js');
const { findObjects, idOf } = require('./objects.js');
const { readRaw } = require('./raw.js');
const { payloadOf } = require('./values.js');

/** @typedef {import('./causes.js').CausalEvent} CausalEvent */
/** @typedef {import('./objects.js').Effect} Effect */
/** @typedef {InstanceType<typeof Effects>} World */
/** @typedef {import('./objects.js').TracedObject} TracedObject */
/** @typedef {import('./raw.js').RawEvent} RawEvent */
/**
 * @typedef {object} TraceEvent
 * @property {number} t nanoseconds from the start
 * @property {number | null} end null: it never returned
 * @property {number} pid
 * @property {'syscall' | 'step'} kind
 * @property {'store' | 'load' | 'release' | 'see'} [step] what kind of step
 * @property {string} name
 * @property {string[]} args
 * @property {[number, string][]} [before] arguments that the call filled in: [index, value before]
 * @property {string} result
 * @property {{file: string, line: number} | null} source
 * @property {string} [call] the C function called, if its name differs from the system call's
 * @property {'setup' | 'message' | 'teardown'} phase
 * @property {number | null} message
 * @property {number} sleeps
 * @property {number | null} wokenBy index of the event that ended the sleep
 * @property {Record<string, number>} [memory] watched words at its end
 * @property {any} [payload] the message that it carried
 * @property {Effect[]} effects
 */
/** @typedef {Awaited<ReturnType<typeof recordTrace>>} Trace */

const UNTRACED_RUNS = 101;
const WORKER = join(__dirname, 'interpret-worker.js');
const root = join(__dirname, '..', '..');

/** A path as compiled in, relative to the package's root. @param {string} file */
const relative = (file) => file.replace(/^(\.\.\/)+/, '').replace(/^c-bench\/demos\/\.\.\/\.\.\//, '');

/** The address of a step's word or of a futex. @param {RawEvent} event */
function addressOf({ kind, raw }) {
  if (kind === 'step') return raw.address;
  return raw.name === 'futex' ? Number(raw.args[0]) : null;
}

/**
 * The object that an event is about, for finding its cause.
 * @param {RawEvent} event
 * @param {World} effects
 * @param {Map<string, string>} listeners the listening socket of each connecting one
 */
function aboutOf(event, effects, listeners) {
  const address = addressOf(event);
  if (address !== null) {
    const mapping = effects.mappings(event.raw.pid).at(address);
    return mapping ? { about: mapping.object, offset: address - mapping.start } : { about: '', offset: 0 };
  }
  const [first] = event.kind === 'syscall' ? event.raw.fds : [];
  const id = first ? idOf(first) : '';
  return { about: listeners.get(`${event.raw.name} ${id}`) ?? id, offset: 0 };
}

/**
 * Each event with its effects, and the watched words of each object.
 * @param {RawEvent[]} events
 * @param {World} effects
 * @param {Map<string, string>} listeners
 */
function applyEvents(events, effects, listeners) {
  /** @type {Map<RawEvent, CausalEvent>} */
  const entries = new Map();
  /** @type {Map<string, Set<string>>} */
  const words = new Map();
  const inOrderOfEnd = [...events].sort((a, b) => (a.raw.end ?? a.raw.t) - (b.raw.end ?? b.raw.t));
  for (const event of inOrderOfEnd) {
    const changed = effects.of(event);
    entries.set(event, { event, effects: changed, cause: null, ...aboutOf(event, effects, listeners) });
    for (const { name, address } of event.raw.words) {
      const object = effects.mappings(event.raw.pid).at(address)?.object;
      if (object) words.set(object, (words.get(object) ?? new Set()).add(name));
    }
  }
  return { entries: events.map((event) => /** @type {CausalEvent} */ (entries.get(event))), words };
}

/** The message that a call carried: a struct, or a line of JSON. @param {RawEvent} event */
function payload({ kind, raw }) {
  if (kind !== 'syscall' || raw.phase !== 'message') return undefined;
  const hex = raw.in[1] ?? raw.out[1];
  if (typeof hex !== 'string' || !['read', 'write', 'sendto', 'recvfrom'].includes(raw.name)) return undefined;
  const bytes = Buffer.from(hex, 'hex');
  if (raw.name === 'read' || raw.name === 'write') return payloadOf(bytes) ?? undefined;
  const lines = bytes.toString('utf8').split('\n');
  return lines.length === 2 && lines[1] === '' ? JSON.parse(lines[0]) : undefined; // several messages or part of one: none
}

/** @param {CausalEvent} entry @param {Map<CausalEvent, number>} places @returns {TraceEvent} */
function finish({ event, effects, cause }, places) {
  const { kind, raw } = event;
  const call = kind === 'syscall' ? raw.call : null;
  const carried = payload(event);
  const before = kind === 'syscall' ? argumentsBefore(raw) : [];
  const memory = Object.fromEntries(raw.words.map(({ name, value }) => [name, value]));
  const sleeps = kind === 'syscall' ? raw.sleeps : 0;
  return {
    t: raw.t,
    end: raw.end,
    pid: raw.pid,
    kind,
    ...(kind === 'step' ? { step: raw.step } : {}),
    name: raw.name,
    args: kind === 'syscall' ? decodeArguments(raw) : [],
    ...(before.length > 0 ? { before } : {}),
    result: kind === 'syscall' ? decodeResult(raw) : '',
    source: raw.file ? { file: relative(raw.file), line: raw.line } : null,
    ...(call && call !== raw.name ? { call } : {}),
    phase: raw.phase,
    message: raw.message,
    sleeps,
    wokenBy: sleeps > 0 && cause ? (places.get(cause) ?? null) : null,
    ...(raw.words.length ? { memory } : {}),
    ...(carried ? { payload: carried } : {}),
    effects,
  };
}

/** @param {import('../measure/programs.js').ProgramEvent[]} lines printed by the tracer */
function interpret(lines) {
  const { events, roles } = readRaw(lines);
  const calls = events.flatMap((event) => (event.kind === 'syscall' ? [event.raw] : []));
  const byEnd = [...calls].sort((a, b) => (a.end ?? a.t) - (b.end ?? b.t));
  const found = findObjects(byEnd, roles);
  const effects = new Effects(found.list());
  const { entries, words } = applyEvents(events, effects, found.listeners);
  orderByCause(entries);
  for (const [id, names] of words) found.nameWords(id, [...names]);
  const places = new Map(entries.map((entry, i) => [entry, i]));
  return {
    title: eventOf(lines, 'demo').title,
    processes: [...roles].map(([pid, role]) => ({ pid, role })).sort((a) => (a.role === 'writer' ? -1 : 1)),
    objects: found.list(),
    events: entries.map((entry) => finish(entry, places)),
  };
}

/**
 * The same in a thread of its own: it takes a tenth of a second and more, in which the lab answers others.
 * @param {import('../measure/programs.js').ProgramEvent[]} lines
 * @param {AbortSignal} [signal]
 * @returns {Promise<ReturnType<typeof interpret>>}
 */
function interpretInWorker(lines, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const worker = new Worker(WORKER, { workerData: lines });
    const stop = () => worker.terminate();
    signal?.addEventListener('abort', stop);
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => {
      signal?.removeEventListener('abort', stop);
      reject(signal?.reason ?? new Error('The interpretation ended without a result.')); // unless there was a message
    });
  });
}

/** @param {TraceEvent[]} events */
function readSources(events) {
  const files = [...new Set(events.flatMap(({ source }) => source?.file ?? []))].sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The size of the largest message sent. @param {TraceEvent[]} events */
function messageBytes(events) {
  const sent = events
    .filter(({ phase }) => phase === 'message')
    .flatMap(({ effects }) => effects.filter(({ do: what, from }) => what === 'store' || from === 'process'));
  return Math.max(...sent.map(({ bytes }) => bytes ?? 0));
}

/**
 * Records one demo. The program itself checks the mechanism and the number of messages, and rejects them with
 * ERR_USAGE.
 * @param {{mechanism: string, messages?: number | string}} what
 * @param {{signal?: AbortSignal}} [control]
 */
async function recordTrace({ mechanism, messages = 10 }, { signal } = {}) {
  const demo = ['--messages', messages, '--', mechanism];
  const recordedAt = new Date().toISOString();
  const lines = await runProgram('crossings-demo', ['--trace', ...demo], { signal });
  const { title, processes, objects, events } = await interpretInWorker(lines, signal);
  const timing = eventOf(await runProgram('crossings-demo', ['--time', UNTRACED_RUNS, ...demo], { signal }), 'timing');
  const environment = await describeEnvironment({ cores: null, pin: false, signal });
  const { cpu, cores, architecture, kernel, virtualization, compiler, node } = environment;
  return {
    schema: 'crossings/trace/1',
    mechanism,
    title,
    recordedAt,
    tool: { version },
    environment: { cpu, cores, architecture, kernel, virtualization, compiler, node },
    parameters: { messages: timing.messages, sizeBytes: messageBytes(events) },
    floors: { syscallNs: timing.syscallNs },
    untraced: {
      runs: timing.messageNs.length,
      messageNs: summarize(timing.messageNs),
    },
    processes,
    sources: readSources(events),
    objects,
    events,
  };
}

/**
 * All demos.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{name: string, title: string, source: string}[]>}
 */
async function listDemos(signal) {
  const events = await runProgram('crossings-demo', ['--list'], { signal });
  return events.map(({ name, title, source }) => ({ name, title, source }));
}

module.exports = { interpret, listDemos, recordTrace };
