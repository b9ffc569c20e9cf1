'use strict';
// What `crossings bench --self-test` prints, and the status it ends with.
const { CrossingsError } = require('../../channel/errors.js');
const { writeOutput } = require('../../terminal/files.js');
const { progressBar } = require('../../terminal/progress.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { list } = require('../compare/sentences.js');
const { runSelfTest } = require('./run.js');
const { renderSelfTest } = require('./sentences.js');

const WIDTH = 100; // columns of prose
const DEFAULT_MECHANISMS = ['ring', 'pipe']; // one that spins and one that sleeps in the kernel

/**
 * @param {import('../runner.js').BenchOptions & {pairs?: number}} options
 * @param {{json?: string, signal: AbortSignal}} control
 */
async function selfTest(options, { json, signal }) {
  const bar = progressBar();
  const file = await runSelfTest(options, { signal, onProgress: bar.update }).finally(() => bar.stop());
  const style = styleFor(process.stdout);
  const paragraphs = [
    renderSelfTest(file, style),
    file.sentences.map((sentence) => wrap(sentence, WIDTH, '  ')).join('\n'),
    file.environment.warnings.map((warning) => style.bad(wrap(`! ${warning}`, WIDTH, '  '))).join('\n'),
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
  if (json) {
    await writeOutput(json, `${JSON.stringify(file, null, 2)}\n`, signal);
    process.stdout.write(style.dim(`Wrote ${json}.\n`));
  }
  if (file.missed.length > 0) throw new CrossingsError('ERR_SELF_TEST', `Missed: ${list(file.missed)}`);
}

module.exports = { DEFAULT_MECHANISMS, selfTest };
