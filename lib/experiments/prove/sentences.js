'use strict';
// The answer of `crossings prove` in words.
const { significant } = require('../../terminal/numbers.js');
const { held } = require('./proof.js');

/** @typedef {import('./proof.js').Proof} Proof */

/** @param {number} value */
const whole = (value) => value.toLocaleString('en-US');

/** @param {number} count */
const messageCount = (count) => `${whole(count)} ${count === 1 ? 'message' : 'messages'}`;

/** "a, b and c". @param {string[]} items */
const list = (items) => [items.slice(0, -1).join(', '), ...items.slice(-1)].filter(Boolean).join(' and ');

/** Why an awaiting process made the call that the strict filter killed it for. @param {string} call */
function purposeOf(call) {
  if (call.startsWith('epoll'))
    return 'a channel returns to the event loop after at most 0.12 ms, and the event loop makes system calls';
  if (call.startsWith('send')) return 'its peer was asleep, as happens on a busy machine, and had to be woken';
  return 'the event loop and V8 make system calls';
}

/** Calls by name, the most frequent first. @param {Record<string, number>} counted */
function callsOf(counted) {
  const total = Object.values(counted).reduce((sum, calls) => sum + calls, 0);
  const byCount = Object.entries(counted).sort(([, a], [, b]) => b - a);
  return { total, names: list(byCount.map(([name, calls]) => `${name} ${whole(calls)}`)) };
}

/** The proofs that held under the strict filter. @param {Proof[]} proofs */
function survivors(proofs) {
  const strict = proofs.filter((proof) => proof.kind === 'proof' && held(proof) && !proof.strict);
  if (strict.length === 0) return [];
  const more = strict.some(({ name }) => name === 'node-try')
    ? [
        "In Node, the filter covers the main threads, after a warm-up. It does not cover V8's own threads, which compile code, collect garbage and make system calls.",
      ]
    : [];
  return [
    `The filter permitted only exit_group and the final report (a write to one descriptor). Survived: ${list(strict.map(({ title }) => title))}. After its report, each process made a forbidden call on purpose and was killed at it, so the filter was in force from the first message to the last.`,
    ...more,
  ];
}

/** @param {Proof} proof how far `await` went */
function awaiting({ messages, counted = {}, strict }) {
  if (!strict) return [];
  const { total, names } = callsOf(counted);
  return [
    `With await, the same filter killed a process at ${strict.killedBy} after ${messageCount(strict.messages)}: ${purposeOf(strict.killedBy)}. With these calls permitted and counted, both processes survived ${messageCount(messages)} and made ${total === 0 ? 'none of them' : `${significant(total / messages, 2)} calls per message (${names})`}.`,
  ];
}

/** @param {Proof[]} controls */
function controlsDied(controls) {
  const died = controls.filter(held);
  if (died.length === 0) return [];
  const ends = died.map(({ title, killedBy, messages }) => {
    const after = messages === 0 ? 'its first call' : `after ${messageCount(messages)}`;
    return `${title.replace('Control: ', '')} (at ${killedBy}, ${after})`;
  });
  return [`The controls were killed, as they must be: ${list(ends)}.`];
}

/** What did not go as claimed. @param {Proof} proof */
function failure(proof) {
  const { kind, title, survived, killedBy, wanted, messages } = proof;
  if (kind === 'control' && survived)
    return `"${title}" survived ${messageCount(messages)} although it makes system calls: the filter does not work here, and nothing is proved.`;
  if (kind === 'control') {
    const end = killedBy ? `was killed at ${killedBy} instead of ${wanted}` : `was not killed at ${wanted}`;
    return `"${title}" ${end}: nothing is proved.`;
  }
  if (survived) return `"${title}" survived, but its forbidden call at the end did not kill it: nothing is proved.`;
  if (!killedBy) return `"${title}" did not finish: nothing is proved.`;
  return `"${title}" was killed at ${killedBy} after ${messageCount(messages)}: it makes a system call.`;
}

/** @param {import('./disassembly.js').Disassembly} disassembly */
function disassemblySentence({ functions = [], violations = [], reason }) {
  if (reason) return `The instructions of the hot path were not checked: ${reason}.`;
  if (violations.length > 0) return violations.join(' ');
  const instructions = functions.reduce((sum, each) => sum + each.instructions, 0);
  return `The C hot path has ${whole(instructions)} instructions in ${functions.length} functions. None is a system call, and none leaves these functions; \`npx crossings-lab prove --disassembly\` lists them.`;
}

/**
 * @param {{proofs: Proof[], disassembly: import('./disassembly.js').Disassembly, messages: number}} file
 * @returns {string[]}
 */
function proveSentences({ proofs, disassembly, messages }) {
  const wasRun = proofs.filter(({ survived }) => survived !== null);
  const reasons = new Set(proofs.flatMap(({ reason }) => reason ?? []));
  const shorter = wasRun.filter((proof) => proof.kind === 'proof' && held(proof) && proof.messages < messages);
  const timedOut = `Stopped by the time limit before ${whole(messages)} messages: ${list(shorter.map(({ title }) => title))}.`;
  return [
    ...wasRun.filter((proof) => !held(proof)).map(failure),
    ...[...reasons].map(
      (reason) =>
        `Not run: ${list(proofs.filter((proof) => proof.reason === reason).map(({ name }) => name))}. Reason: ${reason}.`,
    ),
    ...survivors(wasRun),
    ...wasRun.filter((proof) => held(proof)).flatMap(awaiting),
    ...(shorter.length > 0 ? [timedOut] : []),
    ...controlsDied(wasRun.filter(({ kind }) => kind === 'control')),
    disassemblySentence(disassembly),
  ];
}

module.exports = { disassemblySentence, proveSentences };
