'use strict';
// The C code compiled for arm64, under qemu's user-mode emulation: every test of ring-test.c, and channels between programs for
// arm64 and for this machine. This checks the layout, the alignment and the instructions of the other architecture. It does
// not check the memory order: the emulated program runs on this machine's processor. test/model/ checks that.
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { C_INTERFACE, RING } = require('../../native.js');
const { runProgram } = require('../run-program.js');

const root = join(__dirname, '..', '..', '..');
const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-pthread'];
const RUN_BOUND_MS = 180_000;

const COMPILERS = [
  ['aarch64-linux-gnu-gcc'],
  ['zig', 'cc', '-target', 'aarch64-linux-musl'],
  ['python3', '-m', 'ziglang', 'cc', '-target', 'aarch64-linux-musl'],
];
const EMULATORS = ['qemu-aarch64', 'qemu-aarch64-static'];

const MESSAGES = {
  short: { steps: 50_000, threads: 20_000, processes: 200_000, channel: 20_000 },
  long: { steps: 1_000_000, threads: 500_000, processes: 10_000_000, channel: 1_000_000 },
};

/** @param {string[]} command */
const runs = ([name, ...args]) => spawnSync(name, [...args, '--version'], { encoding: 'utf8' }).status === 0;

/** The compiler and the emulator, or why the tests cannot run here. */
function findTools() {
  if (process.arch === 'arm64') return { missing: 'this machine is arm64: ring.test.js runs the same tests' };
  const compiler = COMPILERS.find(runs);
  if (!compiler) return { missing: 'no compiler for arm64 is installed, such as aarch64-linux-gnu-gcc or zig' };
  const emulator = EMULATORS.find((name) => runs([name]));
  if (!emulator) return { missing: `no emulator is installed: ${EMULATORS.join(' or ')}` };
  return { missing: '', compiler, emulator };
}

/** @param {string[]} compiler @param {string} output @param {string[]} sources @param {string[]} [defines] */
function compile([name, ...args], output, sources, defines = []) {
  const all = [...args, ...FLAGS, ...defines, '-o', output, ...sources];
  const { status, stderr } = spawnSync(name, all, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
  return output;
}

/** @param {string[]} command */
const start = (command) => runProgram(command, { timeout: RUN_BOUND_MS });

/**
 * One producer sends to one consumer.
 * @param {string[]} producer @param {string[]} consumer @param {string} path @param {number} messages
 * @returns {Promise<string>} what went wrong; "": nothing
 */
async function exchange(producer, consumer, path, messages) {
  const [sent, received] = await Promise.all([
    start([...producer, path, String(messages)]),
    start([...consumer, path]),
  ]);
  if (sent.status !== 0 || received.status !== 0)
    return `the producer ended with ${sent.status} ${sent.stderr}, the consumer with ${received.status} ${received.stderr}`;
  const lines = received.stdout.split('\n');
  const wrong = lines.findIndex((line, i) => line !== (i < messages ? `message ${i}` : ''));
  if (wrong >= 0) return `line ${wrong + 1} is "${lines[wrong]}"`;
  return lines.length === messages + 1 ? '' : `${lines.length - 1} messages arrived instead of ${messages}`;
}

module.exports = {
  name: 'arm64',
  title: 'The C code on arm64, emulated by qemu',
  findTools,

  /**
   * @param {{scale: 'short' | 'long', seed?: number, progress?: (fraction: number, text: string) => void}} options
   * @returns {Promise<{figures: Record<string, number | string>, failures: string[], skipped?: string}>}
   */
  async run({ scale, progress = () => {} }) {
    const { missing, compiler, emulator } = findTools();
    if (!compiler || !emulator) return { figures: {}, failures: [], skipped: missing };
    const folder = mkdtempSync(join(tmpdir(), 'crossings-arm64-'));
    try {
      const { steps, threads, processes, channel } = MESSAGES[scale];
      const forArm = [...compiler, '-static'];
      const failures = [];

      progress(0, 'compiling for arm64');
      const counts = [`-DRANDOM_STEPS=${steps}`, `-DTHREAD_MESSAGES=${threads}`, `-DPROCESS_MESSAGES=${processes}`];
      const ring = compile(forArm, join(folder, 'ring-test'), ['test/ring-test.c', ...RING], counts);
      const names = (await start([emulator, ring])).stdout.trim().split('\n');
      for (const [index, name] of names.entries()) {
        progress(0.1 + (index / names.length) * 0.6, name);
        const { status, stderr } = await start([emulator, ring, name]);
        if (status !== 0 || stderr !== '') failures.push(`${name}: status ${status}: ${stderr}`);
      }

      /** @type {Record<string, {producer: string[], consumer: string[]}>} */
      const programs = {};
      for (const [machine, by, runner] of /** @type {const} */ ([
        ['arm64', forArm, [emulator]],
        [process.arch, [process.env.CC || 'cc'], []],
      ])) {
        const build = (/** @type {string} */ what) =>
          compile([...by], join(folder, `${what}-${machine}`), [`native/examples/${what}.c`, ...C_INTERFACE]);
        programs[machine] = { producer: [...runner, build('producer')], consumer: [...runner, build('consumer')] };
      }
      const pairs = [
        ['arm64', 'arm64'],
        ['arm64', process.arch],
        [process.arch, 'arm64'],
      ];
      for (const [index, [from, to]] of pairs.entries()) {
        progress(0.8 + (index / pairs.length) * 0.2, `${from} to ${to}`);
        const path = join(folder, `${from}-${to}.sock`);
        const wrong = await exchange(programs[from].producer, programs[to].consumer, path, channel);
        if (wrong) failures.push(`from ${from} to ${to}: ${wrong}`);
      }
      const figures = { tests: names.length, 'messages between processes': processes, 'messages per pair': channel };
      return { figures, failures };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
