'use strict';
// `crossings compare`: two runs, or several on each side, with a verdict for each mechanism.
const { Command } = require('commander');
const { readPercent, refuse } = require('../../terminal/arguments.js');
const { checkWritable, writeOutput } = require('../../terminal/files.js');
const { styleFor } = require('../../terminal/style.js');
const { readRuns } = require('./read.js');
const { compareRuns } = require('./runs.js');
const { printComparison } = require('./table.js');

/** @typedef {import('../runner.js').Run} Run */

/** The mechanisms to compare, each of which both sides must have. @param {string | undefined} text @param {Run[][]} sides */
function chosenFrom(text, sides) {
  const [a, b] = sides.map((runs) => runs.flatMap(({ results }) => results.map(({ mechanism }) => mechanism)));
  const shared = [...new Set(a)].filter((mechanism) => b.includes(mechanism));
  if (shared.length === 0) refuse('The baseline and the candidate have no mechanism in common.');
  if (text === undefined) return undefined;
  const wanted = text.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!shared.includes(name))
      refuse(`--mechanism must be a comma-separated list of ${shared.join(', ')}; got "${name}".`);
  }
  return wanted;
}

/**
 * @param {string} baseline comma-separated paths
 * @param {string} candidate
 * @param {{json?: string, noise?: number, mechanism?: string}} options
 */
async function compare(baseline, candidate, options) {
  if (options.json !== undefined) checkWritable('--json', options.json);
  const [a, b] = [readRuns(baseline, 'The baseline'), readRuns(candidate, 'The candidate')];
  const mechanisms = chosenFrom(options.mechanism, [a, b]);
  const comparison = compareRuns(a, b, { noise: options.noise, mechanisms });
  printComparison(comparison);
  if (!options.json) return;
  await writeOutput(options.json, `${JSON.stringify(comparison, null, 2)}\n`);
  process.stdout.write(styleFor(process.stdout).dim(`Wrote ${options.json}.\n`));
}

function compareCommand() {
  return new Command('compare')
    .description('compare two runs, with a verdict for each mechanism')
    .argument('<baseline>', 'a file written by bench --json, or several, comma-separated')
    .argument('<candidate>', 'the run to compare with the baseline; a file or several, comma-separated')
    .option('--mechanism <names>', 'only these, comma-separated (default: all that both runs include)')
    .option('--noise <percent>', 'ignore differences up to this, such as 5% (default: chosen and printed)', (text) =>
      readPercent('--noise', text),
    )
    .option('--json <file>', 'write the comparison as JSON')
    .allowExcessArguments(false)
    .action(compare);
}

module.exports = { compareCommand };
