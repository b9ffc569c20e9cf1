'use strict';
// Measures how late a 1 ms timer fires: node timer.js {"beside": "channel" | "flood" | "nothing", "ticks": 1000}. With
// "channel", the same process also exchanges messages over a channel as fast as it can. With "flood", it receives what its
// peer sends as fast as that can. The processes are not pinned. Prints percentiles of the lateness as one line of JSON.
const { spawn } = require('node:child_process');
const { channelPair, openChannel } = require('../../index.js');
const { startNodeOrExit } = require('../../measure/start.js');
const { quantile } = require('../../measure/statistics.js');

const TIMER_MS = 1;
const { beside, role = 'first', ticks = 1000 } = JSON.parse(process.argv[2]);
const WARMUP_TICKS = ticks / 2; // until the code has been compiled: the compiler's threads use the same cores

/** The lateness of each tick, in milliseconds. @returns {Promise<number[]>} */
async function measureTimer() {
  const late = [];
  for (let tick = 0; tick < WARMUP_TICKS + ticks; tick++) {
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, TIMER_MS));
    if (tick >= WARMUP_TICKS) late.push(performance.now() - began - TIMER_MS);
  }
  return late;
}

/** Exchanges messages until the channel is closed. @param {import('../../index.js').Channel} channel */
async function exchange(channel) {
  const message = Buffer.alloc(32);
  for (;;) {
    await channel.send(message);
    await channel.receive();
  }
}

/** Receives until the channel is closed. @param {import('../../index.js').Channel} channel */
async function receiveAll(channel) {
  while ((await channel.receive()) !== null);
}

async function first() {
  /** @type {import('../../index.js').Channel | undefined} */
  let channel;
  if (beside !== 'nothing') {
    const pair = channelPair();
    const words = [__filename, JSON.stringify({ role: beside === 'flood' ? 'flooding' : 'other' })];
    startNodeOrExit(() => spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit', pair.port.fd] }));
    pair.port.close();
    channel = await pair.channel;
    const use = beside === 'flood' ? receiveAll : exchange;
    use(channel).catch((error) => {
      if (error.code !== 'ERR_CLOSED') throw error;
    });
  }
  const late = (await measureTimer()).sort((a, b) => a - b);
  const messages = channel?.stats().messagesReceived ?? 0;
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(late, share));
  process.stdout.write(`${JSON.stringify({ type: 'timer', lateMs: { p50, p99, max }, messages })}\n`);
  await channel?.close();
}

async function other() {
  const channel = await openChannel(3);
  for await (const message of channel) await channel.send(message);
  await channel.close();
}

/** Sends until the channel is closed. */
async function flooding() {
  const channel = await openChannel(3);
  const message = Buffer.alloc(32);
  for (;;) if (!channel.trySend(message)) await channel.send(message);
}

const roles = { first, other, flooding };

roles[/** @type {keyof typeof roles} */ (role)]().catch((error) => {
  if (error.code === 'ERR_CLOSED') return; // the first side closed the channel during a send
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
