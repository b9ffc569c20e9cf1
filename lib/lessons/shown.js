'use strict';
// What a lesson shows of a run besides its figures: how it ended, why it hangs, and its recording with the event that matters.
const { sentencesOf } = require('./confined.js');

/** @typedef {import('./folders.js').Lesson} Lesson */
/** @typedef {import('./folders.js').Moment} Moment */
/** @typedef {import('./lesson.js').LessonRun} LessonRun */
/** @typedef {import('./recorded.js').ProgramTrace} ProgramTrace */

/** What Node writes of an error that nothing has caught; stack and version come after it. */
const NODE_ERROR = /^\w*Error(?: \[\w+\])?: /;

/** The try whose run this is, or the lesson's own run. @param {Lesson} lesson @param {LessonRun} run */
const partOf = (lesson, { try: which }) =>
  /** @type {Omit<import('./folders.js').Try, 'label'>} */ (which === null ? lesson.run : (lesson.try?.[which] ?? {}));

/** How a program ended, if not as it should. @param {Lesson} lesson @param {LessonRun} run */
function troubleOf(lesson, run) {
  const { how, status, signal, processes, lines, limit, stuck } = run.outcome;
  if (how === 'limit' && partOf(lesson, run).hangs) return null; // as expected
  if (stuck) return stuck;
  if (limit === 'processes') return 'The program was stopped because it had too many processes.';
  if (how === 'limit')
    return ['The program was stopped because it reached its time limit.', ...sentencesOf(processes)].join(' ');
  if (how === 'signal') return `The program was killed by ${signal}.`;
  if (status === 0) return null;
  const errors = lines.filter(({ stream }) => stream === 'stderr');
  const last = errors.find(({ line }) => NODE_ERROR.test(line)) ?? errors.at(-1) ?? lines.at(-1);
  return last?.line ?? `The program exited with status ${status}.`;
}

/** Why a program hangs that is expected to. @param {Lesson} lesson @param {LessonRun} run */
function hangOf(lesson, run) {
  const { how, stuck, processes, recording } = run.outcome;
  const { hangs, recorded } = partOf(lesson, run);
  if (recorded) return recording?.stuck?.text ?? null;
  if (!hangs || how !== 'limit') return null;
  return stuck ?? sentencesOf(processes).join(' ');
}

/** The number of the event that the lesson is about. @param {Moment | undefined} moment @param {ProgramTrace} trace */
function momentOf(moment, { events, sources }) {
  if (!moment) return 0;
  const { call, line: text, sleeps, hangs, fails } = moment;
  /** @param {ProgramTrace['events'][number]} event */
  const isMeant = ({ name, source }) => {
    const line = source && (sources[source.file] ?? '').split('\n')[source.line - 1];
    return name === call && (text === undefined || Boolean(line?.includes(text)));
  };
  const exact = events.findIndex(
    (event) =>
      isMeant(event) &&
      (!sleeps || event.sleeps > 0) &&
      (!hangs || event.end === null) &&
      (!fails || event.result.startsWith('-1 ')),
  );
  return Math.max(exact < 0 ? events.findIndex(isMeant) : exact, 0);
}

/**
 * The recording that the page shows of a run, and its event that matters. Where none was made, it is the one that ships.
 * @param {Lesson} lesson
 * @param {LessonRun} run
 * @param {'here' | 'shipped'} origin
 * @param {LessonRun[]} ships
 */
function shownRecording(lesson, run, origin, ships) {
  const { recording, notRecorded = null } = run.outcome;
  const shipped = notRecorded ? ships.find((other) => other.try === run.try)?.outcome.recording : undefined;
  const trace = recording ?? shipped ?? null;
  const { recorded, moment } = partOf(lesson, run);
  const event = trace && momentOf(recorded?.moment ?? moment ?? lesson.see?.moment, trace);
  const found = trace && { trace, event, origin: shipped ? 'shipped' : origin, beside: recorded !== undefined };
  return { recording: found, notRecorded };
}

module.exports = { hangOf, momentOf, shownRecording, troubleOf };
