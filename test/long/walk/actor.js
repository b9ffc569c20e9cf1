'use strict';
// One process or worker of a walk: opens its ends of the channels, produces and consumes on all of them, and closes them.
const { setTimeout: pause } = require('node:timers/promises');
const { connect, listen } = require('../../../lib/index.js');
const { consume } = require('./consumers.js');
const { End } = require('./end.js');
const { produce } = require('./producers.js');
const { Promises } = require('./promises.js');
const { Choices } = require('./random.js');
const { handlerOf } = require('./requests.js');

const PRODUCE_MS = 2000;
const LOOK_MS = 2;

/** @typedef {import('./topology.js').EndPlan} EndPlan */
/** @typedef {import('./end.js').Shared} Shared */
/** @typedef {InstanceType<typeof End>} AnEnd */
/** @typedef {{actor: string, failure?: string, state?: string, messages: number, responses: number, node: string}} Report */

/**
 * Opens an end, which answers requests from then on.
 * @param {EndPlan} plan @param {import('../../../lib/index.js').Server | undefined} server @param {Shared} shared
 */
async function open(plan, server, shared) {
  const opening = server ? server.accept() : connect(plan.path, plan.options);
  const channel = await shared.promises.track(opening, `channel ${plan.channel}: ${server ? 'accept' : 'connect'}()`);
  server?.close();
  const end = new End(plan, channel, shared);
  shared.ends.push(end);
  channel.onRequest(handlerOf(end));
  return end;
}

/**
 * Produces and consumes until both sides have sent their last message and received the other's, then closes.
 * @param {AnEnd} end @param {Shared} shared
 * @param {{endsAt: number, onProduced: () => void, allProduced: Promise<unknown>}} production of all ends of this actor
 */
async function use(end, shared, { endsAt, onProduced, allProduced }) {
  const { channel, plan } = end;
  const choices = (/** @type {number} */ flow) => new Choices(shared.seed, end.stream, flow);
  const consuming = consume(end, choices(0));
  const producers = Array.from({ length: plan.producers }, (_, index) =>
    produce(end, index, choices(index + 1), endsAt),
  );
  await Promise.all(producers);
  onProduced();
  await allProduced; // handlers of other channels may ask on this one
  while (end.asking > 0) await pause(LOOK_MS);
  await end.sendLast();
  await end.track(end.lastArrives, 'the last message of the peer');
  await end.track(consuming, 'the end of receiving');
  await pause(choices(0).below(LOOK_MS));
  await end.track(channel.close(), 'close()');
  const state = await end.track(channel.closed, 'closed');
  if (state !== 'closed' && state !== 'peer-closed') end.fail(`it ended as "${state}"`);
}

/** Runs all ends. @param {EndPlan[]} plans @param {Shared} shared */
async function useAll(plans, shared) {
  const listening = plans.map(({ side, path, options }) => (side === 0 ? listen(path, options) : undefined));
  const servers = await Promise.all(listening);
  const endsAt = performance.now() + PRODUCE_MS;
  /** @type {(() => void)[]} */
  const onProduced = [];
  const produced = plans.map((_, index) => new Promise((resolve) => (onProduced[index] = () => resolve(undefined))));
  const allProduced = Promise.all(produced);
  const using = plans.map(async (plan, index) => {
    const end = await open(plan, servers[index], shared);
    await use(end, shared, { endsAt, onProduced: onProduced[index], allProduced });
  });
  await Promise.all(using);
}

/**
 * Runs an actor. It ends by itself: only its channels keep it alive, and afterwards nothing does.
 * @param {import('./topology.js').ActorPlan} plan
 * @param {(report: Report) => void} tell called once
 */
async function runActor(plan, tell) {
  const checked = { messages: 0, responses: 0 };
  let hasTold = false;
  const report = (/** @type {string} */ failure) => {
    if (hasTold) return;
    hasTold = true;
    const state = failure && [...shared.ends.map(String), `unsettled: ${promises}`].join('\n  ');
    tell({ actor: plan.name, failure, state, ...checked, node: process.version });
  };
  const fail = (/** @type {string} */ what) => {
    report(what);
    return process.exit(1);
  };
  const promises = new Promises(fail);
  /** @type {Shared} */
  const shared = { seed: plan.seed, ends: [], fail, promises, checked };
  process.on('unhandledRejection', (error) =>
    fail(`unhandled rejection: ${/** @type {any} */ (error)?.stack ?? error}`),
  );
  process.on('uncaughtException', (error) => fail(`uncaught: ${error?.stack ?? error}`));
  process.on('exit', (status) => report(`it exited with status ${status} before it was done`));
  await useAll(plan.ends, shared);
  promises.stop();
  report('');
}

module.exports = { runActor };
