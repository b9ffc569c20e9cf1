'use strict';
// `crossings lesson [NAME]`: plays a lesson in the terminal: the question, the run, the answer. Without a name, lists the lessons.
const { once } = require('node:events');
const { createInterface } = require('node:readline');
const { Command } = require('commander');
const { readWholeNumber, refuse } = require('../terminal/arguments.js');
const { checkAllWritable, givenFiles, writeOutput } = require('../terminal/files.js');
const { progressBar } = require('../terminal/progress.js');
const { styleFor, wrap } = require('../terminal/style.js');
const { plainTable } = require('../terminal/table.js');
const { figureText, isFigure } = require('./figures.js');
const { findLesson, listLessons, problemsOf } = require('./folders.js');
const { presentRun, runLesson } = require('./lesson.js');
const { fill, rightAnswer } = require('./outcomes.js');
const { sectionsOf } = require('./text.js');

const WIDTH = 80; // columns of prose

/** @typedef {import('./folders.js').Lesson} Lesson */

/** @param {string} text */
const write = (text) => process.stdout.write(`${text}\n`);

/** Markdown as a terminal shows it: paragraphs and items of lists without their line breaks, and no marks. @param {string} markdown */
function writeText(markdown) {
  for (const paragraph of markdown.split(/\n{2,}|\n(?=(?:-|\d+\.) )/).filter(Boolean)) {
    const plain = paragraph
      .replace(/\s+/g, ' ')
      .replace(/\*{1,2}(.+?)\*{1,2}/g, '$1')
      .replace(/\[(.+?)\]\(.+?\)/g, '$1')
      .replace(/`/g, '')
      .trim();
    if (plain) write(`${wrap(plain, WIDTH)}\n`);
  }
}

/** @param {{name: string, title: string, minutes: number}[]} lessons */
function list(lessons) {
  const style = styleFor(process.stdout);
  const rows = lessons.map(({ name, title, minutes }) => [`${name.slice(0, 2)}  ${title}`, `${minutes} min`]);
  write(`\n${plainTable(null, ['lesson', 'takes'], rows, style)}\n\nPlay one: npx crossings-lab lesson 1\n`);
  for (const problem of problemsOf('lesson')) write(`${style.bad(wrap(problem, WIDTH))}\n`);
}

/** Asks for a guess; null: none. Only a person at a terminal is asked. @param {Lesson} lesson @param {AbortSignal} signal */
async function ask({ question }, signal) {
  writeText(question.text);
  question.answers.forEach(({ text }, i) => {
    write(`  ${i + 1}  ${wrap(text.replace(/`/g, ''), WIDTH - 5, '     ')}`);
  });
  write('');
  if (!process.stdin.isTTY || !process.stdout.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // Readline takes Ctrl-C for itself; it must end the command, as everywhere.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const count = question.answers.length;
  try {
    lines.setPrompt(`Your guess (1 to ${count}; Enter: none): `);
    for (;;) {
      lines.prompt();
      const [line] = await Promise.race([
        once(lines, 'line', { signal }),
        once(lines, 'close', { signal }).then(() => ['']),
      ]);
      const text = line.trim();
      const guess = Number(text);
      if (text === '') return null;
      if (Number.isInteger(guess) && guess >= 1 && guess <= count) return guess - 1;
      write(`The guess must be a number from 1 to ${count}; got "${text.slice(0, 40)}".`);
    }
  } finally {
    lines.close();
    write('');
  }
}

/**
 * The figures that have a label, or all if none has, as on the page.
 * @param {import('./lesson.js').LessonRun} run
 * @param {Record<string, string>} [labels]
 */
function writeRun({ outcome }, labels = {}) {
  const style = styleFor(process.stdout);
  for (const { line } of outcome.lines) if (!isFigure(line)) write(style.dim(`  ${line}`));
  const all = Object.entries(outcome.figures);
  const named = all.filter(([name]) => name in labels);
  const rows = (named.length > 0 ? named : all).map(([name, { value, unit }]) => [
    labels[name] ?? name,
    figureText(value),
    unit,
  ]);
  if (rows.length > 0) write(`\n${plainTable(null, ['figure', 'value', 'unit'], rows, style)}\n`);
  if (outcome.notRecorded) write(`${wrap(outcome.notRecorded, WIDTH)}\n`);
  const { namespaces, refused } = outcome.confinement ?? { namespaces: null, refused: null };
  if (!outcome.confinement) return;
  const why = refused ? ` (${refused})` : '';
  const where = namespaces ? `in its own namespaces (${namespaces})` : `without its own namespaces${why}`;
  write(`${style.dim(wrap(`The program ran with limits, ${where}.`, WIDTH))}\n`);
}

/**
 * @param {string | undefined} name
 * @param {{try?: number, json?: string, ship?: boolean}} options
 * @param {AbortSignal} signal
 */
async function play(name, options, signal) {
  if (name === undefined) {
    const [unused] = Object.keys(options);
    if (unused) refuse(`--${unused} requires a lesson; see \`npx crossings-lab lesson\` for the list.`);
    return list(listLessons());
  }
  const lesson = findLesson(name);
  const { try: wanted } = options;
  const tries = lesson.try ?? [];
  if (wanted !== undefined && wanted > tries.length) {
    refuse(`--try must be a number from 1 to ${tries.length}; got "${wanted}".`);
  }
  checkAllWritable(givenFiles(options, ['json']));
  const style = styleFor(process.stdout);
  const sections = sectionsOf(lesson.text);
  const which = wanted === undefined ? null : wanted - 1;
  write(`\n${style.bold(which === null ? lesson.title : tries[which].label)}\n`);
  if (which === null) writeText(sections.predict ?? '');
  const guess = which === null ? await ask(lesson, signal) : null;
  if (which === null) writeText(sections.run ?? '');
  const bar = progressBar();
  /** @type {import('./experiment.js').OnProgress} */
  const onProgress = ({ doing, fraction }) => bar.update({ doing, fraction: fraction ?? 0 });
  const run = await runLesson(lesson, which, { signal, onProgress }).finally(() => bar.stop());
  writeRun(run, lesson.see?.labels);
  const { trouble, hang } = presentRun(lesson, run, 'here');
  if (hang) write(`${wrap(hang, WIDTH)}\n`);
  const { figures } = run.outcome;
  if (trouble) write(`${style.bad(wrap(trouble, WIDTH))}\n`);
  else if (which === null) {
    const right = rightAnswer(lesson.question.answers, figures);
    if (right !== null) {
      const held =
        guess === null ? 'The figures say' : guess === right ? 'Your guess was right' : 'The figures say otherwise';
      write(`${style.bold(wrap(`${held}: ${lesson.question.answers[right].text}.`, WIDTH))}\n`);
    }
    writeText(fill(sections.why ?? '', figures));
    tries.forEach(({ label }, i) => {
      write(`  npx crossings-lab lesson ${Number(lesson.name.slice(0, 2))} --try ${i + 1}   ${style.dim(label)}`);
    });
    write('');
  } else writeText(fill(tries[which].note ?? '', figures));
  if (!options.json) return;
  const file = { schema: 'crossings/lesson/1', name: lesson.name, ...run };
  await writeOutput(options.json, `${JSON.stringify(file, null, 2)}\n`, signal);
  write(style.dim(`Wrote ${options.json}.`));
}

/** @param {AbortSignal} signal */
function lessonCommand(signal) {
  return new Command('lesson')
    .description('take a lesson: answer a question, run a program on this machine, and see what its figures show')
    .argument('[lesson]', 'number or name of the lesson; omit it to list the lessons')
    .option('--try <number>', 'run one of the changes that the lesson suggests', (text) =>
      readWholeNumber('--try', text, [1, 99]),
    )
    .option('--json <file>', 'write the run as JSON')
    .allowExcessArguments(false)
    .action((name, options) => play(name, options, signal));
}

module.exports = { lessonCommand };
