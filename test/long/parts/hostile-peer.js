'use strict';
// The concurrent hostile peer: a peer that completes a valid handshake and then corrupts its region, against each way of receiving, in C and in
// Node. The figures count mutations: stores and packets that no correct peer makes.
const { existsSync, mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('../../support.js');
const {
  SANITIZER_ENV,
  addonObstacle,
  buildAddon,
  buildPeer,
  buildVictim,
  hasSanitizers,
  sanitizerLibrary,
} = require('../../hostile/build.js');
const { fightOnce } = require('../../hostile/fight.js');

const C_WAYS = ['try', 'receive', 'spin', 'sleep', 'exact', 'echo', 'send'];
const OWN_CAPACITY = 65536; // bytes; of every victim
const SILENCE_MS = 15_000; // a timer that is later than this was starved, however busy the machine is
const OWN_RINGS = 64; // how many times its own capacity a victim's memory may grow, beyond...
const BASE_MIB = 128; // ...what V8 takes for its garbage
const SANITIZED_BASE_MIB = 1024; // the sanitizer keeps what was freed
const C_BASE_MIB = 64;
const NODE_FLAGS = ['--max-old-space-size=256', '--max-semi-space-size=8'];
const FLOOD_SECONDS = 12; // at most: a flood ends when...
const PINGS = 30; // ...another channel of the victim has carried this many messages
const REFUSAL_BYTES = 600_000_000;
const REFUSAL_NEEDS_MIB = 5000;

/**
 * @typedef {object} Arena what all fights of one run share
 * @property {string} folder
 * @property {string} peer the program
 * @property {number} seed
 * @property {string} [victim] the program, once it is built
 *
 * @typedef {object} Stage
 * @property {string} name
 * @property {() => string} obstacle why it cannot run here, or an empty string
 * @property {number} share of the time of the whole run; 0: it takes what it takes
 * @property {(arena: Arena, seconds: number) => Promise<import('../../hostile/fight.js').Outcome[]>} run
 */

/** @param {number} base */
const limitMiB = (base) => base + (OWN_RINGS * OWN_CAPACITY) / 2 ** 20;

/** @type {(ways: string[], mustEnd?: boolean) => (arena: Arena, seconds: number, attack?: (string | number)[]) => Promise<import('../../hostile/fight.js').Outcome[]>} */
const inC = (ways, mustEnd) => async (arena, seconds, attack) => {
  arena.victim ??= buildVictim(arena.folder);
  const outcomes = [];
  for (const way of ways) {
    const path = join(arena.folder, `${way}.sock`);
    outcomes.push(
      await fightOnce({
        title: `C, ${way}`,
        victim: [arena.victim, path, way],
        env: { ...SANITIZER_ENV, ...(mustEnd ? { SESSION_MS: '20000' } : {}) },
        paths: [path],
        peer: arena.peer,
        attack: attack ?? ['--seed', arena.seed, '--seconds', seconds / ways.length],
        maxMiB: hasSanitizers() ? SANITIZED_BASE_MIB : limitMiB(C_BASE_MIB),
        mustEnd,
      }),
    );
  }
  return outcomes;
};

/**
 * @param {Arena} arena
 * @param {object} fight
 * @param {string} fight.title
 * @param {string} fight.ways
 * @param {(string | number)[]} fight.attack
 * @param {string} [fight.node]
 * @param {string} [fight.addon] sanitized
 * @param {boolean} [fight.mustEnd]
 * @param {number} [fight.pings]
 * @param {number} [fight.maxMiB]
 */
function inNode(arena, { title, ways, attack, node = process.execPath, addon, mustEnd = false, pings, maxMiB }) {
  const preload = addon === undefined ? [] : ['--require', join(root, 'test', 'hostile', 'use-addon.js')];
  const script = join(root, 'test', 'hostile', 'victim.js');
  return fightOnce({
    title,
    victim: [node, ...NODE_FLAGS, ...preload, script, join(arena.folder, 'node.sock'), ways, String(OWN_CAPACITY)],
    env: {
      ...(addon && { ...SANITIZER_ENV, LD_PRELOAD: sanitizerLibrary(), CROSSINGS_ADDON: addon }),
      ...(mustEnd ? { SESSION_MS: '60000' } : {}),
    },
    paths: [],
    peer: arena.peer,
    attack,
    silenceMs: addon ? 4 * SILENCE_MS : SILENCE_MS,
    maxMiB: maxMiB ?? limitMiB(addon ? SANITIZED_BASE_MIB : BASE_MIB),
    mustEnd,
    pings,
  });
}

const otherNode = join(root, 'build', 'nodes', '26', 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');

/** A ring full of frames, with no end mark: a reader goes round and round. One session for each way. */
const full = (/** @type {string} */ frame, /** @type {string} */ ending, sessions = 1) => [
  '--fill',
  frame,
  '--rounds',
  0,
  '--ending',
  ending,
  '--sessions',
  sessions,
  '--capacity',
  65536,
];

/** One attack again and again, until the time is over or the victim's good channel has carried enough. */
const flood = (/** @type {string} */ attack, /** @type {number} */ seconds, capacity = 65536) => [
  '--attack',
  attack,
  '--rounds',
  1e9,
  '--seconds',
  seconds,
  '--capacity',
  capacity,
  '--ending',
  'close',
];

/**
 * Attacks of one idea each, which random mutation meets too rarely.
 * @type {{title: string, ways: string[], attack: (string | number)[], mustEnd?: boolean, pings?: number, maxMiB?: number, needsMiB?: number}[]}
 */
const SCENES = [
  ...['close', 'die'].map((ending) => ({
    title: `a ring full of empty messages, then ${ending}`,
    ways: [
      'forAwait',
      'batches',
      'receive',
      'patientRequest',
      'onRequest',
      'tryReceive',
      'duplex',
      'web',
      'receiveSync',
    ],
    attack: full('0:0', ending, 9),
    mustEnd: true,
  })),
  {
    title: 'a ring full of requests, then die',
    ways: ['forAwait', 'onRequest', 'tryReceive'],
    attack: full('1:4', 'die', 3),
    mustEnd: true,
  },
  {
    title: 'a ring that is written on after the peer died',
    ways: ['forAwait', 'onRequest', 'patientRequest'],
    attack: ['--attack', 'messages', '--rounds', 100, '--ending', 'die-and-write', '--sessions', 3],
    mustEnd: true,
  },
  {
    title: 'requests that nobody handles',
    ways: ['tryReceive', 'receiveSync'],
    attack: flood('request-flood', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'requests by a peer that reads no response',
    ways: ['forAwait', 'onRequest'],
    attack: flood('deaf-request-flood', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'requests without end',
    ways: ['onRequest', 'onRequestLater'],
    attack: flood('polite-request-flood', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'messages without end',
    ways: ['forAwait', 'batches', 'duplex', 'onRequest'],
    attack: flood('messages', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'responses that nobody asked for',
    ways: ['forAwait', 'patientRequest'],
    attack: flood('response-flood', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'doorbells',
    ways: ['sleeping', 'onRequest'],
    attack: flood('doorbell-flood', FLOOD_SECONDS),
    pings: PINGS,
  },
  {
    title: 'messages from a large ring while a request is pending',
    ways: ['patientRequest'],
    attack: flood('messages', 2, 2 ** 28),
  },
  {
    title: `a refusal of ${REFUSAL_BYTES / 1e6} MB`,
    ways: ['patientRequest'],
    attack: [
      '--seconds',
      30,
      '--refusal',
      REFUSAL_BYTES,
      '--capacity',
      2 ** 30,
      '--rounds',
      0,
      '--sessions',
      1,
      '--ending',
      'close',
    ],
    maxMiB: 4000,
    needsMiB: REFUSAL_NEEDS_MIB,
  },
];

function availableMiB() {
  return Number(/MemAvailable:\s*(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
}

/** @type {Stage[]} */
const STAGES = [
  {
    name: 'a ring full of empty messages, against C',
    obstacle: () => '',
    share: 0,
    run: async (arena) => [
      ...(await inC(['receive', 'try'], true)(arena, 0, full('0:0', 'die'))),
      ...(await inC(['receive'], true)(arena, 0, full('0:0', 'close'))),
    ],
  },
  ...SCENES.map((scene) => ({
    name: scene.title,
    obstacle: () => (availableMiB() < (scene.needsMiB ?? 0) ? `needs ${scene.needsMiB} MiB of free memory` : ''),
    share: 0,
    async run(/** @type {Arena} */ arena) {
      const outcomes = [];
      // Where every session ends by itself, one victim serves all ways in turn.
      for (const way of scene.mustEnd ? [scene.ways.join()] : scene.ways)
        outcomes.push(await inNode(arena, { ...scene, title: `${scene.title}, ${way}`, ways: way }));
      return outcomes;
    },
  })),
  {
    name: `mutations against C${hasSanitizers() ? '' : ' (without sanitizers: the compiler has none)'}`,
    obstacle: () => '',
    share: 3,
    run: inC(C_WAYS),
  },
  {
    name: 'mutations against this Node',
    obstacle: () => '',
    share: 2,
    run: async (arena, seconds) => [
      await inNode(arena, {
        title: `Node ${process.version}`,
        ways: 'all',
        attack: ['--seed', arena.seed, '--seconds', seconds],
      }),
    ],
  },
  {
    name: 'mutations against this Node, the addon under sanitizers',
    obstacle: addonObstacle,
    share: 1,
    run: async (arena, seconds) => [
      await inNode(arena, {
        title: 'the addon under sanitizers',
        ways: 'all',
        addon: buildAddon(arena.folder),
        attack: ['--seed', arena.seed + 1, '--seconds', seconds],
      }),
    ],
  },
  {
    name: 'mutations against Node 26',
    obstacle: () =>
      existsSync(otherNode) ? '' : 'not downloaded; ALL_NODES=1 npx jest test/nodes.test.js downloads it',
    share: 1,
    run: async (arena, seconds) => [
      await inNode(arena, {
        title: 'Node 26',
        ways: 'all',
        node: otherNode,
        attack: ['--seed', arena.seed + 2, '--seconds', seconds],
      }),
    ],
  },
];

const boundSeconds = { short: 240, long: 600 };
const SECONDS = { short: 8, long: 200 }; // of mutations; the scenes take 10 to 20 seconds more
const ALL_SHARES = STAGES.reduce((sum, { share }) => sum + share, 0);

/** Compiles what all stages need. Close it at the end. @param {number} seed @returns {Arena} */
function openArena(seed) {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  return { folder, peer: buildPeer(folder), seed };
}

/** @param {Arena} arena */
const closeArena = ({ folder }) => rmSync(folder, { recursive: true });

/** @param {Stage} stage @param {Arena} arena @param {'short' | 'long'} scale */
const runStage = (stage, arena, scale) => stage.run(arena, (SECONDS[scale] * stage.share) / ALL_SHARES);

/** @param {{scale: 'short' | 'long', seed: number, progress?: (fraction: number, text: string) => void}} options */
async function run({ scale, seed, progress }) {
  /** @type {Record<string, number | string>} */
  const figures = { mutations: 0, sessions: 0, 'messages received': 0, 'frames sent': 0 };
  const failures = [];
  const arena = openArena(seed);
  try {
    for (const [index, stage] of STAGES.entries()) {
      progress?.(index / STAGES.length, stage.name);
      const obstacle = stage.obstacle();
      if (obstacle) {
        figures[stage.name] = `skipped: ${obstacle}`;
        continue;
      }
      let mutations = 0;
      for (const outcome of await runStage(stage, arena, scale)) {
        failures.push(...outcome.failures);
        mutations += outcome.peer.mutations;
        figures.sessions = Number(figures.sessions) + outcome.peer.sessions;
        figures['frames sent'] = Number(figures['frames sent']) + outcome.peer.frames;
        figures['messages received'] = Number(figures['messages received']) + (outcome.victim?.messages ?? 0);
      }
      figures.mutations = Number(figures.mutations) + mutations;
      if (stage.share > 0) figures[stage.name] = mutations;
    }
  } finally {
    closeArena(arena);
  }
  return { figures, failures };
}

module.exports = {
  name: 'hostile-peer',
  title: 'A hostile peer',
  boundSeconds,
  run,
  STAGES,
  openArena,
  closeArena,
  runStage,
};
