'use strict';
// Records any command: runs it under the tracer, and assembles the recording.
const { realpathSync } = require('node:fs');
const { isAbsolute, join, relative, resolve } = require('node:path');
const { version } = require('../../../package.json');
const { CrossingsError } = require('../../channel/errors.js');
const { describeHost } = require('../../measure/environment.js');
const { startProgram } = require('../../measure/programs.js');
const { readSmall } = require('../../terminal/files.js');
const { LIMITS } = require('./limits.js');
const { Recorder } = require('./recorder.js');
const { signalNames } = require('../constants.js');
const { printable } = require('../values.js');
const { withLines } = require('../node/marks.js');

/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */
/** @typedef {InstanceType<typeof Recorder>} Recording */
/** @typedef {Awaited<ReturnType<typeof recordProgram>>} ProgramTrace */

const root = join(__dirname, '..', '..', '..');
const MAX_SOURCE_BYTES = 1 << 20; // of a file
const MAX_SOURCES = 200;
const SOURCE_NAME = /\.([cm]?[jt]sx?|[ch])$/;

/** A path as compiled in, relative to the package's root; or of a program in Node, relative to its folder. @param {string} file @param {string} folder */
function shortened(file, folder) {
  if (!isAbsolute(file)) return file.replace(/^(\.\.\/)+/, '');
  const path = relative(folder, file);
  return path.startsWith('..') ? file : path;
}

/**
 * The text of a file of the program, if it is still there and not huge. The name comes from the traced program, which may be
 * hostile: only source files are read, so that a recording never holds, say, a key.
 * @param {string} path
 */
function readSource(path) {
  try {
    const real = realpathSync(path); // a link is not what its name says
    return SOURCE_NAME.test(real) ? readSmall(real, MAX_SOURCE_BYTES) : '';
  } catch {
    return '';
  }
}

/** Names the files of all events, and reads them. @param {ProgramCall[]} events @param {string} folder */
function readSources(events, folder) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  let left = LIMITS.sourceCharacters;
  for (const event of events) {
    if (!event.source) continue;
    const { file } = event.source;
    const name = printable(shortened(file, folder));
    event.source = { ...event.source, file: name };
    if (texts.has(name) || texts.size >= MAX_SOURCES) continue;
    const text = readSource(isAbsolute(file) ? file : join(root, shortened(file, folder)));
    texts.set(name, text.length <= left ? text : '');
    left -= texts.get(name)?.length ?? 0;
  }
  return Object.fromEntries([...texts].filter(([, text]) => text).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Puts the events in order, and gives each its cause. @param {Recording} recorder */
function orderEvents({ events, causes }) {
  events.sort((a, b) => a.t - b.t);
  const places = new Map(events.map((event, i) => [event, i]));
  causes.resolve((sleeper, cause) => {
    sleeper.wokenBy = places.get(cause) ?? null;
  });
}

/** @param {Recording} recorder */
function explanationsOf({ explained, events, ended }) {
  const { deadlock = false, text = '', waits = [] } = explained ?? {};
  if (ended.why === 'exited' || !explained) return { stuck: null, waiting: null };
  const last = new Map(events.map((event, i) => [event.tid, { event, i }]));
  for (const wait of waits) {
    const found = last.get(wait.tid);
    wait.event = found && found.event.end === null ? found.i : null;
  }
  return deadlock ? { stuck: { text, waits }, waiting: null } : { stuck: null, waiting: { text, waits } };
}

/**
 * Records a command, or a program of ours that traces itself.
 * @param {object} what
 * @param {string[]} what.command
 * @param {number | string} [what.timeoutSeconds]
 * @param {boolean} [what.lines] find out which lines of JavaScript make the calls of Node
 * @param {boolean} [what.payloads] record the bytes that calls transfer
 * @param {number} [what.maxEvents]
 * @param {number} [what.maxTasks] processes and threads at one time
 * @param {{program: string, args: (string | number)[]}} [what.tracer] another program than crossings-trace, and its
 *     arguments before the options of the tracer
 * @param {import('node:child_process').SpawnOptions} [what.spawn] such as other standard streams, or a folder
 * @param {number} [what.stalledMs] how long the tracer may take to say anything when its time is up
 * @param {{signal?: AbortSignal, onOutput?: (event: import('../../measure/programs.js').ProgramEvent) => void}} [control]
 *     an abort ends the program and the recording, which is returned all the same; onOutput: see startProgram()
 */
async function recordProgram(
  {
    command,
    timeoutSeconds = 60,
    lines = true,
    payloads = true,
    maxEvents,
    maxTasks,
    tracer,
    spawn,
    stalledMs = 10_000,
  },
  { signal, onOutput } = {},
) {
  const environment = await describeHost({ signal }); // first: if it fails later, such as after a build, the recording is lost
  const recorder = new Recorder({ withMarks: lines });
  const recordedAt = new Date().toISOString();
  const options = ['--timeout', timeoutSeconds, ...(payloads ? [] : ['--payload', 0])];
  if (maxEvents !== undefined) options.push('--events', maxEvents);
  if (maxTasks !== undefined) options.push('--tasks', maxTasks);
  /** @type {import('../../measure/programs.js').ProgramEvent | null} */
  let failure = null;
  let isComplete = false;
  const { program, args } = tracer ?? { program: 'crossings-trace', args: [] };
  const env = { ...(spawn?.env ?? process.env) };
  if (lines) env.NODE_OPTIONS = withLines(env.NODE_OPTIONS);
  signal?.throwIfAborted();
  const running = startProgram(
    program,
    [...args, ...options, '--', ...command],
    (line) => {
      if (line.type === 'error') failure = line;
      if (line.type === 'end') isComplete = true;
      stalled.refresh();
      const wasFull = recorder.full;
      try {
        recorder.take(line);
      } catch (error) {
        // startProgram() takes a SyntaxError, which BigInt() throws, too, for the rest of a line of a killed tracer.
        const reason = /** @type {Error} */ (error).message;
        const sentence = `The recorder cannot interpret a line of ${program} of type "${line.type}": ${reason}.`;
        throw new CrossingsError('ERR_PROGRAM', sentence);
      }
      if (recorder.full && !wasFull) stop();
      if (line.type === 'snapshot' && line.why === 'quiet' && recorder.explained?.deadlock && recorder.explained.all) {
        running.kill('SIGUSR1');
      }
    },
    { ...spawn, env },
    onOutput,
  );
  // A program can stop or trace its tracer, which then never ends it.
  let isStalled = false;
  const endStalled = () => {
    isStalled = true;
    running.kill('SIGKILL');
  };
  let stalled = setTimeout(endStalled, Number(timeoutSeconds) * 1000 + stalledMs);
  const stop = () => {
    running.kill('SIGTERM');
    clearTimeout(stalled);
    stalled = setTimeout(endStalled, stalledMs);
  };
  signal?.addEventListener('abort', stop, { once: true });
  const end = await running.ended.finally(() => {
    clearTimeout(stalled);
    signal?.removeEventListener('abort', stop);
  });
  const { code, message } = failure ?? { code: '', message: '' };
  if (failure) throw new CrossingsError(code, message);
  if (end === 2) throw new CrossingsError('ERR_USAGE', ''); // the program has printed the sentence
  if (isStalled) {
    throw new CrossingsError('ERR_STALLED', `${program} did not end in time. The traced program may have stopped it.`);
  }
  if (end !== 0) throw new CrossingsError('ERR_PROGRAM', `${program} ended with ${end}`);
  // Node reports the status 0 for a program that a real-time signal has ended. A tracer inside crossings-lessons may have been killed.
  if (!isComplete)
    throw new CrossingsError(
      'ERR_PROGRAM',
      `${program} ended before the recording was complete: a signal has ended it`,
    );
  if (recorder.full) {
    recorder.ended.why = 'limit';
    recorder.notes.push(recorder.full);
  }
  orderEvents(recorder);
  const { ended, processes, objects, descriptors, events, notes } = recorder;
  const sources = readSources(events, resolve(String(spawn?.cwd ?? '.')));
  return {
    schema: 'crossings/trace/1',
    command,
    recordedAt,
    tool: { version },
    environment,
    durationNs: ended.t,
    ended: ended.why,
    status: ended.status,
    signal: ended.signal ? (signalNames.get(ended.signal) ?? `signal ${ended.signal}`) : null,
    payloads,
    dropped: ended.dropped,
    notes,
    ...explanationsOf(recorder),
    processes: processes.map((process) => ({ ...process, end: process.end ?? ended.t })),
    objects: objects.list,
    descriptors: descriptors.list.map((holding) => ({ ...holding, until: holding.until ?? ended.t })),
    sources,
    events,
  };
}

module.exports = { recordProgram };
