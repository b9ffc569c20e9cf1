'use strict';
// `crossings gates`: tries to write a peer's memory and to pass it wrong frames, and prints what refused each attempt.
const { Command } = require('commander');
const { checkWritable, writeOutput } = require('../../terminal/files.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { plainTable } = require('../../terminal/table.js');
const { tryGates } = require('./gates.js');

const WIDTH = 100; // columns of prose

/** @param {import('./gates.js').Answer} answer */
const shown = ({ error, signal, text }) => error ?? signal ?? text;

/** @param {import('./gates.js').GatesFile} file @param {import('../../terminal/style.js').Style} style */
function render({ gates }, style) {
  const paint = (/** @type {boolean} */ expected, /** @type {string} */ text) =>
    expected ? style.good(text) : style.bad(`${text} (not expected)`);
  return gates
    .map(({ title, refusedBy, attempts }) => {
      const rows = attempts.map((attempt) => [
        attempt.title,
        paint(attempt.answer.refused, shown(attempt.answer)),
        paint(!attempt.control.refused, shown(attempt.control)),
      ]);
      return plainTable(null, [`${title}: refused by ${refusedBy}`, 'answer', 'control'], rows, style);
    })
    .join('\n\n');
}

/** @param {{json?: string}} options @param {AbortSignal} signal */
async function gates({ json }, signal) {
  if (json !== undefined) checkWritable('--json', json);
  const file = await tryGates({ signal });
  const style = styleFor(process.stdout);
  const paragraphs = [
    render(file, style),
    file.sentences.map((sentence) => wrap(sentence, WIDTH)).join('\n'),
    style.dim(
      wrap(
        'Control: the same attempt on memory without seals, or the value that a correct peer stores in the same place. ' +
          `The C of each attempt is in c-bench/gates/. ${file.environment.kernel}.`,
        WIDTH,
      ),
    ),
  ];
  process.stdout.write(`\n${paragraphs.join('\n\n')}\n\n`);
  if (json) {
    await writeOutput(json, `${JSON.stringify(file, null, 2)}\n`, signal);
    process.stdout.write(style.dim(`Wrote ${json}.\n`));
  }
  if (file.verdict !== 'held') process.exitCode = 1;
}

/** @param {AbortSignal} signal */
function gatesCommand(signal) {
  return new Command('gates')
    .description("try to write to a peer's memory and to send it invalid frames; show what prevents each attempt")
    .option('--json <file>', 'write the attempts and their results as JSON')
    .allowExcessArguments(false)
    .action((options) => gates(options, signal));
}

module.exports = { gatesCommand };
