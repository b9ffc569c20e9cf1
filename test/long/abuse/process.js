'use strict';
// Runs cases of the abuse: node --expose-gc process.js {"seed": …, "share": …, "part": …, "parts": …, "noteFile": …}. The file
// holds the name of the case in progress, so that the parent knows it after a crash or a hang. {"only": TEXT} repeats the cases
// whose names contain a text. Prints one line of JSON. rule.js states the rule; in the end, nothing may be left.
const { openSync, readFileSync, readdirSync, writeSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { Channel, Server } = /** @type {any} */ (require('../../../lib/index.js'));
const { CALLS } = require('./calls.js');
const { allCases, missingFrom } = require('./cases.js');
const { runChannelCase } = require('./channel-case.js');
const { DEADLINE_MS, begin, describe, fail, listed } = require('./rule.js');
const { SERVER_CALLS, allServerCases, runServerCase } = require('./server-case.js');

const NAME_BYTES = 300;
const MAX_FAILURES = 40;

const { seed = 1, share = 1, part = 0, parts = 1, noteFile = '/dev/null', only = '' } = JSON.parse(process.argv[2]);

/** What this process holds. */
function holdings() {
  for (let i = 0; i < 3; i++) global.gc?.();
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    mappings: maps.filter((line) => line.includes('memfd:crossings')).length,
  };
}

/** Waits until nothing of any channel is left. @param {{descriptors: number}} before */
async function settledHoldings(before) {
  const endsAt = performance.now() + DEADLINE_MS;
  let now = holdings();
  while ((now.mappings > 0 || now.descriptors > before.descriptors) && performance.now() < endsAt) {
    await pause(20);
    now = holdings();
  }
  return now;
}

/** Is this case in the sample of this seed? @param {number} index */
function isDrawn(index) {
  const drawn = Math.imul(index ^ seed, 0x9e3779b1) >>> 0;
  return index % parts === part && (Math.imul(drawn ^ (drawn >>> 15), 0x85ebca6b) >>> 0) / 2 ** 32 < share;
}

async function main() {
  const alive = setInterval(() => {}, 1000); // unref() must not end this process
  const note = openSync(noteFile, 'w');
  begin('the tables');
  const missing = [...missingFrom(Channel, CALLS), ...missingFrom(Server, SERVER_CALLS)];
  for (const member of missing) fail(`${String(member)} has no entry`);
  const cases = [
    ...allCases(Channel).map((c) => ({ name: c.name, run: () => runChannelCase(c) })),
    ...allServerCases(Server).map((c) => ({ name: c.name, run: () => runServerCase(c) })),
  ];
  let count = 0;
  await cases[0].run(); // warm: whatever is opened once
  const before = holdings();
  for (const [index, { name, run }] of cases.entries()) {
    if (!name.includes(only) || !isDrawn(index)) continue;
    writeSync(note, name.padEnd(NAME_BYTES), 0);
    await run();
    count++;
    if (listed().length >= MAX_FAILURES) break;
  }
  begin('at the end');
  const after = await settledHoldings(before);
  if (after.descriptors > before.descriptors) fail(`${after.descriptors - before.descriptors} descriptors are left`);
  if (after.mappings > 0) fail(`${after.mappings} mappings are left`);
  clearInterval(alive);
  process.stdout.write(`${JSON.stringify({ count, of: cases.length, failures: listed() })}\n`);
}

main().catch((error) => {
  fail(error instanceof Error ? String(error.stack) : describe(error));
  process.stdout.write(`${JSON.stringify({ count: 0, of: 0, failures: listed() })}\n`);
  process.exit(1);
});
