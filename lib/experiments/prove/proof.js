'use strict';
// What every proof is made of, in C and in Node: how its two processes ended, and what follows from it.

const { CrossingsError } = require('../../channel/errors.js');

/**
 * How one process ended. 'survived': it exchanged all messages, reported, and was then killed at the forbidden call that it
 * made on purpose. 'unguarded': it lived on after that call, so the filter was not in force. 'stopped': by us, because its
 * peer had died.
 * @typedef {{fate: 'survived' | 'killed' | 'unguarded' | 'stopped', messages: number, killedBy: string | null}} Ending
 */

/**
 * @typedef {object} Proof
 * @property {string} name
 * @property {string} title
 * @property {'proof' | 'control'} kind a control must be killed
 * @property {string | null} wanted the system call that must kill a control
 * @property {number} messages exchanged inside the filter
 * @property {boolean | null} survived null: it could not be run
 * @property {string} [killedBy] the first forbidden system call
 * @property {boolean} filterInForce was a process that reported all messages killed at its next system call?
 * @property {string[]} allowed the system calls that the filter permitted
 * @property {Record<string, number>} [counted] of those, the ones that were counted, and how often both processes made them
 * @property {{messages: number, killedBy: string}} [strict] the same under the filter that permits the report and the exit only
 * @property {number | null} [elapsedMs]
 * @property {string} [reason] why it could not be run
 * @property {Ending[]} sides
 */

/**
 * @param {{name: string, title: string, wanted: string | null}} what
 * @param {Ending[]} sides
 * @param {string[]} allowed
 * @returns {Proof}
 */
function conclude({ name, title, wanted }, sides, allowed) {
  const killed = sides.find(({ fate }) => fate === 'killed');
  const survived = sides.every(({ fate }) => fate === 'survived' || fate === 'unguarded');
  return {
    name,
    title,
    kind: wanted === null ? 'proof' : 'control',
    wanted,
    messages: survived ? sides[0].messages : (killed?.messages ?? 0),
    survived,
    ...(killed && { killedBy: String(killed.killedBy) }),
    filterInForce: survived ? sides.every(({ fate }) => fate === 'survived') : killed !== undefined,
    allowed,
    sides,
  };
}

/** A proof that could not be run. @param {{name: string, title: string, wanted: string | null}} what @param {string} reason @returns {Proof} */
function impossible({ name, title, wanted }, reason) {
  const kind = wanted === null ? 'proof' : 'control';
  return {
    name,
    title,
    kind,
    wanted,
    messages: 0,
    survived: null,
    filterInForce: false,
    allowed: [],
    sides: [],
    reason,
  };
}

/**
 * The proof that an error kept from being run; any other error is thrown.
 * @param {{name: string, title: string, wanted: string | null}} what
 * @param {unknown} error
 */
function obstacle(what, error) {
  if (!(error instanceof CrossingsError)) throw error;
  if (error.code === 'ERR_FILTER_REFUSED') {
    const reason = error.message.replace(`${what.name}: `, ''); // so that all proofs have the same reason
    return impossible(what, `the system refuses seccomp filters (${reason})`);
  }
  if (error.code === 'ERR_STALLED') return impossible(what, `it did not finish in time (${error.message})`);
  throw error;
}

/** Did a proof survive under its filter, or a control die of the call that it must die of? @param {Proof} proof */
function held({ kind, survived, killedBy, wanted, filterInForce }) {
  return kind === 'proof' ? survived === true && filterInForce : survived === false && killedBy === wanted;
}

module.exports = { conclude, held, impossible, obstacle };
