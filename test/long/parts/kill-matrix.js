'use strict';
// The kill matrix: SIGKILL of either side at every named step of the handshake, of sending, receiving, sleeping and closing,
// and at random moments under load, for C and Node in every pairing. After each death, the survivor must have received an
// exact prefix of what was sent, have noticed, and hold nothing more than before; and the next good peer gets in.
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { buildPrograms } = require('../../kill/programs.js');
const {
  Progress,
  Survivor,
  beGoodPeer,
  limited,
  peerScript,
  readRecord,
  runVictim,
} = require('../../kill/survivor.js');

const steps = join(__dirname, '..', '..', 'kill', 'steps.js');

const SCALES = {
  short: { kills: 100, atSteps: 70, blockMs: 300 },
  long: { kills: 1000, atSteps: 650, blockMs: 10_000 },
};
const KINDS = /** @type {const} */ (['C', 'Node']);
const SIDES = ['connect', 'listen'];
const WAITS = ['0', '1', '2'];
const SLEEP = '2';
const MESSAGES = 150; // of a victim that is to reach a step
const MAX_RESTARTS = 3; // of a survivor, after failures
const ENDLESS = 4_000_000_000;

/** What the victim does, and how; then what the survivor does. Requests exist only between Node processes. */
const SCENARIOS = ['send', 'receive', 'echo'];
const NODE_SCENARIOS = ['request', 'respond'];
const VICTIM_WAYS = { C: ['receive'], Node: ['receive', 'iterate', 'batches', 'sync', 'poll'] };
const SURVIVOR_WAYS = {
  C: ['receive', 'try', 'bare'],
  Node: ['receive', 'iterate', 'batches', 'sync', 'poll', 'into', 'read', 'bare', 'stream', 'web'],
};

/** The phase of a step, by its name: the first pattern that matches. @type {[string, RegExp][]} */
const PHASES = [
  ['closing', /clos|munmap|region_release|releaseRegion|unlisten|unlink/i],
  ['sleeping', /waiting|sleep|poll|drain|event of the socket|waitReadable|doorbell|ring$|fence/],
  ['handshake', /handshake|Hello|socket|peerOf|createRegion|region_|map_twice|listen|accept|connect|isOurKind|holdFd/],
  ['receiving', /ring_peek|ring_consume|the peer's signal|my read position|copy out|try_receive/],
  ['sending', /./],
];
const phaseOf = (/** @type {string} */ name) =>
  /** @type {any} */ (PHASES.find(([, pattern]) => pattern.test(name)))[0];

/** Numbers that follow from a seed. */
class Random {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** @param {number} limit @returns {number} an integer from 0 to limit - 1 */
  below(limit) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  }

  /** @template T @param {readonly T[]} values @returns {T} */
  pick(values) {
    return values[this.below(values.length)];
  }

  /** @template T @param {T[]} values @returns {T[]} the same values in another order */
  shuffled(values) {
    const keyed = values.map((value) => ({ value, key: this.below(2 ** 31) }));
    return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
  }
}

/**
 * @typedef {'C' | 'Node'} Kind
 * @typedef {object} Round
 * @property {Kind} victim
 * @property {Kind} survivor
 * @property {string} scenario
 * @property {string} victimWay
 * @property {string} survivorWay
 * @property {string} victimSide
 * @property {string} victimWait index of the way to wait
 * @property {string} survivorWait
 * @property {number} seed of the messages
 * @property {string} [record] the file for the victim's steps, if it is to record them
 * @property {{step?: string, nth: number, mode: string, afterMs: number, from: string, frozen: boolean, blockMs: number}} [kill]
 */

/** @param {Round} round */
function describe({ victim, survivor, scenario, victimWay, survivorWay, victimSide, victimWait, survivorWait, kill }) {
  const how = kill?.step
    ? `"${kill.step}" number ${kill.nth}, ${kill.mode}`
    : kill && `${kill.afterMs} ms after ${kill.from}`;
  return (
    `${victim} victim (${scenario} by ${victimWay}, ${victimSide}, wait ${victimWait}), ${survivor} survivor ` +
    `(${survivorWay}, wait ${survivorWait}${kill?.frozen ? ', frozen' : ''}), killed at ${how ?? 'no step'}`
  );
}

class Matrix {
  #folder;
  #random;
  #programs = { plain: '', stepped: '' };
  #paths = 0;
  /** @type {string[]} */ failures = [];
  kills = 0;
  killsAtSteps = 0;
  latestMs = 0;
  messages = 0;
  refusals = 0;
  /** @type {Set<string>} */ reached = new Set();
  /** @type {Map<string, number>} */ byPhase = new Map(PHASES.map(([phase]) => [phase, 0]));
  /** @type {Map<string, number>} */ byPairing = new Map();

  /** @param {string} folder @param {number} seed */
  constructor(folder, seed) {
    this.#folder = folder;
    this.#random = new Random(seed);
  }

  async build() {
    this.#programs = await buildPrograms(this.#folder);
  }

  /** @param {Kind} kind */
  start(kind) {
    const program = kind === 'C' ? this.#programs.plain : undefined;
    return new Survivor(join(this.#folder, `survivor-${this.#paths++}`), program).start();
  }

  // ---- The plan ----

  /** A round without a kill. @param {Kind} victim @param {Kind} survivor @param {string} scenario @param {string} victimSide @returns {Round} */
  round(victim, survivor, scenario, victimSide) {
    const random = this.#random;
    const victimWay = random.pick(VICTIM_WAYS[victim]);
    return {
      victim,
      survivor,
      scenario,
      victimWay,
      survivorWay: random.pick(SURVIVOR_WAYS[survivor]),
      victimSide,
      victimWait: random.pick(WAITS),
      survivorWait: random.pick(WAITS),
      seed: 1 + random.below(2 ** 31),
    };
  }

  /** One round for each situation, in which the victim records its steps. @param {Kind} survivor @returns {Round[]} */
  recordings(survivor) {
    return KINDS.flatMap((victim) =>
      this.#scenarios(victim, survivor).flatMap((scenario) =>
        // Two processes that only spin would record no sleep.
        SIDES.map((side) => ({
          ...this.round(victim, survivor, scenario, side),
          victimWait: side === 'connect' ? SLEEP : '0',
          victimWay: side === 'connect' ? 'receive' : this.#random.pick(VICTIM_WAYS[victim]),
          record: join(this.#folder, `record-${this.#paths++}`),
        })),
      ),
    );
  }

  /** @param {Kind} victim @param {Kind} survivor */
  #scenarios(victim, survivor) {
    return victim === 'Node' && survivor === 'Node' ? [...SCENARIOS, ...NODE_SCENARIOS] : SCENARIOS;
  }

  /**
   * Kills at named steps: first each step once, then again at other times it is reached.
   * @param {{round: Round, steps: Map<string, number>}[]} recorded
   * @param {number} count
   * @returns {Round[]}
   */
  killsAt(recorded, count) {
    const random = this.#random;
    /** @type {Map<string, {round: Round, step: string, most: number}[]>} by victim and step */
    const places = new Map();
    for (const { round, steps: names } of random.shuffled(recorded)) {
      for (const [step, most] of names) {
        const key = `${round.victim}: ${step}`;
        places.set(key, [...(places.get(key) ?? []), { round, step, most }]);
      }
    }
    const lists = random.shuffled([...places.values()]);
    return Array.from({ length: count }, (_, at) => {
      const pass = Math.floor(at / lists.length);
      const candidates = lists[at % lists.length];
      const { round, step, most } = candidates[(pass + at) % candidates.length];
      const nth = pass === 0 && at % 2 === 0 ? 1 : 1 + random.below(Math.max(1, Math.ceil(0.8 * most)));
      const mode = random.pick(['die', 'die', 'stop', 'mark']);
      const kill = {
        step,
        nth,
        mode,
        afterMs: random.below(mode === 'mark' ? 3 : 6),
        from: '!',
        frozen: false,
        blockMs: 0,
      };
      const survivorWay = random.pick(SURVIVOR_WAYS[round.survivor]);
      const survivorWait = random.pick(WAITS);
      return { ...round, survivorWay, survivorWait, seed: 1 + random.below(2 ** 31), record: undefined, kill };
    });
  }

  /** A kill at a random moment, without the steps. @param {Kind} victim @param {Kind} survivor @returns {Round} */
  randomKill(victim, survivor) {
    const random = this.#random;
    const from = random.below(5) === 0 ? 'spawn' : 'o';
    const afterMs = from === 'o' ? random.below(40) : random.below(victim === 'C' ? 8 : 120);
    const kill = { nth: 0, mode: 'random', afterMs, from, frozen: from === 'o' && random.below(6) === 0, blockMs: 0 };
    return {
      ...this.round(victim, survivor, random.pick(this.#scenarios(victim, survivor)), random.pick(SIDES)),
      kill,
    };
  }

  // ---- One round ----

  /** @param {Round} round @param {string} path @param {string} progress */
  #command({ victim, scenario, victimWay, victimSide, victimWait, seed, record, kill }, path, progress) {
    const isStepped = kill?.step !== undefined || record !== undefined;
    const program =
      victim === 'C'
        ? [isStepped ? this.#programs.stepped : this.#programs.plain]
        : [process.execPath, ...(isStepped ? ['--require', steps] : []), peerScript];
    const count = isStepped ? MESSAGES : ENDLESS;
    return [
      ...program,
      'victim',
      scenario,
      victimWay,
      victimSide,
      path,
      victimWait,
      String(seed),
      String(count),
      progress,
    ];
  }

  /** Plays one round and checks it. @param {InstanceType<typeof Survivor>} survivor @param {Round} round */
  async play(survivor, round) {
    const { kill, record } = round;
    const fault = (/** @type {string} */ text) => {
      this.failures.push(`${describe(round)}: ${text}`);
    };
    const survivorSide = round.victimSide === 'connect' ? 'listen' : 'connect';
    const path =
      survivorSide === 'listen' ? `${survivor.base}.${round.survivorWait}` : join(this.#folder, `v${this.#paths++}`);
    const progress = new Progress(join(this.#folder, `progress-${this.#paths++}`));
    /** @type {Record<string, string>} */
    const env = {};
    if (record !== undefined) env.STEP_RECORD = record;
    if (kill?.step !== undefined) Object.assign(env, { STEP: kill.step, STEP_NTH: kill.nth, STEP_MODE: kill.mode });

    const { scenario, survivorWay, survivorWait, seed } = round;
    survivor.write(`${scenario} ${survivorWay} ${survivorSide} ${path} ${survivorWait} ${seed} ${kill?.blockMs ?? 0}`);
    await survivor.next(); // ready
    const victim = await runVictim({
      command: this.#command(round, path, progress.path),
      env,
      onMark: (killAfter, mark) => {
        if (mark !== kill?.from) return;
        if (kill.frozen) survivor.kill('SIGSTOP');
        killAfter(kill.afterMs);
      },
    });
    if (kill?.frozen) survivor.kill('SIGCONT');
    const wasKilled = victim.signal === 'SIGKILL';
    if (!wasKilled && (victim.status !== 0 || victim.errors))
      fault(`the victim failed: ${victim.errors || victim.status}`);

    const goodPeer = beGoodPeer({ scenario, seed, victimSide: round.victimSide, path });
    const goodPeerFailed = goodPeer.then(
      () => '',
      (error) => `the good peer failed: ${error.stack}`,
    );
    const channels = await this.#eventsUntilDone(survivor, victim.at, kill?.frozen || kill?.blockMs !== 0, fault);
    const text = await limited(goodPeerFailed, 'the good peer');
    if (text) fault(text);
    this.#check(wasKilled, channels, progress.take(), fault);
    if (wasKilled) this.#count(round);
  }

  /** @param {InstanceType<typeof Survivor>} survivor @param {number} diedAt @param {boolean} isHeldUp @param {(text: string) => void} fault */
  async #eventsUntilDone(survivor, diedAt, isHeldUp, fault) {
    const channels = [];
    for (;;) {
      const event = await survivor.next();
      if (event.event === 'channel') {
        channels.push(event);
        if (!event.last && !isHeldUp) this.latestMs = Math.max(this.latestMs, event.at - diedAt);
      } else if (event.event === 'refused') {
        this.refusals++;
        if (event.code !== 'ERR_PEER_DIED') fault(`a handshake failed with ${event.code}`);
      } else {
        const { descriptors, mappings } = event;
        if (descriptors !== survivor.held.descriptors || mappings !== survivor.held.mappings)
          fault(
            `the survivor holds ${JSON.stringify({ descriptors, mappings })}, before: ${JSON.stringify(survivor.held)}`,
          );
        return channels;
      }
    }
  }

  /**
   * @param {boolean} wasKilled @param {any[]} channels @param {ReturnType<InstanceType<typeof Progress>['take']>} progress
   * @param {(text: string) => void} fault
   */
  #check(wasKilled, channels, progress, fault) {
    for (const { fault: text } of channels) if (text) fault(text);
    const last = channels.pop();
    if (!last?.last) fault('the good peer was not the last');
    else if (!isCleanEnd(last.code)) fault(`the good peer closed, and the survivor got ${last.code}`);
    if (channels.length > 1) fault(`${channels.length} channels before the good peer`);
    if (progress.faulty) fault('the victim received something else than what was sent');
    const [channel] = channels;
    if (channel === undefined) {
      if (progress.published > 0 || progress.received > 0) fault('the channel of the victim was lost');
      return;
    }
    const { code, later, received, sent } = channel;
    this.messages += received + progress.received;
    if (received < progress.published || received > progress.started)
      fault(
        `received ${received} messages; the victim published ${progress.published} and started ${progress.started}`,
      );
    if (progress.received > sent + 1) fault(`the victim received ${progress.received} of ${sent} messages`);
    const mayBeClean = !wasKilled || progress.closing;
    const isDeath = code === 'ERR_PEER_DIED';
    if (!(wasKilled && isDeath) && !(mayBeClean && isCleanEnd(code))) fault(`the call that waited ended with ${code}`);
    const wrong = later.filter((/** @type {string} */ each) =>
      isDeath ? each !== 'ERR_PEER_DIED' : !isCleanEnd(each),
    );
    if (wrong.length > 0) fault(`after ${code}, later calls ended with ${later.join(', ')}`);
  }

  /** How many kills a survivor has seen. @param {Kind} survivor */
  killsBefore(survivor) {
    return KINDS.reduce((sum, victim) => sum + (this.byPairing.get(pairing(victim, survivor)) ?? 0), 0);
  }

  /** @param {Round} round */
  #count({ victim, survivor, kill }) {
    this.kills++;
    const key = pairing(victim, survivor);
    this.byPairing.set(key, (this.byPairing.get(key) ?? 0) + 1);
    if (kill?.step === undefined) return;
    this.killsAtSteps++;
    this.reached.add(`${victim}: ${kill.step}`);
    const phase = phaseOf(kill.step);
    this.byPhase.set(phase, (this.byPhase.get(phase) ?? 0) + 1);
  }
}

/** @param {Kind} victim @param {Kind} survivor */
const pairing = (victim, survivor) => `${victim} killed, ${survivor} survives`;
const isCleanEnd = (/** @type {string} */ code) => code === 'END' || code === 'ERR_CLOSED';

/**
 * @param {Matrix} matrix
 * @param {Kind} survivorKind
 * @param {{kills: number, atSteps: number, blockMs: number}} size
 * @param {(text: string) => void} onRound
 */
async function runLane(matrix, survivorKind, size, onRound) {
  let survivor = await matrix.start(survivorKind);
  let restarts = 0;
  /** @param {Round} round @returns {Promise<boolean>} was it played to its end? */
  const play = async (round) => {
    onRound(describe(round));
    try {
      await matrix.play(survivor, round);
      await survivor.checkBystander();
      return true;
    } catch (error) {
      matrix.failures.push(`${describe(round)}: ${/** @type {Error} */ (error).message}`);
      await survivor.abandon();
      if (++restarts > MAX_RESTARTS) throw new Error(`the ${survivorKind} survivor: too many failures`);
      survivor = await matrix.start(survivorKind);
      return false;
    }
  };
  try {
    const recorded = [];
    for (const round of matrix.recordings(survivorKind)) {
      if (await play(round)) recorded.push({ round, steps: readRecord(/** @type {string} */ (round.record)) });
    }
    const rounds = matrix.killsAt(recorded, Math.round(size.atSteps / 2));
    for (let at = rounds.length; at < size.kills / 2; at++) rounds.push(matrix.randomKill(KINDS[at % 2], survivorKind));
    if (survivorKind === 'Node') {
      const blocked = matrix.randomKill('C', 'Node');
      rounds.push({ ...blocked, kill: { .../** @type {any} */ (blocked.kill), from: 'o', blockMs: size.blockMs } });
    }
    for (const round of rounds) await play(round);
    // A step that is reached less often than in the recording kills nobody: make up for it.
    while (matrix.killsBefore(survivorKind) < size.kills / 2) await play(matrix.randomKill('C', survivorKind));
    const { status, signal, errors } = await survivor.end();
    if (status !== 0 || errors)
      matrix.failures.push(`the ${survivorKind} survivor ended with ${signal ?? status}: ${errors}`);
    return recorded.flatMap(({ round, steps: names }) => [...names.keys()].map((name) => `${round.victim}: ${name}`));
  } catch (error) {
    matrix.failures.push(String(/** @type {Error} */ (error).message));
    await survivor.abandon();
    return [];
  }
}

/**
 * @param {{scale: 'short' | 'long', seed: number, progress?: (fraction: number, text: string) => void}} options
 * @returns {Promise<{figures: Record<string, number | string>, failures: string[]}>}
 */
async function run({ scale, seed, progress = () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'kill-matrix-'));
  try {
    const size = SCALES[scale];
    const matrix = new Matrix(folder, seed);
    await matrix.build();
    const onRound = (/** @type {string} */ text) => progress(Math.min(1, matrix.kills / size.kills), text);
    const names = await Promise.all(KINDS.map((kind) => runLane(matrix, kind, size, onRound)));
    const { failures } = matrix;
    const left = readdirSync(folder).filter((name) => /^(survivor|v\d|progress|record)/.test(name));
    if (left.length > 0) failures.push(`left behind: ${left.join(', ')}`);
    for (const [phase, kills] of matrix.byPhase) if (kills === 0) failures.push(`no kill in the phase "${phase}"`);
    const figures = {
      kills: matrix.kills,
      'kills at named steps': matrix.killsAtSteps,
      'named steps': new Set(names.flat()).size,
      'named steps with a kill': matrix.reached.size,
      ...Object.fromEntries([...matrix.byPhase].map(([phase, kills]) => [`kills while ${phase}`, kills])),
      ...Object.fromEntries([...matrix.byPairing].sort()),
      'messages checked': matrix.messages,
      'handshakes that ended with the victim': matrix.refusals,
      'latest notice of a death, ms': Math.round(matrix.latestMs),
    };
    return { figures, failures };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

module.exports = { name: 'kill-matrix', title: 'Either side killed at every step and at random moments', run };
