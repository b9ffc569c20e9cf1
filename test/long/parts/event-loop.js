'use strict';
// Whatever arrives, timers run: floods of messages, requests, responses and doorbells, from one channel or from 64, and peers that
// end with full rings, with every way of receiving and of waiting.
const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { ATTACKS, RECEIVING, allScenarios, nameOf } = require('../event-loop/scenarios.js');

const VICTIM = join(__dirname, '..', 'event-loop', 'victim.js');
const WORK = {
  short: { scenarios: 36, watchMs: 150, fullCapacity: 1 << 25 },
  long: { scenarios: 460, watchMs: 200, fullCapacity: 1 << 28 },
};
const SILENCE_MS = { short: 60_000, long: 60_000 }; // without a scenario's result: the event loop is starved
/**
 * The bounds. They are generous, because the machine may be busy: what counts is the processor time of the victim, and a little
 * of the time on the clock. Of the ticks that an idle event loop gives in that time, a twentieth must be there.
 */
const LEAST_SHARE = 0.05;
const CLOCK_WEIGHT = 0.1;
const MOST_CPU_BETWEEN_TICKS_MS = 1000;
/** Many channels that are flooded alike share the time: none gets less than this part of the mean, once that is many batches. */
const MOST_UNFAIR = 20;
const MEAN_FOR_FAIRNESS = 8192;
const TURNS_PER_ANSWER = 10; // of a quiet channel, for each busy channel beside it

/** Scenarios that have found a defect. */
const ALWAYS = /^(messages on 64 channels|messages beside a quiet channel on 8 channels), received by batches, {}/;

/** Draws some of the scenarios, so that every attack is among them. @param {number} count @param {number} seed */
function draw(count, seed) {
  const all = allScenarios();
  if (count >= all.length) return all;
  const always = all.filter((scenario) => ALWAYS.test(nameOf(scenario)));
  const each = all.length / ATTACKS.length;
  let state = seed;
  const drawn = Array.from({ length: count - always.length }, (_, index) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return all[(index % ATTACKS.length) * each + Math.floor((state / 2 ** 32) * each)];
  });
  return [...always, ...drawn];
}

/**
 * Runs scenarios in one victim, until it is done or starved.
 * @param {any} task
 * @param {number} silenceMs
 * @param {(result: any) => void} onResult
 * @returns {Promise<string | null>} what went wrong with the scenario after the last result
 */
function runVictim(task, silenceMs, onResult) {
  const child = spawn(process.execPath, [VICTIM, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [rest, errors, starved] = ['', '', false];
  const silent = setTimeout(() => {
    starved = true;
    child.kill('SIGKILL');
  }, silenceMs);
  child.stdout.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onResult(JSON.parse(line));
    silent.refresh();
  });
  child.stderr.on('data', (text) => {
    errors += text;
  });
  return new Promise((resolve) =>
    child.on('close', (status, signal) => {
      clearTimeout(silent);
      if (starved) resolve(`the event loop is starved: nothing for ${silenceMs / 1000} s`);
      else
        resolve(
          status === 0 ? null : `the victim ended with ${signal ?? `status ${status}`}: ${errors.slice(0, 1000)}`,
        );
    }),
  );
}

/**
 * @param {import('../event-loop/scenarios.js').Scenario} scenario
 * @param {any} result
 * @param {number} ticksPerMs of an idle event loop
 */
function judge({ attack, channels, way }, { ticks, wallMs, cpuMs, worstCpuMs, received, least, answers }, ticksPerMs) {
  const enough = LEAST_SHARE * ticksPerMs * Math.max(cpuMs, wallMs * CLOCK_WEIGHT);
  if (ticks < enough)
    return `${ticks} ticks in ${Math.round(cpuMs)} ms of processor time; at least ${Math.ceil(enough)}`;
  if (worstCpuMs > MOST_CPU_BETWEEN_TICKS_MS) return `${Math.round(worstCpuMs)} ms of processor time between two ticks`;
  const mean = received / channels;
  const fair = mean < MEAN_FOR_FAIRNESS || least * MOST_UNFAIR >= mean;
  if (attack === 'messages' && RECEIVING.includes(way) && !fair)
    return `a channel is starved: it received ${least} messages; the mean of ${channels} channels is ${Math.round(mean)}`;
  const due = Math.floor(ticks / (channels * TURNS_PER_ANSWER));
  if (answers !== null && RECEIVING.includes(way) && answers < due)
    return `the quiet channel is starved: ${answers} answers in ${ticks} ticks; at least ${due}`;
  return null;
}

module.exports = {
  name: 'event-loop',
  title: 'whatever arrives, timers run',
  /** @param {{scale: 'short' | 'long', seed: number, progress: (fraction: number, text: string) => void}} task */
  async run({ scale, seed, progress }) {
    const { scenarios: count, watchMs, fullCapacity } = WORK[scale];
    const folder = mkdtempSync(join(tmpdir(), 'event-loop-'));
    const path = join(folder, 'victim.sock');
    const scenarios = draw(count, seed);
    /** @type {string[]} */
    const failures = [];
    /** @type {Record<string, number>} */
    const worst = {};
    let ticksPerMs = 0;
    let next = 0;
    try {
      while (next < scenarios.length) {
        const task = { scenarios: scenarios.slice(next), watchMs, fullCapacity, path };
        const failure = await runVictim(task, SILENCE_MS[scale], (result) => {
          if (result.idle) {
            ticksPerMs = result.idle.ticks / result.idle.wallMs;
            return;
          }
          const scenario = scenarios[next++];
          const wrong = judge(scenario, result, ticksPerMs);
          if (wrong) failures.push(`${nameOf(scenario)}: ${wrong}`);
          const label = `${scenario.attack}${scenario.channels > 1 ? ` (${scenario.channels})` : ''}: latest timer, ms`;
          worst[label] = Math.max(worst[label] ?? 0, Math.round(result.worstMs * 10) / 10);
          progress(next / scenarios.length, scenario.attack);
        });
        if (failure === null) break;
        if (next < scenarios.length) failures.push(`${nameOf(scenarios[next])}: ${failure}`);
        else failures.push(failure);
        next++;
        rmSync(path, { force: true });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
    if (next < scenarios.length) failures.push(`only ${next} of ${scenarios.length} scenarios gave a result`);
    return { figures: { scenarios: scenarios.length, 'ticks per ms of an idle loop': ticksPerMs, ...worst }, failures };
  },
};
