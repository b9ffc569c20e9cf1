// Checks a file before anything uses it: every field that the page reads has the right type and size. The first problem found
// becomes one sentence with the field's path and its value.
import { LIMITS } from './limits.js';

export const SCHEMA = 'crossings/trace/1';

/** Other files of crossings, and what opens them. @type {Record<string, string>} */
const OTHER_FILES = {
  'crossings/run/1': 'a run of the benchmark',
  'crossings/gates/1': 'a recording of the gates',
};

/** A file that is no recording. Its message is for the user. */
export class RecordingError extends Error {}

/** @param {string} sentence @returns {never} */
export const refuse = (sentence) => {
  throw new RecordingError(sentence);
};

/** A value as a sentence can quote it. @param {unknown} value */
export function quoted(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value !== null && typeof value === 'object') return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return typeof value === 'string' && value.length > 60 ? `${text}…` : text;
}

const number = (/** @type {number} */ value) => value.toLocaleString('en-US');

/** @param {string} path @param {string} expected @param {unknown} value @returns {never} */
const wrong = (path, expected, value) => refuse(`${path} must be ${expected}; got ${quoted(value)}.`);

/** @param {any} value @param {string} path @returns {Record<string, any>} */
function object(value, path) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) wrong(path, 'an object', value);
  return value;
}

/** @param {any} value @param {string} path @param {number} most @returns {any[]} */
function array(value, path, most) {
  if (!Array.isArray(value)) wrong(path, 'an array', value);
  if (value.length > most) {
    refuse(`${path} must have at most ${number(most)} entries to be opened here; it has ${number(value.length)}.`);
  }
  return value;
}

/** @param {any} value @param {string} path @param {number} [most] */
function text(value, path, most = LIMITS.nameCharacters) {
  if (typeof value !== 'string') wrong(path, 'a string', value);
  if (value.length > most)
    refuse(`${path} must have at most ${number(most)} characters; it has ${number(value.length)}.`);
}

/** @param {any} value @param {string} path @param {number} [least] @param {number} [most] */
function integer(value, path, least = 0, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${number(least)}` : `from ${number(least)} to ${number(most)}`;
  wrong(path, `an integer ${range}`, value);
}

/** @param {any} value @param {string} path */
function time(value, path) {
  if (typeof value !== 'number' || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
    wrong(path, 'a number of nanoseconds from 0', value);
  }
}

/** Applies a check unless the value is null or missing. @param {(value: any, path: string, ...rest: number[]) => void} check */
const optional =
  (check) =>
  /** @param {any} value @param {string} path @param {...number} rest */
  (value, path, ...rest) => {
    if (value !== null && value !== undefined) check(value, path, ...rest);
  };
const maybeText = optional(text);
const maybeTime = optional(time);
const maybeInteger = optional(integer);

/** @param {any} id @param {string} path */
function objectId(id, path) {
  if (typeof id === 'number') integer(id, path);
  else text(id, path);
}

/** @param {any} words @param {string} path */
function checkCommand(words, path) {
  for (const word of array(words, path, LIMITS.wordsOfCommand)) text(word, `${path}[…]`, LIMITS.wordCharacters);
}

/** @param {any} trace @returns {Map<number, Set<number>>} the threads of each process */
function checkProcesses(trace) {
  const processes = array(trace.processes, 'processes', LIMITS.processes);
  if (processes.length === 0) refuse('processes must have at least one entry; it is empty.');
  /** @type {Map<number, Set<number>>} */
  const threads = new Map();
  for (const [i, entry] of processes.entries()) {
    const path = `processes[${i}]`;
    const process = object(entry, path);
    integer(process.pid, `${path}.pid`, 1);
    if (threads.has(process.pid)) refuse(`${path}.pid must be unique; ${process.pid} appears twice.`);
    const own = new Set();
    threads.set(process.pid, own);
    maybeInteger(process.parent, `${path}.parent`, 0);
    maybeText(process.name, `${path}.name`);
    maybeText(process.role, `${path}.role`);
    checkCommand(process.command ?? [], `${path}.command`);
    maybeTime(process.start, `${path}.start`);
    maybeTime(process.end, `${path}.end`);
    maybeInteger(process.status, `${path}.status`, Number.MIN_SAFE_INTEGER);
    for (const [k, one] of array(process.threads ?? [], `${path}.threads`, LIMITS.threads).entries()) {
      const thread = object(one, `${path}.threads[${k}]`);
      integer(thread.tid, `${path}.threads[${k}].tid`, 1);
      maybeText(thread.name, `${path}.threads[${k}].name`);
      maybeTime(thread.start, `${path}.threads[${k}].start`);
      maybeTime(thread.end, `${path}.threads[${k}].end`);
      own.add(thread.tid);
    }
  }
  return threads;
}

/**
 * The threads that processes list, and those that only events name.
 * @param {any[]} events
 * @param {Map<number, Set<number>>} threads by process
 */
function checkThreads(events, threads) {
  for (const { pid, tid } of events) threads.get(pid)?.add(tid ?? pid);
  const count = [...threads.values()].reduce((sum, { size }) => sum + size, 0);
  if (count > LIMITS.threads) {
    refuse(
      `A recording must have at most ${number(LIMITS.threads)} threads to be opened here; this one has ${number(count)}.`,
    );
  }
}

/** @param {any} trace */
function checkObjects(trace) {
  for (const [i, entry] of array(trace.objects ?? [], 'objects', LIMITS.objects).entries()) {
    const one = object(entry, `objects[${i}]`);
    objectId(one.id, `objects[${i}].id`);
    text(one.kind, `objects[${i}].kind`);
    text(one.name, `objects[${i}].name`, LIMITS.textCharacters);
    optional(objectId)(one.peer, `objects[${i}].peer`);
    maybeText(one.local, `objects[${i}].local`);
    maybeText(one.remote, `objects[${i}].remote`);
  }
  for (const [i, entry] of array(trace.descriptors ?? [], 'descriptors', LIMITS.descriptors).entries()) {
    const path = `descriptors[${i}]`;
    const one = object(entry, path);
    integer(one.pid, `${path}.pid`, 1);
    integer(one.fd, `${path}.fd`, -1);
    objectId(one.object, `${path}.object`);
    maybeText(one.end, `${path}.end`);
    time(one.from, `${path}.from`);
    maybeTime(one.until, `${path}.until`);
  }
}

/** @param {any} event @param {string} path @param {Map<number, unknown>} processes @param {number} count */
function checkEvent(event, path, processes, count) {
  object(event, path);
  time(event.t, `${path}.t`);
  maybeTime(event.end, `${path}.end`);
  if (typeof event.end === 'number' && event.end < event.t) {
    refuse(`${path}.end must not be before ${path}.t, ${number(event.t)}; got ${number(event.end)}.`);
  }
  integer(event.pid, `${path}.pid`, 1);
  if (!processes.has(event.pid)) refuse(`${path}.pid must be one of processes; got ${event.pid}.`);
  maybeInteger(event.tid, `${path}.tid`, 1);
  text(event.kind, `${path}.kind`);
  text(event.name, `${path}.name`);
  maybeText(event.call, `${path}.call`);
  for (const [i, arg] of array(event.args ?? [], `${path}.args`, LIMITS.argumentsOfEvent).entries()) {
    text(arg, `${path}.args[${i}]`, LIMITS.textCharacters);
  }
  maybeText(event.result, `${path}.result`, LIMITS.textCharacters);
  for (const [i, fd] of array(event.fds ?? [], `${path}.fds`, LIMITS.descriptorsOfEvent).entries()) {
    integer(fd, `${path}.fds[${i}]`, -1);
  }
  for (const [i, id] of array(event.objects ?? [], `${path}.objects`, LIMITS.descriptorsOfEvent).entries()) {
    objectId(id, `${path}.objects[${i}]`);
  }
  maybeTime(event.bytes, `${path}.bytes`);
  maybeInteger(event.sleeps, `${path}.sleeps`, 0, 2 ** 31 - 1);
  maybeInteger(event.wokenBy, `${path}.wokenBy`, 0, count - 1);
  if (event.source !== null && event.source !== undefined) {
    const source = object(event.source, `${path}.source`);
    text(source.file, `${path}.source.file`);
    integer(source.line, `${path}.source.line`, 1, 2 ** 31 - 1);
    if (source.why !== undefined) text(source.why, `${path}.source.why`);
  }
  if (typeof event.payload === 'string') text(event.payload, `${path}.payload`, LIMITS.textCharacters);
  else if (event.payload !== null && event.payload !== undefined) object(event.payload, `${path}.payload`);
  for (const [i, effect] of array(event.effects ?? [], `${path}.effects`, LIMITS.argumentsOfEvent).entries()) {
    object(effect, `${path}.effects[${i}]`);
  }
}

/** @param {any} trace */
function checkSources(trace) {
  const sources = Object.entries(object(trace.sources ?? {}, 'sources'));
  if (sources.length > LIMITS.files) {
    refuse(
      `sources must have at most ${number(LIMITS.files)} files to be opened here; it has ${number(sources.length)}.`,
    );
  }
  let left = LIMITS.sourceCharacters;
  for (const [file, content] of sources) {
    text(file, 'A name in sources');
    text(content, `sources[${quoted(file)}]`, left);
    left -= content.length;
  }
}

/** @param {any} trace @param {'stuck' | 'waiting'} field */
function checkWaits(trace, field) {
  if (trace[field] === null || trace[field] === undefined) return;
  const stuck = object(trace[field], field);
  text(stuck.text, `${field}.text`, LIMITS.textCharacters);
  for (const [i, entry] of array(stuck.waits ?? [], `${field}.waits`, LIMITS.waits).entries()) {
    const path = `${field}.waits[${i}]`;
    const wait = object(entry, path);
    integer(wait.pid, `${path}.pid`, 1);
    maybeInteger(wait.tid, `${path}.tid`, 1);
    maybeInteger(wait.event, `${path}.event`, 0, trace.events.length - 1);
    text(wait.call, `${path}.call`);
    maybeInteger(wait.fd, `${path}.fd`);
    optional(objectId)(wait.object, `${path}.object`);
    for (const [k, one] of array(wait.heldBy ?? [], `${path}.heldBy`, LIMITS.processes).entries()) {
      integer(object(one, `${path}.heldBy[${k}]`).pid, `${path}.heldBy[${k}].pid`, 1);
      maybeInteger(one.fd, `${path}.heldBy[${k}].fd`, -1);
      maybeInteger(one.tid, `${path}.heldBy[${k}].tid`, 1);
    }
  }
}

/** Throws a RecordingError unless this is a recording that the page can open. @param {any} trace the parsed file */
export function checkTrace(trace) {
  if (trace === null || typeof trace !== 'object' || Array.isArray(trace)) {
    refuse(`A recording is a JSON object with "schema": "${SCHEMA}"; this file contains ${quoted(trace)}.`);
  }
  if (trace.schema !== SCHEMA) {
    const other = typeof trace.schema === 'string' ? OTHER_FILES[trace.schema] : undefined;
    const what = other ? ` This file is ${other}.` : '';
    refuse(`schema must be "${SCHEMA}"; got ${quoted(trace.schema)}.${what}`);
  }
  array(trace.events, 'events', LIMITS.events);
  if (trace.events.length === 0) refuse('events must have at least one entry; this recording is empty.');
  checkCommand(trace.command ?? [], 'command');
  maybeText(trace.mechanism, 'mechanism');
  maybeText(trace.title, 'title');
  maybeText(trace.recordedAt, 'recordedAt');
  maybeTime(trace.durationNs, 'durationNs');
  maybeText(trace.ended, 'ended');
  for (const [i, note] of array(trace.notes ?? [], 'notes', LIMITS.notes).entries()) text(note, `notes[${i}]`);
  maybeInteger(trace.status, 'status', Number.MIN_SAFE_INTEGER);
  optional((value, path) => (typeof value === 'number' ? integer(value, path) : text(value, path)))(
    trace.signal,
    'signal',
  );
  const threads = checkProcesses(trace);
  checkObjects(trace);
  for (let i = 0; i < trace.events.length; i++)
    checkEvent(trace.events[i], `events[${i}]`, threads, trace.events.length);
  checkThreads(trace.events, threads);
  checkSources(trace);
  checkWaits(trace, 'stuck');
  checkWaits(trace, 'waiting');
}

const [QUOTE, BACKSLASH, ...BRACKETS] = [...'"\\[{]}'].map((character) => character.charCodeAt(0));
const [OPEN_ARRAY, OPEN_OBJECT, CLOSE_ARRAY, CLOSE_OBJECT] = BRACKETS;

/** Whether JSON has more levels of arrays and objects than a recording may have. @param {string} content */
function isTooDeep(content) {
  let level = 0;
  let isInString = false;
  for (let i = 0; i < content.length; i++) {
    const code = content.charCodeAt(i);
    if (isInString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++level > LIMITS.levels) return true;
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) level--;
  }
  return false;
}

/** The trace in a file. @param {string} content @returns {any} */
export function parseTrace(content) {
  if (content.length > LIMITS.fileBytes) {
    refuse(
      `A recording must have at most ${LIMITS.fileBytes >> 20} MiB to be opened here; this one has ${Math.ceil(content.length / (1 << 20))}.`,
    );
  }
  // JSON.parse() takes so much memory for each open level that a file of brackets would crash the tab.
  if (isTooDeep(content)) {
    refuse(
      `A recording is a JSON object with "schema": "${SCHEMA}"; this file has more than ${number(LIMITS.levels)} levels of arrays and objects.`,
    );
  }
  let trace;
  try {
    trace = JSON.parse(content);
  } catch (error) {
    refuse(`This is not a JSON file: ${/** @type {Error} */ (error).message.slice(0, 200)}.`);
  }
  checkTrace(trace);
  return trace;
}
