'use strict';
// Records any command: runs it under the tracer, and assembles the recording.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('../../../package.json');
const { CrossingsError } = require('../../channel/errors.js');
const { describeEnvironment } = require('../../measure/environment.js');
const { startProgram } = require('../../measure/programs.js');
const { Recorder } = require('./recorder.js');
const { signalNames } = require('../constants.js');

/** @typedef {import('./recorder.js').ProgramCall} ProgramCall */
/** @typedef {InstanceType<typeof Recorder>} Recording */
/** @typedef {Awaited<ReturnType<typeof recordProgram>>} ProgramTrace */

const root = join(__dirname, '..', '..', '..');

/** A path as compiled in, relative to the package's root. @param {string} file */
const relative = (file) => file.replace(/^(\.\.\/)+/, '');

/** @param {ProgramCall[]} events */
function readSources(events) {
  const files = [...new Set(events.flatMap(({ source }) => source?.file ?? []))].sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** Puts the events in order, and gives each its cause. @param {Recording} recorder */
function orderEvents({ events, causes }) {
  events.sort((a, b) => a.t - b.t);
  const places = new Map(events.map((event, i) => [event, i]));
  causes.resolve((sleeper, cause) => {
    sleeper.wokenBy = places.get(cause) ?? null;
  });
  for (const { source } of events) if (source) source.file = relative(source.file);
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
 * @param {boolean} [what.payloads] record the bytes that calls transfer
 * @param {number} [what.maxEvents]
 * @param {number} [what.maxTasks] processes and threads at one time
 * @param {{program: string, args: (string | number)[]}} [what.tracer] another program than crossings-trace, and its
 *     arguments before the options of the tracer
 * @param {import('node:child_process').SpawnOptions} [what.spawn] such as other standard streams, or a folder
 * @param {{signal?: AbortSignal}} [control] an abort ends the program and the recording, which is returned all the same
 */
async function recordProgram(
  { command, timeoutSeconds = 60, payloads = true, maxEvents, maxTasks, tracer, spawn },
  { signal } = {},
) {
  const recorder = new Recorder();
  const recordedAt = new Date().toISOString();
  const options = ['--timeout', timeoutSeconds, ...(payloads ? [] : ['--payload', 0])];
  if (maxEvents !== undefined) options.push('--events', maxEvents);
  if (maxTasks !== undefined) options.push('--tasks', maxTasks);
  /** @type {import('../../measure/programs.js').ProgramEvent | null} */
  let failure = null;
  const { program, args } = tracer ?? { program: 'crossings-trace', args: [] };
  signal?.throwIfAborted();
  const running = startProgram(
    program,
    [...args, ...options, '--', ...command],
    (line) => {
      if (line.type === 'error') failure = line;
      recorder.take(line);
      if (line.type === 'snapshot' && line.why === 'quiet' && recorder.explained?.deadlock && recorder.explained.all) {
        running.kill('SIGUSR1');
      }
    },
    spawn,
  );
  const stop = () => running.kill('SIGTERM');
  signal?.addEventListener('abort', stop, { once: true });
  const end = await running.ended.finally(() => signal?.removeEventListener('abort', stop));
  const { code, message } = failure ?? { code: '', message: '' };
  if (failure) throw new CrossingsError(code, message);
  if (end === 2) throw new CrossingsError('ERR_USAGE', ''); // the program has printed the sentence
  if (end !== 0) throw new CrossingsError('ERR_PROGRAM', `${program} ended with ${end}`);
  orderEvents(recorder);
  const environment = await describeEnvironment({ cores: null, pin: false });
  const { cpu, cores, architecture, kernel, virtualization, compiler, node } = environment;
  const { ended, processes, objects, descriptors, events, notes } = recorder;
  return {
    schema: 'crossings/trace/1',
    command,
    recordedAt,
    tool: { version },
    environment: { cpu, cores, architecture, kernel, virtualization, compiler, node },
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
    sources: readSources(events),
    events,
  };
}

module.exports = { recordProgram };
