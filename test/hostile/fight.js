'use strict';
// One fight: a victim and the hostile peer, each in its own process, and what became of them.
const { spawn } = require('node:child_process');
const readline = require('node:readline');

const END_MS = 60_000; // for a victim to end once it was asked to
const SHOWN = 2500; // characters of a victim's last words

/**
 * @typedef {object} Fight
 * @property {string} title
 * @property {string[]} victim command line
 * @property {Record<string, string>} [env] of the victim
 * @property {string[]} paths where the victim listens, unless it prints them
 * @property {string} peer the program
 * @property {(string | number)[]} attack its arguments
 * @property {number} [silenceMs] a victim that ticks and then prints nothing for so long has a starved event loop
 * @property {number} [maxMiB] how much private memory the victim may gain
 * @property {number} [pings] the attack ends when the victim's good channel has carried this many messages; it must
 * @property {boolean} [mustEnd] must the victim end every session itself, before its own time limit?
 *
 * @typedef {{victim: any, peer: any, failures: string[]}} Outcome
 */

/** @param {Fight} fight @returns {Promise<Outcome>} */
async function fightOnce(fight) {
  const { title, silenceMs = Number.POSITIVE_INFINITY } = fight;
  /** @type {string[]} */
  const failures = [];
  const victim = spawn(fight.peer, ['--run', ...fight.victim], { env: { ...process.env, ...fight.env } });
  let lastWords = '';
  victim.stderr.on('data', (text) => {
    lastWords = `${lastWords}${text}`.slice(0, SHOWN);
  });
  victim.stdin.on('error', () => {}); // EPIPE: the victim has died, which its status reports
  let heard = Date.now();
  let stopPeer = () => {};
  /** @type {Promise<void>} */
  const enough = new Promise((resolve) => {
    stopPeer = resolve;
  });
  /** @type {any} */
  let summary;
  const lines = readline.createInterface({ input: victim.stdout });
  /** @type {Promise<any>} */
  const ready = new Promise((resolve) => {
    lines.on('line', (line) => {
      heard = Date.now();
      const event = JSON.parse(line);
      if (event.ready) resolve(event);
      else if (!event.tick) summary = event;
      if (fight.pings !== undefined && event.pings >= fight.pings) stopPeer();
    });
  });
  const ended = new Promise((resolve) => {
    victim.on('close', (status, signal) => resolve({ status, signal }));
  });
  let starved = false;
  const watchdog = setInterval(() => {
    if (Date.now() - heard < silenceMs) return;
    starved = true;
    victim.kill('SIGKILL');
  }, 200);

  const started = await Promise.race([ready, ended]);
  let peer = { mutations: 0, sessions: 0, frames: 0, unnoticed: 0, failure: null, last: {}, seed: 0 };
  if (started.ready) {
    const attack = await runPeer(fight.peer, [...(started.paths ?? fight.paths), ...fight.attack], ended, enough);
    if (attack.report) peer = attack.report;
    if (attack.problem) failures.push(`${title}: ${attack.problem}`);
  }
  victim.stdin.end();
  const tooLate = setTimeout(() => victim.kill('SIGKILL'), END_MS);
  const { status, signal } = await ended;
  clearTimeout(tooLate);
  clearInterval(watchdog);

  const again = `seed ${peer.seed}, last session ${JSON.stringify(peer.last)}`;
  if (starved) failures.push(`${title}: no timer of the victim ran for ${silenceMs / 1000} s (${again})`);
  else if (status !== 0) failures.push(`${title}: the victim ended with ${signal ?? status} (${again}): ${lastWords}`);
  if (status === 0 && !summary) failures.push(`${title}: the victim printed no summary`);
  if (peer.failure) failures.push(`${title}: ${peer.failure} (${again})`);
  if (started.ready && status === 0) failures.push(...judge(fight, summary, peer).map((why) => `${title}: ${why}`));
  return { victim: summary, peer, failures };
}

/** @param {Fight} fight @param {any} victim @param {any} peer @returns {string[]} */
function judge({ maxMiB = Number.POSITIVE_INFINITY, mustEnd = false, pings = 1 }, victim, peer) {
  const found = [];
  const grownMiB = victim.grownMiB ?? victim.grownKib / 1024;
  if (peer.sessions === 0) found.push('there was no session');
  if (peer.unnoticed > 0) found.push(`${peer.unnoticed} ends of sessions were not noticed`);
  if (victim.pings < pings) found.push(`the good channel carried ${victim.pings} messages in ${peer.seconds} s`);
  if (mustEnd && victim.overlong > 0) found.push(`${victim.overlong} sessions had no end`);
  if (grownMiB > maxMiB) found.push(`the victim gained ${Math.round(grownMiB)} MiB; the limit is ${maxMiB} MiB`);
  return found;
}

/** @param {string} program @param {(string | number)[]} args @param {Promise<unknown>} victimEnded @param {Promise<void>} enough */
async function runPeer(program, args, victimEnded, enough) {
  const peer = spawn(program, args.map(String), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  peer.stdout.on('data', (text) => {
    output += text;
  });
  peer.stderr.on('data', (text) => {
    errors += text;
  });
  const ended = new Promise((resolve) => {
    peer.on('close', (status, signal) => resolve({ status, signal }));
  });
  // A peer whose victim has died may still wait for it to notice something.
  const gone = victimEnded.then(() => new Promise((resolve) => setTimeout(resolve, 2000, undefined).unref()));
  if (!(await Promise.race([ended, gone, enough]))) peer.kill('SIGTERM');
  const { status, signal } = await ended;
  const report = output ? JSON.parse(output) : undefined;
  const problem = report || signal ? '' : `the hostile peer ended with ${status}: ${errors}`;
  return { report, problem };
}

module.exports = { fightOnce };
