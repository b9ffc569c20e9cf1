'use strict';
// A lesson as the page and the terminal show it: its texts as HTML, its programs with the lines that matter, and its runs, each
// with the text that its figures fill in.
const { existsSync, readFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { describeEnvironment } = require('../measure/environment.js');
const { runConfined } = require('./confined.js');
const { runExperimentOf } = require('./experiment.js');
const { isFigure } = require('./figures.js');
const { listLessons, listPitfalls, problemsOf } = require('./folders.js');
const { fill, rightAnswer } = require('./outcomes.js');
const { recordBeside, runRecorded } = require('./recorded.js');
const { hangOf, shownRecording, troubleOf } = require('./shown.js');
const { explainTerms, idOf, readGlossary, sectionsOf, toHtml, toInlineHtml, worksheetOf } = require('./text.js');

/** @typedef {import('./folders.js').Lesson} Lesson */
/** @typedef {import('./folders.js').Try} Try */
/** @typedef {import('./confined.js').Outcome} Outcome */
/**
 * @typedef {{kind: 'measure' | 'record', program: string, args: string[], hangs: boolean, recorded?: import('./folders.js').Recorded} |
 *   {kind: 'experiment', experiment: string, choices: Record<string, string>}} Work
 */

/**
 * A run of a lesson, as shipped.json holds several.
 * @typedef {object} LessonRun
 * @property {number | null} try which of the lesson's tries; null: the lesson's own run
 * @property {string} recordedAt
 * @property {{cpu: string, cores: number, architecture: string, kernel: string, virtualization: string}} environment
 * @property {Outcome} outcome
 */

const root = join(__dirname, '..', '..');
const SECTIONS = ['predict', 'run', 'see', 'why', 'try'];

/** @param {Lesson} lesson */
const numberOf = ({ name }) => Number(name.slice(0, 2));

/** What the list shows. @param {Lesson} lesson */
const line = (lesson) => ({
  name: lesson.name,
  number: numberOf(lesson),
  title: lesson.title,
  minutes: lesson.minutes,
});

const listLines = () => listLessons().map(line);

/** All lessons, and a sentence for each folder that is invalid. */
const listAll = () => ({ lessons: listLines(), problems: problemsOf('lesson') });

/** What a run of the lesson does. @param {Lesson} lesson @param {number | null} which @returns {Work} */
function workOf({ run, try: tries = [] }, which) {
  const {
    program,
    args,
    choices,
    recorded,
    hangs = false,
  } = which === null ? /** @type {Omit<Try, 'label'>} */ (run) : tries[which];
  if (run.kind === 'experiment' && !program)
    return { kind: 'experiment', experiment: run.experiment, choices: { ...run.choices, ...choices } };
  const kind = run.kind === 'record' || hangs ? 'record' : 'measure';
  const own = run.kind === 'experiment' ? '' : run.program;
  return { kind, program: program ?? own, args: args ?? [], hangs, recorded };
}

/** @typedef {{signal?: AbortSignal, onProgress?: import('./experiment.js').OnProgress}} LessonControl */

/** @param {Lesson} lesson @param {number | null} which @param {LessonControl} control @returns {Promise<Outcome>} */
async function perform(lesson, which, control) {
  const work = workOf(lesson, which);
  if (work.kind === 'experiment') return runExperimentOf(work, control);
  const what = { folder: lesson.folder, program: work.program, args: work.args, hangs: work.hangs };
  if (work.kind === 'record') return runRecorded(what, control);
  const { signal, onProgress } = control;
  if (!work.recorded) return runConfined(what, { signal });
  onProgress?.({ doing: 'measuring', fraction: null });
  const outcome = await runConfined(what, { signal });
  onProgress?.({ doing: 'recording the system calls', fraction: null });
  return { ...outcome, ...(await recordBeside({ ...what, args: work.recorded.args }, { signal })) };
}

/** The same run in a terminal. @param {Lesson} lesson @param {number | null} which */
const terminalOf = (lesson, which) =>
  `npx crossings-lab lesson ${String(numberOf(lesson))}${which === null ? '' : ` --try ${which + 1}`}`;

/**
 * Runs a lesson's program here and now.
 * @param {Lesson} lesson
 * @param {number | null} which
 * @param {LessonControl} [control]
 * @returns {Promise<LessonRun>}
 */
async function runLesson(lesson, which, { signal, onProgress } = {}) {
  const recordedAt = new Date().toISOString();
  const outcome = await perform(lesson, which, { signal, onProgress });
  const { cpu, cores, architecture, kernel, virtualization } = await describeEnvironment({
    cores: null,
    pin: false,
    signal,
  });
  return { try: which, recordedAt, environment: { cpu, cores, architecture, kernel, virtualization }, outcome };
}

/** The runs that ship with the lesson. @param {Lesson} lesson @returns {LessonRun[]} */
function shippedRuns({ folder }) {
  const path = join(folder, 'shipped.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).runs : [];
}

/** Each section as HTML, with the terms explained where they first stand. @param {Lesson} lesson @param {Record<string, string>} texts in Markdown @param {Set<string>} [terms] are removed when explained */
function render(lesson, texts, terms = new Set(lesson.terms)) {
  return Object.fromEntries(SECTIONS.map((name) => [name, explainTerms(toHtml(texts[name] ?? ''), terms)]));
}

/**
 * What the page shows of a run.
 * @param {Lesson} lesson
 * @param {LessonRun} run
 * @param {'here' | 'shipped'} origin
 */
function presentRun(lesson, run, origin) {
  const { outcome, recordedAt, environment } = run;
  const sections = sectionsOf(lesson.text);
  const trouble = troubleOf(lesson, run);
  const isFirst = run.try === null;
  const note = isFirst ? '' : (lesson.try?.[run.try ?? 0].note ?? '');
  const terms = new Set(lesson.terms);
  if (note) render(lesson, sections, terms); // what the sections have explained, a note does not
  return {
    origin,
    try: run.try,
    recordedAt,
    environment,
    terminal: terminalOf(lesson, run.try),
    figures: outcome.figures,
    moments: outcome.moments ?? [],
    ...shownRecording(lesson, run, origin, shippedRuns(lesson)),
    hang: hangOf(lesson, run),
    output: outcome.lines.map(({ line: text }) => text).filter((text) => !isFigure(text)),
    confinement: outcome.confinement,
    seconds: outcome.ms / 1000,
    trouble,
    right: isFirst && !trouble ? rightAnswer(lesson.question.answers, outcome.figures) : null,
    why:
      isFirst && !trouble ? render(lesson, { ...sections, why: fill(sections.why ?? '', outcome.figures) }).why : null,
    note: note && !trouble ? explainTerms(toHtml(fill(note, outcome.figures)), terms) : null,
  };
}

/** A program, and the numbers of its lines that matter. @param {Lesson} lesson @param {string} file */
function sourceOf(lesson, file) {
  const path = join(lesson.folder, file);
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  const lit = (lesson.source?.[file] ?? []).flatMap((part) => {
    const found = lines.flatMap((content, i) => (content.includes(part) ? [i + 1] : []));
    if (found.length > 0) return found;
    throw new CrossingsError(
      'ERR_LESSON',
      `${relative(root, path)} has no line with "${part}", although lesson.json names it.`,
    );
  });
  return { file, path: relative(root, path), text, lit: lit.sort((x, y) => x - y) };
}

/** The pitfalls that belong to a lesson: those it names, in that order, and those that name it. @param {Lesson} lesson */
function pitfallsOf({ name, pitfalls: wanted = [] }) {
  const own = listPitfalls().filter(
    (pitfall) => wanted.includes(pitfall.name) || pitfall.lesson.slice(0, 2) === name.slice(0, 2),
  );
  const place = (/** @type {{name: string}} */ pitfall) =>
    wanted.includes(pitfall.name) ? wanted.indexOf(pitfall.name) : wanted.length;
  return own.sort((x, y) => place(x) - place(y)).map((pitfall) => ({ name: pitfall.name, title: pitfall.title }));
}

/** Everything that the page shows before a run. @param {Lesson} lesson */
function describeLesson(lesson) {
  const all = listLines();
  const at = all.findIndex(({ name }) => name === lesson.name);
  const sections = sectionsOf(lesson.text);
  const { why: _, ...before } = render(lesson, sections);
  const glossary = readGlossary();
  return {
    ...line(lesson),
    count: all.length,
    question: {
      text: toInlineHtml(lesson.question.text),
      answers: lesson.question.answers.map(({ text }) => toInlineHtml(text)),
    },
    sections: before,
    worksheet: worksheetOf(sections.worksheet ?? ''),
    kind: lesson.run.kind,
    see: lesson.see ?? null,
    terminal: terminalOf(lesson, null),
    tries: (lesson.try ?? []).map(({ label }, i) => ({ label, terminal: terminalOf(lesson, i) })),
    sources: lesson.programs.map((file) => sourceOf(lesson, file)),
    pitfalls: pitfallsOf(lesson),
    terms: (lesson.terms ?? []).map((term) => ({ term, id: idOf(term), text: glossary.get(term.toLowerCase()) ?? '' })),
    shipped: shippedRuns(lesson).map((run) => presentRun(lesson, run, 'shipped')),
    previous: all[at - 1] ?? null,
    next: all[at + 1] ?? null,
  };
}

/** Every term of the glossary, in alphabetical order, with the lessons that explain it. */
function describeGlossary() {
  const lessons = listLessons();
  const entries = [...readGlossary()].sort(([a], [b]) => a.localeCompare(b, 'en'));
  return entries.map(([term, text]) => ({
    term: lessons.flatMap(({ terms = [] }) => terms).find((name) => name.toLowerCase() === term) ?? term,
    id: idOf(term),
    text,
    lessons: lessons.filter(({ terms = [] }) => terms.some((name) => name.toLowerCase() === term)).map(line),
  }));
}

module.exports = { describeGlossary, describeLesson, listAll, listLines, presentRun, runLesson, shippedRuns };
