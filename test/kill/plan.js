'use strict';
// The plan of the kill matrix: which victim meets which survivor, what they exchange, and where or when the victim is killed.
// Everything follows from a seed.

const KINDS = /** @type {const} */ (['C', 'Node']);
const SIDES = ['connect', 'listen'];
const WAITS = ['0', '1', '2'];
const SLEEP = '2';

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
  ['handshake', /handshake|Hello|socket|peerOf|createRegion|region_|map_twice|listen|accept|connect|worksOver|holdFd/],
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
 * @property {boolean} [record] does the victim record its steps?
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

/** The rounds of one survivor. */
class Plan {
  #random;
  #survivor;

  /** @param {Kind} survivor @param {number} seed */
  constructor(survivor, seed) {
    this.#survivor = survivor;
    this.#random = new Random(seed);
  }

  /** A round without a kill. @param {Kind} victim @param {string} scenario @param {string} victimSide @returns {Round} */
  #round(victim, scenario, victimSide) {
    const random = this.#random;
    const survivor = this.#survivor;
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

  /** One round for each situation, in which the victim records its steps. @returns {Round[]} */
  recordings() {
    return KINDS.flatMap((victim) =>
      this.#scenarios(victim).flatMap((scenario) =>
        // Two processes that only spin would record no sleep.
        SIDES.map((side) => ({
          ...this.#round(victim, scenario, side),
          victimWait: side === 'connect' ? SLEEP : '0',
          victimWay: side === 'connect' ? 'receive' : this.#random.pick(VICTIM_WAYS[victim]),
          record: true,
        })),
      ),
    );
  }

  /** @param {Kind} victim */
  #scenarios(victim) {
    return victim === 'Node' && this.#survivor === 'Node' ? [...SCENARIOS, ...NODE_SCENARIOS] : SCENARIOS;
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
      return { ...round, survivorWay, survivorWait, seed: 1 + random.below(2 ** 31), record: false, kill };
    });
  }

  /** A kill at a random moment, without the steps. @param {Kind} victim @returns {Round} */
  randomKill(victim) {
    const random = this.#random;
    const from = random.below(5) === 0 ? 'spawn' : 'o';
    const afterMs = from === 'o' ? random.below(40) : random.below(victim === 'C' ? 8 : 120);
    const kill = { nth: 0, mode: 'random', afterMs, from, frozen: from === 'o' && random.below(6) === 0, blockMs: 0 };
    return {
      ...this.#round(victim, random.pick(this.#scenarios(victim)), random.pick(SIDES)),
      kill,
    };
  }
}

module.exports = { KINDS, PHASES, Plan, describe, phaseOf };
