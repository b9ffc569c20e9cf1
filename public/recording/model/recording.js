// From a trace, as the file has it, to a recording in columns: typed arrays, so that 100,000 events need little memory, can be
// sent from a worker, and can be filtered and drawn without looking at an object for each event.
import { descriptorsOf, objectFinder } from './descriptors.js';
import { ASLEEP, DECODED, FAILED, NEVER_RETURNED, STEP } from './flags.js';
import { lanesOf } from './lanes.js';

/** @typedef {import('./types.js').Recording} Recording */

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
  const { command = [], mechanism = null, title, recordedAt = null, environment, ended = null } = trace;
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
  };
}

/** @param {any} trace @returns {number} nanoseconds */
function durationOf(trace) {
  let last = trace.durationNs ?? 0;
  for (const { t, end } of trace.events) last = Math.max(last, end ?? t);
  for (const process of trace.processes) last = Math.max(last, process.end ?? 0);
  return Math.max(last, 1);
}

/** The payload as text: a demo's is a message with fields. @param {any} payload @returns {string | null} */
const payloadText = (payload) => {
  if (payload === null || payload === undefined) return null;
  return typeof payload === 'string'
    ? payload
    : JSON.stringify(
        Object.fromEntries(
          Object.entries(payload)
            .slice(0, 20)
            .map(([key, value]) => [key, typeof value === 'object' ? '…' : value]),
        ),
      );
};

/** The objects that the arguments and the result name: "3<pipe:[17]>". @param {any} event @param {Map<string, number>} index */
function objectsInText({ args = [], result = '', effects = [] }, index) {
  const found = new Set();
  for (const { object, from, to } of effects) {
    for (const id of [object, from, to]) if (index.has(String(id))) found.add(index.get(String(id)));
  }
  for (const text of [...args, result]) {
    if (!text.includes('<')) continue;
    for (const [, id] of text.matchAll(/\d<([^<>]+)>/g)) if (index.has(id)) found.add(index.get(id));
  }
  return [...found];
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
  const objects = (trace.objects ?? []).map((/** @type {any} */ { id, kind, name, peer }) => ({
    id: String(id),
    kind,
    name,
    peer: peer === null || peer === undefined ? -1 : (objectIndex.get(String(peer)) ?? -1),
  }));
  const descriptors = descriptorsOf(trace, objectIndex, durationNs);
  const find = objectFinder(descriptors);
  const stuckEvents = new Set((trace.stuck?.waits ?? []).map((/** @type {any} */ { event }) => event));
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
  const objectStart = new Int32Array(count + 1);
  /** @type {number[]} */
  const objectList = [];
  /** @type {string[][]} */ const args = new Array(count);
  /** @type {string[]} */ const result = new Array(count);
  /** @type {(string | null)[]} */ const payload = new Array(count);
  let calls = 0;

  for (let i = 0; i < count; i++) {
    const event = events[i];
    t[i] = event.t;
    end[i] = event.end ?? Number.NaN;
    name[i] = names.number(event.name);
    args[i] = event.args ?? [];
    result[i] = event.result ?? '';
    payload[i] = payloadText(event.payload);
    sleeps[i] = event.sleeps ?? 0;
    wokenBy[i] = event.wokenBy ?? -1;
    if (event.source) {
      file[i] = files.number(event.source.file);
      line[i] = event.source.line;
    }
    const call = event.kind === 'syscall';
    if (call) calls++;
    flags[i] =
      (call ? 0 : STEP) |
      (/^-(1\b|E[A-Z])/.test(result[i]) ? FAILED : 0) |
      (sleeps[i] > 0 || stuckEvents.has(i) ? ASLEEP : 0) |
      (event.end === null || event.end === undefined ? NEVER_RETURNED : 0) |
      (event.payload !== null && typeof event.payload === 'object' ? DECODED : 0);
    const until = event.end ?? durationNs;
    const touched = event.fds
      ? event.fds
          .map((/** @type {number} */ fd) => find(event.pid, fd, event.t, until))
          .filter((/** @type {number} */ one) => one >= 0)
      : objectsInText(event, objectIndex);
    objectStart[i] = objectList.length;
    objectList.push(...new Set(touched));
  }
  objectStart[count] = objectList.length;

  const { processes, lanes, lane } = lanesOf(trace, { t, end, flags, durationNs });
  const waits = (trace.stuck?.waits ?? []).map((/** @type {any} */ wait) => ({
    pid: wait.pid,
    tid: wait.tid ?? wait.pid,
    event: wait.event ?? -1,
    call: wait.call,
    object: objectIndex.get(String(wait.object)) ?? -1,
    heldBy: (wait.heldBy ?? []).map((/** @type {any} */ { pid, fd }) => ({ pid, fd: fd ?? null })),
  }));
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
    ...{ t, end, lane, name, flags, sleeps, wokenBy, file, line, args, result, payload, objectStart },
    objectList: Int32Array.from(objectList),
    stuck: trace.stuck ? { text: trace.stuck.text, waits } : null,
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

/** The moment after an event: its end, or the end of the recording if it never returned. @param {Recording} recording @param {number} event */
export const momentAfter = ({ end, durationNs }, event) => (Number.isNaN(end[event]) ? durationNs : end[event]);
