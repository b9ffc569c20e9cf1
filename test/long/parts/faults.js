'use strict';
// Faults: system calls that fail, limits that are reached, an event loop that is blocked. Each failure is a clear error with a
// code, leaves nothing behind, and the process goes on.
const { spawn, spawnSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
/** @type {any} the declared types have their own test */
const crossings = require('../../../lib/index.js');
const { root } = require('../../support.js');

const SCALES = {
  short: { everyCase: 16, channels: 500, blockedMs: 1000, clients: 300 },
  long: { everyCase: 1, channels: 500, blockedMs: 10_000, clients: 1000 },
};

const compiler = process.env.CC || 'cc';

/** Compiles faults.c as a library. @param {string} output @returns {string} "" or why it could not be compiled */
function compile(output) {
  const args = [
    '-std=gnu11',
    '-D_GNU_SOURCE',
    '-O1',
    '-fPIC',
    '-shared',
    '-o',
    output,
    'test/hostile/faults.c',
    '-ldl',
  ];
  const { status, stderr, error } = spawnSync(compiler, args, { cwd: root, encoding: 'utf8' });
  if (error) return `${compiler}: ${error.message}`;
  return status === 0 ? '' : stderr;
}

/** Starts faulty.js. @param {string} role @param {string} folder @param {number} number @param {NodeJS.ProcessEnv} [env] @param {string[]} [before] a command to run it with */
function startFaulty(role, folder, number, env = {}, before = []) {
  mkdirSync(folder);
  const script = join(root, 'test', 'hostile', 'faulty.js');
  const [command, ...args] = [...before, process.execPath, '--expose-gc', script, role, folder, String(number)];
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  const ended = new Promise((resolve) => child.once('close', (status, signal) => resolve({ status, signal, output })));
  return { child, ended, outputSoFar: () => output };
}

/** What faulty.js reported: its counts, and everything else, which is a failure. @param {string} name @param {any} end */
function judge(name, { status, signal, output }) {
  const lines = output.split('\n').filter(Boolean);
  const counts = lines.find((/** @type {string} */ line) => line.startsWith('counts '));
  const failures = lines
    .filter((/** @type {string} */ line) => line !== counts)
    .map((/** @type {string} */ line) => `${name}: ${line}`);
  if (status !== 0) failures.push(`${name} ended: ${status ?? signal}`);
  else if (!counts) failures.push(`${name} did not finish`);
  return { counts: counts ? JSON.parse(counts.slice('counts '.length)) : {}, failures };
}

/** Clients that connect while the server's event loop is blocked are all served afterwards. @param {string} folder @param {number} blockedMs @param {number} clients */
async function blockServer(folder, blockedMs, clients) {
  const { child, ended, outputSoFar } = startFaulty('blocked', folder, blockedMs);
  while (!outputSoFar().includes('listening') && child.exitCode === null)
    await new Promise((resolve) => setTimeout(resolve, 5));
  child.stdin.write('block');
  const failures = [];
  const exchanges = Array.from({ length: clients }, async (_, i) => {
    const path = join(folder, 'feed.sock');
    const channel = await crossings.connect(path, { capacity: 65536, timeout: 120_000 });
    await channel.send(`from ${i}`);
    const answer = String(await channel.receive());
    await channel.close();
    if (answer !== `from ${i}`) throw new Error(`client ${i} got ${answer}`);
  });
  for (const outcome of await Promise.allSettled(exchanges))
    if (outcome.status === 'rejected') failures.push(`blocked: ${outcome.reason.stack}`);
  child.stdin.end();
  const { status, signal, output } = await ended;
  if (status !== 0 || output !== 'listening\n') failures.push(`blocked ended: ${status ?? signal}. ${output}`);
  return failures;
}

module.exports = {
  name: 'faults',
  title: 'faults: every failure is a clear error, and nothing is left behind',
  /** @param {{scale: 'short' | 'long', progress?: (fraction: number, text: string) => void}} task */
  async run({ scale, progress = () => {} }) {
    const { everyCase, channels, blockedMs, clients } = SCALES[scale];
    const folder = mkdtempSync(join(tmpdir(), 'faults-'));
    /** @type {Record<string, number | string>} */
    const figures = {};
    /** @type {string[]} */
    const failures = [];
    try {
      progress(0, 'system calls that fail');
      const library = join(folder, 'faults.so');
      const problem = compile(library);
      if (problem) {
        figures['system calls that fail'] = `not run: ${problem}`;
      } else {
        const words = join(folder, 'words');
        writeFileSync(words, Buffer.alloc(4096));
        const env = { FAULTS: words, LD_PRELOAD: library };
        const { counts, failures: found } = judge(
          'faults',
          await startFaulty('faults', join(folder, 'a'), everyCase, env).ended,
        );
        failures.push(...found);
        figures['system calls that failed'] = counts.cases;
        figures['of them with an error'] = counts.failed;
        if (!(counts.failed > 0)) failures.push('no fault had any effect: the library does not work');
      }
      progress(0.6, 'channels in one process');
      const several = judge('many', await startFaulty('many', join(folder, 'b'), channels).ended);
      failures.push(...several.failures);
      figures['channels in one process'] = several.counts.channels;
      progress(0.7, 'a limit on the size of files');
      const limit = ['sh', '-c', 'ulimit -f 8; exec "$@"', 'sh'];
      const limited = await startFaulty('limited', join(folder, 'c'), 0, {}, limit).ended;
      if (limited.status !== 0 || !/^error ERR_SYSTEM: .*File too large\.\n$/.test(limited.output))
        failures.push(`limited: ${limited.status ?? limited.signal}. ${limited.output}`);
      progress(0.8, 'a server whose event loop is blocked');
      failures.push(...(await blockServer(join(folder, 'd'), blockedMs, clients)));
      figures['clients of a blocked server'] = clients;
      figures['blocked for, ms'] = blockedMs;
      for (const each of ['a', 'b', 'c', 'd'].filter((name) => readdirSync(folder).includes(name)))
        if (readdirSync(join(folder, each)).length > 0) failures.push(`files are left in ${each}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
    return { figures, failures };
  },
};
