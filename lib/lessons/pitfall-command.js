'use strict';
// `crossings pitfall NAME`: runs the wrong and the right program of a pitfall, and prints what was observed, the lines in which
// they differ, and why. `crossings pitfall --list` prints the names.
const { Command } = require('commander');
const { CrossingsError } = require('../channel/errors.js');
const { checkWritable, writeOutput } = require('../terminal/files.js');
const { styleFor, wrap } = require('../terminal/style.js');
const { compareLines, groupDifferences } = require('./differences.js');
const { isFigure } = require('./figures.js');
const { findPitfall } = require('./folders.js');
const { listAll, runPitfall } = require('./pitfalls.js');

const WIDTH = 100; // columns of prose
const CONTEXT = 2; // lines around a difference

/** @typedef {import('../terminal/style.js').Style} Style */
/** @typedef {import('./pitfalls.js').PitfallFile} PitfallFile */

/** Markdown as plain text: headings in bold, paragraphs wrapped. @param {string} text @param {Style} style */
function renderText(text, style) {
  const paragraphs = text.trim().split(/\n\n+/);
  const render = (/** @type {string} */ paragraph) =>
    paragraph.startsWith('## ')
      ? style.bold(paragraph.slice(3))
      : wrap(paragraph.replace(/\s+/g, ' ').replace(/\*\*|`/g, ''), WIDTH);
  return paragraphs.map((paragraph) => render(paragraph)).join('\n\n');
}

/** @param {import('./pitfalls.js').Observed} observed @param {boolean} expected @param {Style} style */
function renderObserved({ program, text, lines, figures, left }, expected, style) {
  const paint = expected ? style.good : style.bad;
  const figureLines = Object.entries(figures).map(([name, { value, unit }]) => `    ${name} = ${value} ${unit}`);
  return [
    `${style.bold(program)}: ${paint(wrap(text, WIDTH, '    '))}`,
    ...lines.filter(({ line }) => !isFigure(line)).map(({ line }) => style.dim(`    ${line}`)),
    ...figureLines.map((line) => style.dim(line.trimEnd())),
    ...(left > 0 ? [style.bad(`    It left ${left} processes behind, which were killed.`)] : []),
  ].join('\n');
}

/** @param {PitfallFile['sources']} sources @param {Style} style */
function renderDifferences({ wrong, right }, style) {
  const paint = { '-': style.bad, '+': style.good, ' ': style.dim };
  const groups = groupDifferences(compareLines(wrong, right), CONTEXT).map((group) =>
    group.map(({ mark, text }) => paint[mark](`${mark} ${text}`.trimEnd())).join('\n'),
  );
  return groups.join(`\n${style.dim('  ...')}\n`);
}

/** @param {PitfallFile} file @param {string} text @param {Style} style */
function render({ title, wrong, right, sources, verdict, recording }, text, style) {
  const sentence =
    verdict === 'shown'
      ? 'The wrong program failed, and the right one did not.'
      : wrong.failed
        ? 'Both programs failed.'
        : 'The wrong program did not fail here.';
  return [
    style.bold(title),
    renderObserved(wrong, wrong.failed, style),
    ...(recording?.stuck ? [wrap(recording.stuck.text, WIDTH)] : []),
    renderObserved(right, !right.failed, style),
    `${style.bold('The difference')} (-: ${wrong.program}, +: ${right.program})`,
    renderDifferences(sources, style),
    renderText(text, style),
    verdict === 'shown' ? style.good(sentence) : style.bad(sentence),
  ].join('\n\n');
}

/** @param {ReturnType<typeof listAll>} all @param {Style} style */
function renderList({ groups, pitfalls, problems }, style) {
  const width = Math.max(...pitfalls.map(({ name }) => name.length));
  const each = groups.map((group) => [
    style.bold(group.title),
    ...pitfalls
      .filter((pitfall) => pitfall.group === group.name)
      .map(({ name, title }) => `  ${name.padEnd(width)}  ${style.dim(title)}`),
  ]);
  return [...each, problems.map((problem) => style.bad(wrap(problem, WIDTH)))]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** @param {string | undefined} json @param {unknown} content @param {Style} style @param {AbortSignal} signal */
async function writeJson(json, content, style, signal) {
  if (json === undefined) return;
  await writeOutput(json, `${JSON.stringify(content, null, 2)}\n`, signal);
  process.stdout.write(style.dim(`Wrote ${json}.\n`));
}

/** @param {string | undefined} name @param {{list?: boolean, json?: string}} options @param {AbortSignal} signal */
async function pitfall(name, { list, json }, signal) {
  if (json !== undefined) checkWritable('--json', json);
  const style = styleFor(process.stdout);
  if (list) {
    if (name !== undefined) {
      throw new CrossingsError('ERR_USAGE', `--list does not accept a name; got "${name}".`);
    }
    const all = listAll();
    process.stdout.write(`\n${renderList(all, style)}\n\n`);
    return writeJson(json, all, style, signal);
  }
  if (name === undefined) {
    throw new CrossingsError(
      'ERR_USAGE',
      'The name of the pitfall is missing; see `npx crossings-lab pitfall --list`.',
    );
  }
  const found = findPitfall(name);
  const file = await runPitfall(found, { signal });
  process.stdout.write(`\n${render(file, found.text, style)}\n\n`);
  await writeJson(json, file, style, signal);
  if (file.verdict !== 'shown') process.exitCode = 1;
}

/** @param {AbortSignal} signal */
function pitfallCommand(signal) {
  return new Command('pitfall')
    .description('run a program that goes wrong and one that does not, and explain what happened')
    .argument('[name]', 'name of a pitfall, such as end-of-file-never-comes')
    .option('--list', 'print the names of all pitfalls')
    .option('--json <file>', 'write the result as JSON (with --list: the names)')
    .allowExcessArguments(false)
    .action((name, options) => pitfall(name, options, signal));
}

module.exports = { pitfallCommand };
