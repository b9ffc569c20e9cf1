'use strict';
// Runs a pitfall: its wrong program, then its right one, each confined. Says in a sentence what was observed, and whether it is
// what the pitfall promises.
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('../../package.json');
const { describeEnvironment } = require('../measure/environment.js');
const { runConfined, sentencesOf } = require('./confined.js');
const { isFigure } = require('./figures.js');
const { listPitfalls, problemsOf } = require('./folders.js');
const { recordBeside } = require('./recorded.js');
const { GROUPS } = require('./pitfall-groups.js');
const { momentOf } = require('./shown.js');

/** @typedef {import('./confined.js').Outcome} Outcome */
/** @typedef {import('./folders.js').Pitfall} Pitfall */
/**
 * What was observed of one program.
 * @typedef {object} Observed
 * @property {string} program its file
 * @property {boolean} failed the wrong program: in the way that the pitfall promises; the right one: in any way
 * @property {string} end 'hang', a signal's name, or 'exit N'
 * @property {string} text one or two sentences
 * @property {{stream: 'stdout' | 'stderr', line: string}[]} lines that it wrote
 * @property {import('./figures.js').Figures} figures among them
 * @property {import('./confined.js').Doing[]} processes what they did when the time was up
 * @property {number} left processes that it left behind, which were ended
 * @property {number} ms
 */
/** @typedef {Awaited<ReturnType<typeof runPitfall>>} PitfallFile */

const LIMIT_SECONDS = 10; // above what any of the programs needs on a busy machine; a wrong one that hangs names its own

/** How a program ended, in the words of pitfall.json. @param {Outcome} outcome */
function endOf({ how, status, signal }) {
  if (how === 'limit') return 'hang';
  return how === 'signal' ? (signal ?? 'a signal') : `exit ${status}`;
}

/** The last sentence that a program printed. @param {Outcome} outcome */
function lastSentence({ lines }) {
  const sentences = lines.filter(({ line }) => line.trim() && !isFigure(line));
  return sentences.at(-1)?.line.trim() ?? '';
}

/** @param {Outcome} outcome @param {number} limitSeconds */
function describe(outcome, limitSeconds) {
  const end = endOf(outcome);
  if (outcome.limit === 'processes') return 'It was stopped because it had too many processes.';
  if (end === 'hang') {
    return [`It was still running after ${limitSeconds} s.`, ...sentencesOf(outcome.processes)].join(' ');
  }
  const last = lastSentence(outcome);
  const ended = end.startsWith('exit') ? `It ended with exit status ${outcome.status}` : `It was killed by ${end}`;
  return last ? `${ended}. Its last line of output: “${last}”` : `${ended}, and printed nothing.`;
}

/**
 * @param {Pitfall} pitfall
 * @param {'wrong' | 'right'} which
 * @param {{signal?: AbortSignal, onLine?: (line: {stream: 'stdout' | 'stderr', line: string}) => void}} [control]
 * @returns {Promise<Observed>}
 */
async function observe(pitfall, which, control) {
  const { program, args, limitSeconds = LIMIT_SECONDS } = pitfall[which];
  const { folder } = pitfall;
  const outcome = await runConfined({ folder, program, args, limitMs: 1000 * limitSeconds }, control);
  const end = endOf(outcome);
  const promised = pitfall.wrong.fails === 'exit' ? 'exit 1' : pitfall.wrong.fails;
  const failed = which === 'wrong' ? end === promised : end !== 'exit 0' || outcome.left > 0;
  const text = describe(outcome, limitSeconds);
  const unexpected = which === 'wrong' && !failed;
  return {
    program,
    failed,
    end,
    text: unexpected ? `It did not fail here as expected (${promised}). ${text}` : text,
    lines: outcome.lines,
    figures: outcome.figures,
    processes: outcome.processes,
    left: outcome.left,
    ms: outcome.ms,
  };
}

/**
 * The system calls of the wrong program, run once more: with less to do if they would be too many.
 * @param {Pitfall} pitfall
 * @param {AbortSignal} [signal]
 */
async function recordWrong(pitfall, signal) {
  const { folder, wrong } = pitfall;
  if (wrong.notRecorded) return { recording: null, notRecorded: wrong.notRecorded };
  const what = { folder, program: wrong.program, args: wrong.recorded?.args ?? wrong.args ?? [] };
  const { recording = null, notRecorded = null } = await recordBeside(what, { signal });
  return { recording, notRecorded, ...firstShown(pitfall, recording) };
}

/** The source of both programs. @param {Pitfall} pitfall */
function sourcesOf({ folder, wrong, right }) {
  const read = (/** @type {string} */ program) => readFileSync(join(folder, program), 'utf8');
  return { wrong: read(wrong.program), right: read(right.program) };
}

/**
 * Runs both programs, one after the other: side by side they would share the cores, and some of them measure.
 * @param {Pitfall} pitfall
 * @param {{signal?: AbortSignal, onLine?: (which: 'wrong' | 'right', line: {stream: 'stdout' | 'stderr', line: string}) => void,
 *   onObserved?: (which: 'wrong' | 'right', observed: Observed) => void}} [control]
 */
async function runPitfall(pitfall, { signal, onLine, onObserved } = {}) {
  const startedAt = new Date().toISOString();
  const one = async (/** @type {'wrong' | 'right'} */ which) => {
    const observed = await observe(pitfall, which, { signal, onLine: (line) => onLine?.(which, line) });
    onObserved?.(which, observed);
    return observed;
  };
  const wrong = await one('wrong');
  const right = await one('right');
  const recorded = await recordWrong(pitfall, signal);
  const { cpu, cores, architecture, kernel, virtualization, compiler, node } = await describeEnvironment({
    cores: null,
    pin: false,
    signal,
  });
  return {
    schema: 'crossings/pitfall/1',
    startedAt,
    tool: { version },
    environment: { cpu, cores, architecture, kernel, virtualization, compiler, node },
    name: pitfall.name,
    title: pitfall.title,
    lesson: pitfall.lesson,
    fails: pitfall.wrong.fails,
    wrong,
    right,
    sources: sourcesOf(pitfall),
    ...recorded,
    verdict: /** @type {'shown' | 'not shown'} */ (wrong.failed && !right.failed ? 'shown' : 'not shown'),
  };
}

/** The event of a recording that the page shows first, if the pitfall names one. @param {Pitfall} pitfall @param {import('./recorded.js').ProgramTrace | null} recording */
function firstShown({ wrong: { recorded } }, recording) {
  return recording && recorded?.moment ? { event: momentOf(recorded.moment, recording) } : {};
}

/** The run that ships with a pitfall, without its sources; null if there is none. @param {Pitfall} pitfall @returns {Omit<PitfallFile, 'sources'> | null} */
function shippedRun(pitfall) {
  const path = join(pitfall.folder, 'shipped.json');
  if (!existsSync(path)) return null;
  const run = JSON.parse(readFileSync(path, 'utf8'));
  return { ...run, ...firstShown(pitfall, run.recording) };
}

/** All pitfalls, in the order of their groups, and a sentence for each folder that is invalid. */
function listAll() {
  return {
    schema: 'crossings/pitfalls/1',
    groups: GROUPS,
    pitfalls: listPitfalls().map(({ name, title, lesson, group, wrong: { fails } }) => ({
      name,
      title,
      lesson,
      group,
      fails,
    })),
    problems: problemsOf('pitfall'),
  };
}

module.exports = { listAll, observe, runPitfall, shippedRun, sourcesOf };
