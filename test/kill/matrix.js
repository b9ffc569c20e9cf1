'use strict';
// The kill matrix: plays rounds, each with a survivor, a victim and then a good peer, checks what each of them reports, and
// counts.
const { join } = require('node:path');
const { KINDS, PHASES, describe, phaseOf } = require('./plan.js');
const { buildPrograms } = require('./programs.js');
const { Progress, Survivor, beGoodPeer, limited, peerScript, readRecord, runVictim } = require('./survivor.js');

/** @typedef {import('./plan.js').Kind} Kind */
/** @typedef {import('./plan.js').Round} Round */

const MESSAGES = 150; // of a victim that is to reach a step
const ENDLESS = 4_000_000_000;
const steps = join(__dirname, 'steps.js');

/** @param {Kind} victim @param {Kind} survivor */
const pairing = (victim, survivor) => `${victim} killed, ${survivor} survives`;
const isCleanEnd = (/** @type {string} */ code) => code === 'END' || code === 'ERR_CLOSED';

class Matrix {
  #folder;
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

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  async build() {
    this.#programs = await buildPrograms(this.#folder);
  }

  /** @param {Kind} kind */
  start(kind) {
    const program = kind === 'C' ? this.#programs.plain : undefined;
    return new Survivor(join(this.#folder, `survivor-${this.#paths++}`), program).start();
  }

  /** @param {Round} round @param {string} path @param {string} progress */
  #command({ victim, scenario, victimWay, victimSide, victimWait, seed, record, kill }, path, progress) {
    const isStepped = kill?.step !== undefined || record;
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

  /** Plays one round and checks it. Returns the steps that the victim recorded, if it did. @param {InstanceType<typeof Survivor>} survivor @param {Round} round */
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
    const recordPath = join(this.#folder, `record-${this.#paths++}`);
    if (record) env.STEP_RECORD = recordPath;
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
    return record ? readRecord(recordPath) : undefined;
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

module.exports = { Matrix };
