'use strict';
// What a producer of a walk does, step by step: it sends, tries to send, waits for room, corks, aborts, asks.
const { setMaxListeners } = require('node:events');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { ABORTED } = require('./end.js');
const { ask, handlerOf } = require('./requests.js');

/** @typedef {InstanceType<typeof import('./end.js').End>} End */
/** @typedef {InstanceType<typeof import('./random.js').Choices>} Choices */

/** Runs something one to `most` times, one after the other. @param {Choices} random @param {number} most @param {() => unknown} step */
async function several(random, most, step) {
  for (let left = random.between(1, most); left > 0; left--) await step();
}

/** Starts something one to `most` times. @template T @param {Choices} random @param {number} most @param {() => T} start @returns {T[]} */
const together = (random, most, start) => Array.from({ length: random.between(1, most) }, start);

/** A signal for many calls, and what aborts it. */
function abortable() {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return { signal: controller.signal, abort: () => controller.abort(ABORTED) };
}

/** @type {Record<string, (end: End, random: Choices, handler: (request: Buffer) => any) => Promise<unknown>>} */
const STEPS = {
  async 'send at once'(end, random) {
    const sending = together(random, 40, () => end.send(random));
    if (random.chance(0.7)) await sending.at(-1);
  },
  'send one by one': (end, random) => several(random, 20, () => end.send(random)),
  'try to send': (end, random) =>
    several(random, 60, () => {
      if (end.trySend(random)) return undefined;
      return random.chance(0.5) ? nextTurn() : end.waitForRoom(random.between(0, 500));
    }),
  async 'send corked'(end, random) {
    end.channel.cork();
    const sending = together(random, 20, () => (random.chance(0.5) ? end.trySend(random) : end.send(random)));
    if (random.chance(0.3)) await null;
    if (random.chance(0.1)) await pause(1);
    end.channel.uncork();
    await Promise.all(sending);
  },
  async 'wait for room'(end, random) {
    await end.waitForRoom(end.drawSize(random));
    end.trySend(random);
  },
  async 'abort a wait for room'(end, random) {
    const { signal, abort } = abortable();
    const waiting = end.waitForRoom(end.channel.maxMessageBytes, signal);
    if (random.chance(0.5)) await nextTurn();
    abort();
    await waiting;
  },
  async 'abort sends'(end, random) {
    const { signal, abort } = abortable();
    const sending = together(random, 30, () => end.send(random, random.chance(0.5) ? signal : undefined));
    if (random.chance(0.5)) await null;
    if (random.chance(0.5)) await nextTurn();
    abort();
    await Promise.all(sending);
  },
  'ask one by one': (end, random) => several(random, 60, () => ask(end, random, random.between(0, 3))),
  async 'ask two channels in turn'(end, random) {
    const other = random.pick(end.sendingEnds);
    await several(random, 40, async () => {
      await ask(end, random, 1);
      await ask(other, random, 1);
    });
  },
  'ask at once': (end, random) => Promise.all(together(random, 60, () => ask(end, random, random.between(0, 2)))),
  'ask with a timeout': (end, random) =>
    Promise.all(together(random, 10, () => ask(end, random, 1, { timeout: random.between(0, 4) }))),
  async 'abort requests'(end, random) {
    const { signal, abort } = abortable();
    const asking = together(random, 10, () => ask(end, random, 1, { signal }));
    const when = random.below(4);
    if (when === 1) await null;
    if (when === 2) await nextTurn();
    if (when === 3) await Promise.race(asking);
    abort();
    await Promise.all(asking);
  },
  'ask and send': (end, random) =>
    several(random, 30, async () => {
      const asking = ask(end, random, 1);
      if (random.chance(0.5)) end.trySend(random);
      if (random.chance(0.3)) end.send(random);
      await asking;
    }),
  async 'set the handler'({ channel, plan }, random, handler) {
    channel.onRequest(handler, random.chance(0.3) ? { concurrency: Infinity } : undefined);
    if (!plan.togglesHandler || random.chance(0.8)) return;
    channel.onRequest(null);
    await nextTurn();
    channel.onRequest(handler);
  },
  async 'unref and ref'({ channel }, random) {
    channel.unref();
    const how = random.below(3);
    if (how === 1) await nextTurn();
    if (how === 2) await pause(random.between(1, 3));
    channel.ref();
  },
  pause: (_, random) => pause(random.between(0, 10)),
  'yield a turn': () => nextTurn(),
};
const NAMES = Object.keys(STEPS);

/**
 * Runs one producer of an end.
 * @param {End} end @param {number} index among its producers @param {Choices} random @param {number} endsAt as of performance.now()
 */
async function produce(end, index, random, endsAt) {
  const handler = handlerOf(end);
  for (let left = end.plan.steps; left > 0 && performance.now() < endsAt; left--) {
    const name = random.pick(NAMES);
    end.producing[index] = name;
    await STEPS[name](end, random, handler);
  }
  end.producing[index] = 'done';
}

module.exports = { produce };
