'use strict';
// A user's machine in a temporary folder: a home without settings, an empty project, and a PATH with the runtime and the
// package manager on it but no compiler and no Python. Commands run there with a time limit.
const { spawn } = require('node:child_process');
const { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { onPath } = require('./runtimes.js');

/** What package managers and their wrappers call. Nothing here compiles. */
const COMMANDS = [
  'sh',
  'env',
  'cat',
  'chmod',
  'cp',
  'dirname',
  'ln',
  'ls',
  'mkdir',
  'mv',
  'rm',
  'sed',
  'uname',
  'uniq',
];

/** What a command printed, and how it ended. @typedef {{status: number | null, signal: string | null, stdout: string, stderr: string, tooLate: boolean}} Ended */

/** The first line of an output that tells most, for a table's note. @param {string} output */
function sentence(output) {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const thrown = lines.find((line) => /^(error: )?(Uncaught .*)?\w*Error( \[\w+\])?: /.test(line));
  const telling = lines.find((line) => /\bERR_|[Ee]rror|panic|unsupported|abort/.test(line));
  return (thrown ?? telling ?? lines.at(-1) ?? 'it printed nothing').slice(0, 300);
}

/** How a command ended, in words. @param {string} what @param {Ended} ended @param {number} limitMs */
function describe(what, { status, signal, stdout, stderr, tooLate }, limitMs) {
  if (tooLate) return `${what} did not end within ${limitMs / 1000} s; it had printed: ${sentence(stderr + stdout)}`;
  if (signal) return `${what} crashed with ${signal}: ${sentence(stderr + stdout)}`;
  return `${what} exited with ${status}: ${sentence(stderr + stdout)}`;
}

class Sandbox {
  /**
   * @param {import('./runtimes.js').Runtime} runtime
   * @param {string} registry its address
   */
  constructor(runtime, registry) {
    this.runtime = runtime;
    this.home = realpathSync(mkdtempSync(join(tmpdir(), 'mx-'))); // a short name: socket paths have at most 107 bytes
    this.project = join(this.home, 'project');
    this.bin = join(this.home, 'bin');
    mkdirSync(this.project);
    mkdirSync(this.bin);
    mkdirSync(join(this.home, 'tmp'));
    for (const name of COMMANDS) {
      const found = onPath(name);
      if (found) symlinkSync(realpathSync(found), join(this.bin, name));
    }
    this.addCommand(runtime.command, runtime.start);
    // The one setting: where packages come from.
    writeFileSync(join(this.home, '.npmrc'), `registry=${registry}/\n`);
    writeFileSync(
      join(this.home, '.yarnrc.yml'),
      `npmRegistryServer: "${registry}"\nunsafeHttpWhitelist: ["127.0.0.1"]\nenableTelemetry: false\n`,
    );
    this.env = {
      PATH: this.bin,
      HOME: this.home,
      TMPDIR: join(this.home, 'tmp'),
      NO_COLOR: '1',
      npm_config_globalconfig: join(this.home, 'no-global-npmrc'),
    };
  }

  /** Puts a command on the PATH. @param {string} name @param {string[]} command */
  addCommand(name, [program, ...args]) {
    const path = join(this.bin, name);
    if (args.length === 0) return symlinkSync(program, path);
    const quoted = [program, ...args].map((word) => `'${word}'`).join(' ');
    writeFileSync(path, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  }

  /**
   * Starts a command in the project. It has a process group of its own, so that stop() ends its children, too.
   * @param {string[]} command @param {Record<string, string>} [env] more variables
   */
  start([name, ...args], env) {
    const options = { cwd: this.project, env: { ...this.env, ...env }, detached: true };
    const child = spawn(name.includes('/') ? name : join(this.bin, name), args, {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (text) => (output.stdout += text));
    child.stderr.on('data', (text) => (output.stderr += text));
    /** @type {Promise<{status: number | null, signal: string | null}>} */
    const closed = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status, signal) => resolve({ status, signal }));
    });
    closed.catch(() => {}); // reported to those who wait
    const stop = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {} // the whole group has ended
    };
    return { child, output, closed, stop };
  }

  /**
   * Runs a command to its end. Fails with a sentence unless it exits with 0.
   * @param {string[]} command
   * @param {{limitMs?: number, env?: Record<string, string>}} [options]
   */
  async run(command, { limitMs = 60_000, env } = {}) {
    const limit = limitMs * this.runtime.patience;
    const { output, closed, stop } = this.start(command, env);
    let tooLate = false;
    const timer = setTimeout(() => {
      tooLate = true;
      stop();
    }, limit);
    const ended = { ...(await closed), ...output, tooLate };
    clearTimeout(timer);
    stop(); // what it started and left
    const shown = command.map((word) => word.replace(`${this.home}/`, '')).join(' ');
    if (ended.status !== 0 || tooLate) throw new Error(describe(shown, ended, limit));
    return ended.stdout;
  }

  /** The command that runs a program of the project. @param {string} file @param {string[]} args */
  program(file, ...args) {
    return [this.runtime.command, ...this.runtime.run, file, ...args];
  }

  remove() {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

module.exports.Sandbox = Sandbox;
module.exports.sentence = sentence;
