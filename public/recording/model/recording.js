// From a trace, as the file has it, to a recording in columns: typed arrays, so that 100,000 events need little memory, can be
// sent from a worker, and can be filtered and drawn without looking at an object for each event.
import { descriptorsOf, objectFinder } from './descriptors.js';
import { Texts } from './event-texts.js';
import { ASLEEP, DECODED, FAILED, LINE_REASONS, NEVER_RETURNED, PAYLOAD, SIGNAL, STEP } from './flags.js';
import { lanesOf } from './lanes.js';
import { LIMITS } from './limits.js';

/** @typedef {import('./types.js').Recording} Recording */

const SHOWN_WORDS = 200; // of the command, of which the page shows no more than this many characters

/** Gives each distinct text a number. */
class Names {
  /** @type {string[]} */ all = [];
  /** @type {Map<string, number>} */ #numbers = new Map();

  /** @param {string} name */
  number(name) {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.all.length);
    return this.all.push(name) - 1;
  }
}

/** @param {any} trace @returns {import('./types.js').About} */
function aboutOf(trace) {
  const { mechanism = null, title, recordedAt = null, environment, ended = null } = trace;
  const command = (trace.command ?? []).slice(0, SHOWN_WORDS);
  const parts = [environment?.cpu, environment?.kernel, environment?.node && `Node ${environment.node}`];
  return {
    command: command.join(' '),
    mechanism,
    title: title ?? (command.join(' ') || mechanism || 'a program'),
    recordedAt: Number.isNaN(Date.parse(recordedAt)) ? null : recordedAt,
    machine: parts
      .filter((part) => typeof part === 'string')
      .join(', ')
      .slice(0, 300),
    ended,
    status: trace.status ?? null,
    signal: trace.signal === null || trace.signal === undefined ? null : String(trace.signal),
    payloads: trace.payloads !== false,
    dropped: Number.isFinite(trace.dropped) ? trace.dropped : 0,
    notes: trace.notes ?? [],
  };
}

/** @param {any} trace @returns {number} nanoseconds */
function durationOf(trace) {
  let last = trace.durationNs ?? 0;
  for (const { t, end } of trace.events) last = Math.max(last, end ?? t);
  for (const process of trace.processes) last = Math.max(last, process.end ?? 0);
  return Math.max(last, 1);
}

/** The payload as text, no longer than one in bytes may be: a demo's is a message with fields. @param {any} payload @returns {string | null} */
function payloadText(payload) {
  if (payload === null || payload === undefined) return null;
  if (typeof payload === 'string') return payload;
  const most = LIMITS.textCharacters;
  const shown = (/** @type {unknown} */ value) => {
    if (typeof value === 'string') return value.slice(0, most); // before JSON makes it longer
    return typeof value === 'object' ? '…' : value;
  };
  const fields = Object.entries(payload).slice(0, 20);
  const text = JSON.stringify(Object.fromEntries(fields.map(([key, value]) => [shown(key), shown(value)])));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The objects that the arguments and the result name: "3<pipe:[17]>". @param {any} event @param {Map<string, number>} index */
function objectsInText({ args, result, effects }, index) {
  const found = new Set();
  for (const { object, from, to } of effects ?? []) {
    for (const id of [object, from, to]) if (index.has(String(id))) found.add(index.get(String(id)));
  }
  for (const text of [...(args ?? []), result ?? '']) {
    if (!text.includes('<')) continue;
    for (const [, id] of text.matchAll(/\d<([^<>]+)>/g)) if (index.has(id)) found.add(index.get(id));
  }
  return [...found];
}

/** Why it hangs, or what it waited for. @param {any} trace @param {(id: any) => number} numberOf @returns {Recording['stuck']} */
function stuckOf(trace, numberOf) {
  const found = trace.stuck ?? trace.waiting;
  if (!found) return null;
  const waits = (found.waits ?? []).map((/** @type {any} */ wait) => ({
    pid: wait.pid,
    tid: wait.tid ?? wait.pid,
    event: wait.event ?? -1,
    call: wait.call,
    object: numberOf(wait.object),
    fd: wait.fd ?? null,
    heldBy: (wait.heldBy ?? []).map((/** @type {any} */ { pid, fd, tid }) => ({
      pid,
      fd: fd ?? null,
      tid: tid ?? null,
    })),
  }));
  return { text: found.text, deadlock: Boolean(trace.stuck), waits };
}

/** @param {any} trace a checked one @returns {Recording} */
export function recordingOf(trace) {
  const { events } = trace;
  const count = events.length;
  const durationNs = durationOf(trace);
  const objectIndex = new Map(
    /** @type {[string, number][]} */ (
      (trace.objects ?? []).map((/** @type {any} */ one, /** @type {number} */ i) => [String(one.id), i])
    ),
  );
  const numberOf = (/** @type {any} */ id) =>
    id === null || id === undefined ? -1 : (objectIndex.get(String(id)) ?? -1);
  const objects = (trace.objects ?? []).map((/** @type {any} */ one) => ({
    id: String(one.id),
    kind: one.kind,
    name: one.name,
    peer: numberOf(one.peer),
    outside: one.outside === true,
    listens: one.listens === true || one.kind === 'listener',
    local: one.local ?? '',
    remote: one.remote ?? '',
  }));
  const descriptors = descriptorsOf(trace, objectIndex, durationNs);
  const find = objectFinder(descriptors);
  const stuckEvents = new Set(
    ((trace.stuck ?? trace.waiting)?.waits ?? []).map((/** @type {any} */ { event }) => event),
  );
  const names = new Names();
  const files = new Names();

  const t = new Float64Array(count);
  const end = new Float64Array(count);
  const name = new Int32Array(count);
  const flags = new Uint8Array(count);
  const sleeps = new Int32Array(count);
  const wokenBy = new Int32Array(count).fill(-1);
  const file = new Int32Array(count).fill(-1);
  const line = new Int32Array(count);
  const lineReason = new Uint8Array(count);
  const objectStart = new Int32Array(count + 1);
  /** @type {number[]} */
  const objectList = [];
  const texts = new Texts(count);
  const bytes = new Float64Array(count).fill(-1);
  let calls = 0;

  /** @param {any} event @returns {number[]} */
  const objectsTouched = (event) => {
    const { pid, t: from, end: to } = event;
    if (event.objects) return event.objects.map(numberOf).filter((/** @type {number} */ one) => one >= 0);
    if (!event.fds) return objectsInText(event, objectIndex);
    const found = event.fds.map((/** @type {number} */ fd) => find(pid, fd, from, to ?? durationNs));
    return found.filter((/** @type {number} */ one) => one >= 0);
  };

  for (let i = 0; i < count; i++) {
    const event = events[i];
    t[i] = event.t;
    end[i] = event.end ?? Number.NaN;
    name[i] = names.number(event.name);
    const result = event.result ?? '';
    const payload = payloadText(event.payload);
    texts.add(event.args ?? [], result, payload ?? '');
    sleeps[i] = event.sleeps ?? 0;
    bytes[i] = event.bytes ?? -1;
    wokenBy[i] = event.wokenBy ?? -1;
    if (event.source) {
      file[i] = files.number(event.source.file);
      line[i] = event.source.line;
      lineReason[i] = Math.max(0, LINE_REASONS.indexOf(event.source.why ?? ''));
    }
    const call = event.kind === 'syscall';
    if (call) calls++;
    flags[i] =
      (call ? 0 : STEP) |
      (event.kind === 'signal' ? SIGNAL : 0) |
      (result.startsWith('-') && /^-(1\b|E[A-Z])/.test(result) ? FAILED : 0) |
      (payload === null ? 0 : PAYLOAD) |
      (sleeps[i] > 0 || stuckEvents.has(i) ? ASLEEP : 0) |
      (event.end === null || event.end === undefined ? NEVER_RETURNED : 0) |
      (event.payload !== null && typeof event.payload === 'object' ? DECODED : 0);
    const touched = objectsTouched(event);
    objectStart[i] = objectList.length;
    objectList.push(...(touched.length > 1 ? new Set(touched) : touched));
  }
  objectStart[count] = objectList.length;

  const { processes, lanes, lane } = lanesOf(trace, { t, end, flags, durationNs });
  return {
    about: aboutOf(trace),
    durationNs,
    count,
    calls,
    processes,
    lanes,
    objects,
    descriptors,
    names: names.all,
    files: files.all,
    sources: trace.sources ?? {},
    ...texts.columns(),
    ...{ t, end, lane, name, flags, sleeps, wokenBy, file, line, lineReason, bytes, objectStart },
    objectList: Int32Array.from(objectList),
    stuck: stuckOf(trace, numberOf),
  };
}

/** The typed arrays, which a worker can transfer instead of copy. @param {Recording} recording @returns {ArrayBuffer[]} */
export function buffersOf(recording) {
  const columns = [recording, ...recording.lanes]
    .flatMap((part) => Object.values(part))
    .filter((value) => ArrayBuffer.isView(value));
  return columns.map((column) => /** @type {ArrayBuffer} */ (column.buffer));
}

/** The objects of an event. @param {Recording} recording @param {number} event */
export const objectsOf = ({ objectStart, objectList }, event) =>
  objectList.subarray(objectStart[event], objectStart[event + 1]);

/** The moment after an event: its end, or just before the end of its thread if it never returned. @param {Recording} recording @param {number} event */
export const momentAfter = ({ end, lane, lanes }, event) =>
  Number.isNaN(end[event]) ? lanes[lane[event]].end - 1 : end[event];
