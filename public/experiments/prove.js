// The proofs: which loops survived a filter that kills at any system call, and which controls it killed, as it must.
import { h } from '../shared/dom.js';
import { counted } from '../shared/format.js';
import { makeDisassembly } from './disassembly.js';
import { makeTable } from './figure.js';

/**
 * @typedef {object} Proof
 * @property {string} title
 * @property {'proof' | 'control'} kind a control must be killed
 * @property {string | null} wanted the system call that must kill a control
 * @property {number} messages
 * @property {boolean | null} survived null: it could not be run
 * @property {string} [killedBy]
 * @property {boolean} filterInForce
 * @property {string[]} allowed
 * @property {{messages: number, killedBy: string}} [strict] the same under the filter that permits the report and the exit only
 * @property {Record<string, number>} [counted] the permitted calls that it made
 * @property {string} [reason] why it could not be run
 */
/** @typedef {ExperimentFile & {proofs: Proof[], disassembly?: import('./disassembly.js').Disassembly}} ProveFile */

const REPORT_AND_EXIT = 2; // system calls that every filter permits

/** @param {Proof} proof */
function outcomeOf({ survived, killedBy }) {
  if (survived === null) return '– not run';
  return survived ? '✓ survived' : `✗ killed${killedBy ? ` at ${killedBy}` : ''}`;
}

/** What follows from the outcome. @param {Proof} proof */
function meaningOf({ kind, survived, killedBy, wanted, filterInForce, allowed, strict, reason, counted: counts = {} }) {
  if (survived === null) return reason ?? '–';
  if (kind === 'control') return !survived && killedBy === wanted ? 'The filter works.' : 'The filter does not work.';
  if (!survived) return 'It made a system call.';
  if (!filterInForce) return 'Nothing is proved: the filter was not in force.';
  if (allowed.length <= REPORT_AND_EXIT) return 'It made no system call.';
  const early = strict
    ? ` Without this permission, it was killed at ${strict.killedBy} after ${counted(strict.messages, 'message')}.`
    : '';
  const calls = Object.values(counts).reduce((sum, made) => sum + made, 0);
  return `Its event loop made ${counted(calls, 'system call')}, which were permitted.${early}`;
}

/** @type {View} */
export const prove = {
  build(area) {
    const proofs = makeTable('Proofs and controls', ['loop', 'kind', 'messages', 'outcome', 'conclusion']);
    proofs.element.classList.add('words', 'prose-last');
    const disassembly = makeDisassembly();
    const how =
      'Each loop runs between two processes under a seccomp filter: the kernel kills a process at any system call that the filter does not permit. A proof must survive. A control makes a system call and must be killed, or nothing is proved.';
    area.append(
      h('section', {}, h('h3', {}, 'Proofs and controls'), h('p', { class: 'how' }, how), proofs.element),
      disassembly.element,
    );
    return (/** @type {ProveFile} */ file) => {
      const rows = file.proofs.map((proof) => [
        proof.title,
        proof.kind,
        proof.messages.toLocaleString('en-US'),
        outcomeOf(proof),
        meaningOf(proof),
      ]);
      proofs.show(rows);
      disassembly.show(file.disassembly);
    };
  },
};
