'use strict';
// Runs all proofs and controls, one after the other, and draws the conclusion.
const { beginRun } = require('../../measure/run.js');
const { listProofs, runInC } = require('./c-proofs.js');
const { disassemble } = require('./disassembly.js');
const { held } = require('./proof.js');
const { proveSentences } = require('./sentences.js');

/** @type {Record<'quick' | 'standard' | 'thorough', {messages: number, limitMs: number, expectedMs: number}>} */
const EFFORTS = {
  quick: { messages: 1_000_000, limitMs: 2000, expectedMs: 15_000 },
  standard: { messages: 10_000_000, limitMs: 10_000, expectedMs: 40_000 },
  thorough: { messages: 100_000_000, limitMs: 30_000, expectedMs: 150_000 },
};

/** @typedef {import('./proof.js').Proof} Proof */

/** @param {Proof[]} proofs @param {string[]} violations of the disassembly */
function verdictOf(proofs, violations) {
  const wasRun = proofs.filter(({ survived }) => survived !== null);
  if (violations.length > 0 || wasRun.some((proof) => !held(proof))) return 'failed';
  const unproved = !wasRun.some(({ kind }) => kind === 'proof');
  const uncontrolled = proofs.some(({ kind, survived }) => kind === 'control' && survived === null);
  if (unproved || uncontrolled) return 'unknown';
  return wasRun.length === proofs.length ? 'held' : 'partly';
}

/**
 * @param {import('../command.js').ExperimentOptions & {messages?: number, program?: string}} options
 * @param {import('../command.js').ExperimentControl} [control]
 */
async function runProve(options, control = {}) {
  // Loaded on demand: it loads the addon, which the page and most commands do not need.
  const { NODE_PROOFS, runInNode } = require('./node/proofs.js');
  const { signal, onPartial } = control;
  const { limitMs, expectedMs, ...effort } = EFFORTS[options.effort];
  const messages = options.messages ?? effort.messages;
  const program = options.program ?? 'crossings-prove';
  const run = await beginRun(options, expectedMs, control, 'crossings/prove/1');
  const cores = run.environment.pinnedCores;
  const oneCore = cores ? cores[0] === cores[1] : run.environment.cores === 1;
  /** @type {Proof[]} */
  const proofs = [];
  const disassembly = await disassemble(program, signal);
  const violations = disassembly.violations ?? [];
  /** @param {string[]} sentences @param {ReturnType<typeof verdictOf>} verdict */
  const fileOf = (sentences, verdict) =>
    run.file({ effort: options.effort, messages, limitMs }, { proofs, disassembly, sentences, verdict });
  /** @param {Proof} proof */
  const add = (proof) => {
    proofs.push(proof);
    onPartial?.(fileOf([], 'unknown'));
  };

  for (const what of await listProofs(program, signal)) {
    run.report(what.title);
    const onProgress = () => run.report(what.title);
    add(await runInC(what, { messages, limitMs, placement: run.placement, oneCore, program, signal, onProgress }));
  }
  for (const what of NODE_PROOFS) {
    run.report(what.title);
    add(await runInNode(what, { messages, limitMs, cores, oneCore, signal }));
  }
  run.end();
  const verdict = verdictOf(proofs, violations);
  return fileOf(proveSentences({ proofs, disassembly, messages }), verdict);
}

module.exports = { runProve, verdictOf };
