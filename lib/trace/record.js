'use strict';
// Recording a demo: run it traced, then not traced for honest times, and make one object of it all: the trace file.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
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

/** @typedef {import('./causes.js').Happening} Happening */
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
 * @property {[number, string][]} [before] arguments that the call filled in: which, and what each was until then
 * @property {string} result
 * @property {{file: string, line: number} | null} source
 * @property {string} [call] the C function that the line calls, where that is not the system call's name
 * @property {'setup' | 'message' | 'teardown'} phase
 * @property {number | null} message
 * @property {number} sleeps
 * @property {number | null} wokenBy index of the event that ended the sleep
 * @property {Record<string, number>} [memory] watched words, as they were at its end
 * @property {any} [payload] the message that went through it
 * @property {Effect[]} effects
 */
/** @typedef {Awaited<ReturnType<typeof recordTrace>>} Trace */

const UNTRACED_RUNS = 101;
const root = join(__dirname, '..', '..');

/** As the compiler was told of it, from the package's root. @param {string} file */
const relative = (file) => file.replace(/^(\.\.\/)+/, '').replace(/^c-bench\/demos\/\.\.\/\.\.\//, '');

/** Where a step's word or a futex lies. @param {RawEvent} event */
function addressOf({ kind, raw }) {
  if (kind === 'step') return raw.address;
  return raw.name === 'futex' ? Number(raw.args[0]) : null;
}

/**
 * The object that a happening is about, for finding what caused it.
 * @param {RawEvent} event
 * @param {World} effects
 * @param {Map<string, string>} listeners where each connecting socket went to
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

/** Each event with what it changed. @param {RawEvent[]} events @param {World} effects @param {Map<string, string>} listeners */
function happen(events, effects, listeners) {
  /** @type {Map<RawEvent, Happening>} */
  const happenings = new Map();
  /** @type {Map<string, Set<string>>} */
  const words = new Map();
  const inOrderOfEnd = [...events].sort((a, b) => (a.raw.end ?? a.raw.t) - (b.raw.end ?? b.raw.t));
  for (const event of inOrderOfEnd) {
    const changed = effects.of(event);
    happenings.set(event, { event, effects: changed, cause: null, ...aboutOf(event, effects, listeners) });
    for (const { name, address } of event.raw.words) {
      const object = effects.mappings(event.raw.pid).at(address)?.object;
      if (object) words.set(object, (words.get(object) ?? new Set()).add(name));
    }
  }
  return { happenings: events.map((event) => /** @type {Happening} */ (happenings.get(event))), words };
}

/** The message that a call carried: a struct, or lines of JSON. @param {RawEvent} event */
function payload({ kind, raw }) {
  if (kind !== 'syscall' || raw.phase !== 'message') return undefined;
  const hex = raw.in[1] ?? raw.out[1];
  if (typeof hex !== 'string' || !['read', 'write', 'sendto', 'recvfrom'].includes(raw.name)) return undefined;
  const bytes = Buffer.from(hex, 'hex');
  if (raw.name === 'read' || raw.name === 'write') return payloadOf(bytes) ?? undefined;
  const lines = bytes.toString('utf8').split('\n');
  return lines.length === 2 && lines[1] === '' ? JSON.parse(lines[0]) : undefined; // several, or part of one: none
}

/** @param {Happening} happening @param {Map<Happening, number>} places @returns {TraceEvent} */
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

/** @param {import('../measure/programs.js').ProgramEvent[]} lines what the tracer printed */
function interpret(lines) {
  const { events, roles } = readRaw(lines);
  const calls = events.flatMap((event) => (event.kind === 'syscall' ? [event.raw] : []));
  const byEnd = [...calls].sort((a, b) => (a.end ?? a.t) - (b.end ?? b.t));
  const found = findObjects(byEnd, roles);
  const effects = new Effects(found.list());
  const { happenings, words } = happen(events, effects, found.listeners);
  orderByCause(happenings);
  for (const [id, names] of words) found.nameWords(id, [...names]);
  const places = new Map(happenings.map((happening, i) => [happening, i]));
  return {
    title: eventOf(lines, 'demo').title,
    processes: [...roles].map(([pid, role]) => ({ pid, role })).sort((a) => (a.role === 'writer' ? -1 : 1)),
    objects: found.list(),
    events: happenings.map((happening) => finish(happening, places)),
  };
}

/** @param {TraceEvent[]} events */
function readSources(events) {
  const files = [...new Set(events.flatMap(({ source }) => source?.file ?? []))].sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The bytes of the largest message as it was sent. @param {TraceEvent[]} events */
function messageBytes(events) {
  const sent = events
    .filter(({ phase }) => phase === 'message')
    .flatMap(({ effects }) => effects.filter(({ do: what, from }) => what === 'store' || from === 'process'));
  return Math.max(...sent.map(({ bytes }) => bytes ?? 0));
}

/**
 * Record one demo. The mechanism and the number of messages are checked by the program, whose refusal is ERR_USAGE.
 * @param {{mechanism: string, messages?: number | string}} what
 * @param {{signal?: AbortSignal}} [control]
 */
async function recordTrace({ mechanism, messages = 10 }, { signal } = {}) {
  const demo = ['--messages', messages, '--', mechanism];
  const recordedAt = new Date().toISOString();
  const { title, processes, objects, events } = interpret(
    await runProgram('crossings-demo', ['--trace', ...demo], { signal }),
  );
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
 * The demos that there are.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{name: string, title: string, source: string}[]>}
 */
async function listDemos(signal) {
  const events = await runProgram('crossings-demo', ['--list'], { signal });
  return events.map(({ name, title, source }) => ({ name, title, source }));
}

module.exports = { interpret, listDemos, recordTrace };
