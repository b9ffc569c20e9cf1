'use strict';
// The proofs and the control in Node: two Node processes, whose main threads enter the filter once they are warmed up.
const { join } = require('node:path');
const { native } = require('../../../channel/native.js');
const { runNode } = require('../../../measure/programs.js');
const { conclude, impossible, obstacle } = require('../proof.js');

const SIDE = join(__dirname, 'side.js');
const MAX_LIMIT_MS = 20_000; // of the exchange; with its warm-up it must be done before runNode() gives up
// When one process has ended: in a proof, for the other to end as well; in a control, for it to make its own system call.
const PROOF_GRACE_MS = 5000;
const CONTROL_GRACE_MS = 500;
const STRICT = ['write', 'exit_group'];
const TRY_ROUND = 4000; // messages in one round of the warm-up
const AWAIT_ROUND = 2000;
const CONTROL_ROUND = 20;

/**
 * The system calls that an awaiting process may need: those of the event loop, of a sleep and its doorbell, and of V8, which
 * tells its threads to compile or to collect garbage. They are permitted and counted.
 */
const COUNTED = [
  ...['epoll_wait', 'epoll_pwait', 'epoll_ctl', 'read', 'write', 'io_uring_enter'],
  ...['sendto', 'sendmsg', 'recvfrom', 'recvmsg', 'recvmmsg', 'poll', 'ppoll'],
  ...['futex', 'madvise', 'mmap', 'munmap', 'mprotect', 'pkey_mprotect', 'brk', 'getpid', 'gettid', 'sched_yield'],
  ...['clock_gettime', 'gettimeofday'],
];

/**
 * @typedef {object} NodeProof
 * @property {'node-try' | 'node-await' | 'node-control'} name
 * @property {string} title
 * @property {string | null} wanted
 * @property {number} roundMessages
 */

/** @type {NodeProof[]} */
const NODE_PROOFS = [
  { name: 'node-try', title: 'Node main threads (trySend, tryReceiveInto)', wanted: null, roundMessages: TRY_ROUND },
  { name: 'node-await', title: 'Node main threads (await)', wanted: null, roundMessages: AWAIT_ROUND },
  { name: 'node-control', title: 'Control: fs.writeSync in Node', wanted: 'write', roundMessages: CONTROL_ROUND },
];

/** @typedef {{messages: number, limitMs: number, cores: number[] | null, oneCore: boolean, signal?: AbortSignal}} NodeOptions */

/** @param {import('../../../measure/programs.js').ProgramEvent[]} events @returns {import('../proof.js').Ending} */
function endingOf(events) {
  const survived = events.find(({ type }) => type === 'survived');
  const killed = events.find(({ type }) => type === 'killed');
  if (survived) return { fate: killed ? 'survived' : 'unguarded', messages: survived.messages, killedBy: null };
  if (killed) return { fate: 'killed', messages: killed.messages, killedBy: killed.by };
  return { fate: 'stopped', messages: 0, killedBy: null };
}

/**
 * Runs both processes to their ends.
 * @param {NodeProof} proof
 * @param {NodeOptions & {counted: string[]}} options
 * @returns {Promise<{sides: import('../proof.js').Ending[], counted: Record<string, number>}>}
 */
async function runPair({ name, wanted, roundMessages }, { messages, limitMs, cores, counted, signal }) {
  const stop = new AbortController();
  const stopped = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const descriptors = native.socketPair();
  for (const descriptor of descriptors) native.lendFd(descriptor);
  /** @param {number} side */
  const runSide = async (side) => {
    const task = {
      proof: name,
      side,
      parent: process.pid,
      core: cores?.[side] ?? null,
      messages,
      roundMessages,
      counted,
      limitMs: Math.min(limitMs, MAX_LIMIT_MS),
    };
    /** @type {import('../../../measure/programs.js').ProgramEvent[]} */
    const events = [];
    try {
      await runNode([process.execPath, SIDE, JSON.stringify(task)], {
        signal: stopped,
        inherit: descriptors[side],
        onEvent: (event) => events.push(event),
      });
    } catch (error) {
      signal?.throwIfAborted();
      // The end that is expected here is SIGSYS, or the one that follows below.
      const expected = events.some(({ type }) => type === 'killed') || stop.signal.aborted;
      if (!expected) {
        stop.abort();
        throw error;
      }
    }
    setTimeout(() => stop.abort(), wanted === null ? PROOF_GRACE_MS : CONTROL_GRACE_MS).unref();
    return events;
  };
  const running = [runSide(0), runSide(1)];
  for (const descriptor of descriptors) native.closeFd(descriptor);
  const results = await Promise.allSettled(running);
  stop.abort();
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason;
  const events = results.map((result) => /** @type {PromiseFulfilledResult<any>} */ (result).value);
  /** @type {Record<string, number>} */
  const calls = {};
  for (const { type, calls: made } of events.flat()) {
    if (type !== 'survived') continue;
    for (const [call, times] of Object.entries(made)) calls[call] = (calls[call] ?? 0) + Number(times);
  }
  return { sides: events.map(endingOf), counted: calls };
}

/**
 * @param {NodeProof} proof
 * @param {NodeOptions} options
 * @returns {Promise<import('../proof.js').Proof>}
 */
async function runInNode(proof, options) {
  if (options.oneCore && proof.name === 'node-try')
    return impossible(proof, 'its two processes poll and never yield, so each needs its own core');
  try {
    const strict = conclude(proof, (await runPair(proof, { ...options, counted: [] })).sides, STRICT);
    if (proof.name !== 'node-await' || strict.survived) return strict;
    const { sides, counted } = await runPair(proof, { ...options, counted: COUNTED });
    return {
      ...conclude(proof, sides, [...new Set([...STRICT, ...COUNTED])]),
      counted,
      strict: { messages: strict.messages, killedBy: String(strict.killedBy) },
    };
  } catch (error) {
    return obstacle(proof, error);
  }
}

module.exports = { NODE_PROOFS, runInNode };
