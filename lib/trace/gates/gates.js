'use strict';
// Tries the three gates of a channel: runs crossings-gates, and joins each attempt with its control.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('../../../package.json');
const { describeEnvironment } = require('../../measure/environment.js');
const { runProgram } = require('../../measure/programs.js');
const { errorNames, signalNames } = require('../constants.js');
const { GATES, TITLES } = require('./attempts.js');

/**
 * @typedef {object} Answer
 * @property {boolean} refused
 * @property {string | null} error name of the errno, such as 'EPERM'
 * @property {string | null} signal that ended the process that tried, such as 'SIGSEGV'
 * @property {string} text the answer as a phrase
 * @property {string} code the C expression
 * @property {{file: string, line: number}} source
 *
 * @typedef {object} Attempt
 * @property {string} name
 * @property {string} title
 * @property {Answer} answer must be a refusal
 * @property {Answer} control the same where nothing forbids it: must not be refused
 *
 * @typedef {Awaited<ReturnType<typeof tryGates>>} GatesFile
 */

const root = join(__dirname, '..', '..', '..');

/** @param {import('../../measure/programs.js').ProgramEvent} event @returns {Answer} */
function answerOf(event) {
  const refused = event.refused === 1;
  const error = event.errno ? (errorNames.get(event.errno) ?? `errno ${event.errno}`) : null;
  const signal = event.signal ? (signalNames.get(event.signal) ?? `signal ${event.signal}`) : null;
  const phrase = refused ? 'refused as corrupt' : 'succeeded';
  return {
    refused,
    error,
    signal,
    text: event.text ?? (refused && event.name === 'accept-unsealed' ? 'refused by the receiver' : phrase),
    code: event.code,
    source: { file: event.file.replace(/^(\.\.\/)+/, ''), line: event.line },
  };
}

/** @param {import('../../measure/programs.js').ProgramEvent[]} events @param {string} gate @returns {Attempt[]} */
function attemptsOf(events, gate) {
  const tried = events.filter((event) => event.type === 'attempt' && event.gate === gate);
  const answers = (/** @type {number} */ control) =>
    new Map(tried.filter((event) => event.control === control).map((event) => [event.name, answerOf(event)]));
  const controls = answers(1);
  return [...answers(0)].map(([name, answer]) => {
    const control = controls.get(name);
    if (!control) throw new Error(`crossings-gates made no control of ${name}`);
    return { name, title: TITLES[name] ?? name, answer, control };
  });
}

/** What the owners of the memory found: the first look is before its size was tried. @param {import('../../measure/programs.js').ProgramEvent[]} events */
function ownersOf(events) {
  const looks = (/** @type {number} */ control) =>
    events
      .filter((event) => event.type === 'owner' && event.control === control)
      .map(({ changed, signal }) => ({
        changed: changed === 1,
        signal: signal ? (signalNames.get(signal) ?? `signal ${signal}`) : null,
      }));
  return { sealed: looks(0), unsealed: looks(1) };
}

/** @param {{attempts: Attempt[]}[]} gates @param {ReturnType<typeof ownersOf>} owners */
function sentencesOf(gates, owners) {
  const attempts = gates.flatMap((gate) => gate.attempts);
  const refused = attempts.filter(({ answer }) => answer.refused).length;
  const granted = attempts.filter(({ control }) => !control.refused).length;
  const passed = attempts.filter(({ answer }) => !answer.refused).map(({ title }) => title);
  const killed = owners.unsealed.find(({ signal }) => signal !== null)?.signal;
  return [
    `${refused} of ${attempts.length} attempts were refused, and ${granted} of the ${attempts.length} controls succeeded.`,
    ...(passed.length > 0 ? [`Not refused: ${passed.join('; ')}.`] : []),
    owners.sealed.some(({ changed, signal }) => changed || signal !== null)
      ? 'The owner of the sealed memory found it changed.'
      : 'The owner of the sealed memory found every byte unchanged.',
    ...(killed
      ? [`The owner of the memory without seals was killed by ${killed} after the other process had truncated it.`]
      : []),
  ];
}

/**
 * Try every attempt once.
 * @param {{signal?: AbortSignal}} [control]
 */
async function tryGates({ signal } = {}) {
  const startedAt = new Date().toISOString();
  const events = await runProgram('crossings-gates', [], { signal });
  const { cpu, cores, architecture, kernel, virtualization, compiler, node } = await describeEnvironment({
    cores: null,
    pin: false,
    signal,
  });
  const gates = GATES.map((gate) => ({ ...gate, attempts: attemptsOf(events, gate.name) }));
  const owners = ownersOf(events);
  const attempts = gates.flatMap((gate) => gate.attempts);
  const files = [...new Set(attempts.map(({ answer }) => answer.source.file))];
  const held = attempts.every(({ answer, control }) => answer.refused && !control.refused);
  const untouched = owners.sealed.every(({ changed, signal: killed }) => !changed && killed === null);
  return {
    schema: 'crossings/gates/1',
    startedAt,
    tool: { version },
    environment: { cpu, cores, architecture, kernel, virtualization, compiler, node },
    gates,
    owners,
    sources: Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), 'utf8')])),
    sentences: sentencesOf(gates, owners),
    verdict: /** @type {'held' | 'failed'} */ (held && untouched ? 'held' : 'failed'),
  };
}

module.exports = { tryGates };
