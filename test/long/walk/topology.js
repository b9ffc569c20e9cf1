'use strict';
// What a walk consists of, drawn from its seed: two or three actors, each a process or a worker, on one of the Node versions, and
// one to five channels between them with random options.
const { join } = require('node:path');
const { Choices } = require('./random.js');

const NAMES = ['A', 'B', 'C'];
const CAPACITIES = [65_536, 65_536, 131_072, 1 << 20];
const WAITS = /** @type {const} */ (['sleep', 'spin-then-sleep', 'spin-then-sleep', 'spin', 'spin']);
const SPIN_MICROS = [0, 10, 50, 50, 200, 200, 2000];
const CHANNELS = [1, 1, 2, 3, 4, 5]; // what one channel misses, another may hide
const PRODUCERS = [0, 1, 1, 1, 2, 3]; // some ends only receive and answer
const STEPS = [2, 20, 60, 200]; // some channels fall silent early
const RUNTIMES = /** @type {const} */ (['this', 22, 24, 26]);

/** @typedef {InstanceType<typeof Choices>} Random */

/**
 * One end of a channel.
 * @typedef {object} EndPlan
 * @property {number} channel
 * @property {0 | 1} side 0 listens, and closes first; 1 connects
 * @property {string} path
 * @property {import('../../../lib/index.js').ChannelOptions & {capacity: number}} options
 * @property {number} peerCapacity
 * @property {boolean} nests may handlers send requests? Then requests are small, so that all of them may be open at a time
 *   (docs/api.md, "Requests")
 * @property {boolean} togglesHandler is the handler of requests removed now and then?
 * @property {boolean} mayBlock may receiveSync() be called?
 * @property {number} producers how many loops send at the same time
 * @property {number} steps of each of them
 *
 * @typedef {{name: string, seed: number, ends: EndPlan[]}} ActorPlan
 * @typedef {{runtime: typeof RUNTIMES[number], inWorkers: boolean, actors: ActorPlan[]}} ProcessPlan one actor, or one per worker
 */

/**
 * Which actors each channel connects: three of them make a circle if there are channels enough.
 * @param {Random} random @param {number} actors @param {number} channels
 */
function drawPairs(random, actors, channels) {
  return Array.from({ length: channels }, (_, channel) => {
    if (actors === 2) return [0, 1];
    if (channels >= 3) return [channel % 3, (channel + 1) % 3];
    return [0, random.between(1, 2)];
  });
}

/**
 * @param {Random} random @param {number} channel @param {string} folder
 * @returns {[EndPlan, EndPlan]}
 */
function drawChannel(random, channel, folder) {
  const authenticate = random.chance(0.3);
  const transport = random.chance(0.3) ? 'socket' : 'shared-memory';
  const drawOptions = () => ({
    authenticate,
    transport: /** @type {'socket' | 'shared-memory'} */ (transport),
    capacity: random.pick(CAPACITIES),
    wait: random.pick([...WAITS]),
    spinMicros: random.pick(SPIN_MICROS),
    sharedBuffers: random.chance(0.7),
  });
  const both = { channel, path: join(folder, String(channel)), nests: channel % 2 === 0 };
  const togglesHandler = random.chance(0.3);
  const steps = random.pick(STEPS);
  const options = [drawOptions(), drawOptions()];
  const drawEnd = (/** @type {0 | 1} */ side) => ({
    ...both,
    side,
    togglesHandler,
    steps,
    options: options[side],
    peerCapacity: options[1 - side].capacity,
    producers: random.pick(PRODUCERS),
    mayBlock: transport !== 'socket' && random.chance(0.3),
  });
  return [drawEnd(0), drawEnd(1)];
}

/** @param {number} seed @param {string} folder for the sockets @returns {ProcessPlan[]} */
function drawProcesses(seed, folder) {
  const random = new Choices(seed);
  const actors = NAMES.slice(0, random.between(2, 3)).map((name) => ({
    name,
    seed,
    ends: /** @type {EndPlan[]} */ ([]),
  }));
  const pairs = drawPairs(random, actors.length, random.pick(CHANNELS));
  for (const [channel, pair] of pairs.entries()) {
    for (const end of drawChannel(random, channel, folder)) actors[pair[end.side]].ends.push(end);
  }
  /** @type {ActorPlan[]} */
  const workers = [];
  /** @type {ProcessPlan[]} */
  const processes = [];
  for (const actor of actors) {
    if (random.chance(0.25)) workers.push(actor);
    else processes.push({ runtime: random.pick([...RUNTIMES]), inWorkers: false, actors: [actor] });
  }
  if (workers.length > 0) processes.push({ runtime: random.pick([...RUNTIMES]), inWorkers: true, actors: workers });
  return processes;
}

module.exports = { drawProcesses };
