'use strict';
// One of the two Node processes of a proof: node side.js {"proof": …, "side": 0 | 1, …}, with its end of the channel as
// descriptor 3. It warms up, enters the filter, exchanges the messages, reports with one write, and then makes a forbidden
// call on purpose. Prints lines of JSON.
const { writeSync } = require('node:fs');
const { setFlagsFromString } = require('node:v8');
const { openChannel } = require('../../../index.js');
const exchange = require('./exchange.js');
const { filter, shared } = require('./filter.js');

const STDOUT = 1;
const ROUNDS = 80;
const ROUNDS_BETWEEN_RESTS = 4;
const REST_MS = 20; // V8 compiles in other threads; the main thread takes the code over when it returns to the event loop
const FRUITLESS_LOOKS = 200_000; // more than three times as many as the package makes before it checks its peer

/**
 * After the warm-up, V8 keeps the code that it has. Otherwise it would compile some function anew when that has run often
 * enough, perhaps after a million messages; its main thread wakes a compiler thread for that, with a system call.
 */
const COMPILE_NO_MORE = ['--no-opt', '--no-maglev', '--no-sparkplug'];

/**
 * @typedef {object} Task
 * @property {'node-try' | 'node-await' | 'node-control'} proof
 * @property {0 | 1} side
 * @property {number} parent its process ID
 * @property {number | null} core
 * @property {number} messages
 * @property {number} roundMessages in one round of the warm-up
 * @property {string[]} counted system calls that are permitted and counted
 * @property {number} limitMs
 */

/** @type {Task} */
const task = JSON.parse(process.argv[2]);

/** @type {Record<Task['proof'], import('./exchange.js').Exchange[]>} */
const EXCHANGES = {
  'node-try': [exchange.askTrying, exchange.answerTrying],
  'node-await': [exchange.askAwaiting, exchange.answerAwaiting],
  'node-control': [exchange.askKernel, exchange.answerKernel],
};

/** @param {object} event */
const print = (event) => writeSync(STDOUT, `${JSON.stringify(event)}\n`);

/** In a new turn of the event loop, a channel has its whole time before it returns to the event loop. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS));

/**
 * Every path of the loop must have run before the filter: V8 throws optimized code away when it reaches a path that has
 * never run, and compiles it anew in another thread, for which the main thread makes a system call. The path that is rarest
 * is the one of a peer that does not answer.
 * @param {import('./exchange.js').Channel} channel
 */
async function lookInVain(channel) {
  const ready = Buffer.from('ready');
  const target = Buffer.alloc(ready.length);
  let met = false;
  for (let look = 0; look < FRUITLESS_LOOKS; look++) met = channel.tryReceiveInto(target) >= 0 || met;
  for (let turn = 0; turn < 100; turn++) exchange.pause();
  await channel.send(ready);
  if (!met) await channel.receive();
}

async function main() {
  if (!filter.endWithParent(task.parent)) return;
  if (task.core !== null) filter.pin(task.core);
  const run = EXCHANGES[task.proof][task.side];
  const end = task.proof === 'node-control' ? 3 : await openChannel(3);
  // One round trip that makes no system call: from here on, both processes are awake.
  const synchronize = () => {
    if (typeof end !== 'number') EXCHANGES['node-try'][task.side](end, 2, shared);
  };
  if (typeof end !== 'number') await lookInVain(end);
  for (let round = 0; round < ROUNDS; round++) {
    if (round % ROUNDS_BETWEEN_RESTS === task.side) await rest(); // the peer looks in vain meanwhile
    synchronize();
    await run(end, task.roundMessages, shared);
  }
  // The report, too, must have been made before: when a function runs for the first time, V8 compiles it, and may ask for memory.
  print({ type: 'ready', messages: shared.progress[0], calls: filter.counts() });
  if (task.counted.length === 0) for (const flag of COMPILE_NO_MORE) setFlagsFromString(flag);
  await nextTurn();
  shared.progress[0] = 0;
  filter.enter(STDOUT, task.counted, task.limitMs);
  synchronize();
  await run(end, task.messages, shared);
  print({ type: 'survived', messages: shared.progress[0], calls: filter.counts() });
  filter.die();
  print({ type: 'unguarded' });
}

main().catch((error) => {
  print({ type: 'error', code: error.code ?? 'ERR_PROOF_FAILED', message: error.message });
  process.exit(1);
});
