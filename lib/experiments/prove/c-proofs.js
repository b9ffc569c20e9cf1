'use strict';
// The proofs and controls in C: crossings-prove runs each in two new processes.
const { eventOf, runProgram } = require('../../measure/programs.js');
const { conclude, obstacle } = require('./proof.js');

const ONE_CORE_WARM_UP = 100; // a message of a round trip then takes two time slices of the scheduler

/** The proofs of the program. @param {string} program @param {AbortSignal} [signal] */
async function listProofs(program, signal) {
  return (await runProgram(program, ['--list'], { signal })).map(({ name, title, wanted }) => ({
    name,
    title,
    wanted,
  }));
}

/**
 * @param {{name: string, title: string, wanted: string | null}} what
 * @param {{messages: number, limitMs: number, placement: string[], oneCore: boolean, program: string, signal?: AbortSignal,
 *   onProgress: (share: number) => void}} options
 * @returns {Promise<import('./proof.js').Proof>}
 */
async function runInC(what, { messages, limitMs, placement, oneCore, program, signal, onProgress }) {
  const warmUp = oneCore ? ['--warm-up', ONE_CORE_WARM_UP] : [];
  const args = ['--proof', what.name, '--messages', messages, '--limit-ms', limitMs, ...warmUp, ...placement];
  /** @param {import('../../measure/programs.js').ProgramEvent} event */
  const onEvent = ({ type, done, of }) => {
    if (type === 'progress') onProgress(done / of);
  };
  try {
    const { sides, allowed, elapsedNs } = eventOf(await runProgram(program, args, { signal, onEvent }), 'proof');
    return { ...conclude(what, sides, allowed), elapsedMs: elapsedNs === null ? null : elapsedNs / 1e6 };
  } catch (error) {
    return obstacle(what, error);
  }
}

module.exports = { listProofs, runInC };
