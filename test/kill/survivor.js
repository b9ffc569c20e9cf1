'use strict';
// The processes of one round, as the kill matrix sees them: the survivor, which goes through all rounds, the victim, and the
// good peer after it, which is this process itself.
const { spawn } = require('node:child_process');
const { readFileSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
/** @type {any} */
const { connect, listen } = require('../../lib/index.js');
const { LAST_SEED, Sequence, numbered } = require('./numbered.js');

const LIMIT_MS = 30_000; // for what takes milliseconds
const GOOD_MESSAGES = 20;
const PROGRESS_WORDS = 5;
const BYSTANDER_SEED = 77;
const peerScript = join(__dirname, 'peer.js');

/** Rejects if a promise takes too long. @template T @param {Promise<T>} promise @param {string} what @returns {Promise<T>} */
function limited(promise, what) {
  /** @type {NodeJS.Timeout} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  return Promise.race([promise, /** @type {Promise<never>} */ (late)]).finally(() => clearTimeout(timer));
}

class Survivor {
  /** @type {any[]} */ #events = [];
  /** @type {(() => void) | undefined} */ #arrived;
  #child;
  #isNode;
  #errors = '';
  #ended;
  #hasEnded = false;
  /** @type {any} a channel between this process and a survivor in Node */ #bystander;
  #exchanged = 0;
  /** @type {{descriptors: number, mappings: number}} what it holds between two rounds */ held = {
    descriptors: 0,
    mappings: 0,
  };

  /** @param {string} base its sockets are at base.0 to base.2 @param {string | undefined} program undefined: Node */
  constructor(base, program) {
    this.base = base;
    this.#isNode = program === undefined;
    this.#child = program
      ? spawn(program, ['survivor', base], { stdio: 'pipe' })
      : spawn(process.execPath, [peerScript, 'survivor', base], { stdio: 'pipe' });
    this.#child.stderr.on('data', (text) => {
      this.#errors += text;
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#events.push({ ...JSON.parse(line), at: performance.now() });
      this.#arrived?.();
    });
    this.#ended = new Promise((resolve) =>
      this.#child.on('close', (status, signal) => {
        this.#hasEnded = true;
        this.#arrived?.();
        resolve({ status, signal, errors: this.#errors });
      }),
    );
  }

  async start() {
    if (this.#isNode) this.#bystander = await connect(`${this.base}.bystander`);
    const { descriptors, mappings } = await this.next();
    this.held = { descriptors, mappings };
    return this;
  }

  /** Its next event. @returns {Promise<any>} */
  async next() {
    while (this.#events.length === 0) {
      if (this.#hasEnded) throw new Error(`the survivor has ended: ${this.#errors}`);
      await limited(
        new Promise((resolve) => {
          this.#arrived = () => resolve(undefined);
        }),
        'the survivor',
      );
    }
    return this.#events.shift();
  }

  /** Exchanges a message on a channel that the deaths must not disturb. A survivor in C has only one channel at a time. */
  async checkBystander() {
    if (!this.#isNode) return;
    const message = numbered(BYSTANDER_SEED, this.#exchanged++);
    await this.#bystander.send(message);
    const answer = await limited(this.#bystander.receive(), 'the channel to a bystander');
    if (!message.equals(/** @type {Buffer} */ (answer)))
      throw new Error('a bystander got something else than it had sent');
  }

  /** @param {string} line */
  write(line) {
    this.#child.stdin.write(`${line}\n`);
  }

  /** @param {NodeJS.Signals} signal */
  kill(signal) {
    this.#child.kill(signal);
  }

  /** Ends it because something has failed. */
  async abandon() {
    this.#child.kill('SIGKILL');
    await this.#bystander?.close();
    await this.#ended;
  }

  /** Ends it in the ordinary way. @returns {Promise<{status: number | null, signal: string | null, errors: string}>} */
  async end() {
    this.#child.stdin.end();
    await this.#bystander?.close();
    return limited(this.#ended, 'the end of the survivor');
  }
}

/**
 * Runs a victim to its death, or to its end if nothing kills it.
 * @param {object} options
 * @param {string[]} options.command
 * @param {Record<string, string>} options.env
 * @param {(kill: (afterMs: number) => void, mark: 'o' | '!' | 'spawn') => void} options.onMark called when it has started, when
 *   its channel is open, and when it has reached the chosen step
 * @returns {Promise<{status: number | null, signal: string | null, errors: string, at: number}>}
 */
function runVictim({ command: [program, ...args], env, onMark }) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const kill = (/** @type {number} */ afterMs) => {
    timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  };
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  child.stdout.on('data', (text) => {
    for (const mark of String(text)) onMark(kill, /** @type {'o' | '!'} */ (mark));
  });
  child.on('spawn', () => onMark(kill, 'spawn'));
  const ended = new Promise((resolve) => {
    child.on('exit', () => clearTimeout(timer));
    child.on('close', (status, signal) => resolve({ status, signal, errors, at: performance.now() }));
  });
  return limited(/** @type {Promise<any>} */ (ended), 'the victim').catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
}

/** The file in which a victim reports how far it has come. */
class Progress {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    writeFileSync(path, Buffer.alloc(4 * PROGRESS_WORDS));
  }

  /** Reads it for the last time. */
  take() {
    const bytes = readFileSync(this.path);
    rmSync(this.path);
    const [started, published, received, faulty, closing] = Array.from({ length: PROGRESS_WORDS }, (_, at) =>
      bytes.readUInt32LE(4 * at),
    );
    return { started, published, received, faulty: faulty !== 0, closing: closing !== 0 };
  }
}

/** What the good peer does in each scenario, before its last words. @type {Record<string, (channel: any, seed: number) => Promise<any>>} */
const good = {
  async send(channel, seed) {
    for (let number = 0; number < GOOD_MESSAGES; number++) await channel.send(numbered(seed, number));
  },
  receive: (channel, seed) => exchange(channel, seed, () => {}),
  echo: (channel, seed) => exchange(channel, seed, (message) => channel.send(message)),
  async request(channel, seed) {
    for (let number = 0; number < GOOD_MESSAGES; number++) {
      const request = numbered(seed, number);
      if (!(await channel.request(request)).equals(request)) throw new Error('a response differs from its request');
    }
  },
  respond: (channel) =>
    new Promise((resolve) => {
      let left = GOOD_MESSAGES;
      channel.onRequest((/** @type {Buffer} */ request) => {
        if (--left === 0) resolve(undefined);
        return request;
      });
    }),
};

/** @param {any} channel @param {number} seed @param {(message: Buffer) => any} answer */
async function exchange(channel, seed, answer) {
  const sequence = new Sequence(seed);
  while (sequence.count < GOOD_MESSAGES) {
    const message = await channel.receive();
    sequence.take(message);
    if (sequence.fault) throw new Error(`the good peer: ${sequence.fault}`);
    await answer(message);
  }
}

/**
 * Takes the victim's place, exchanges a few messages, says that it is the last, and closes.
 * @param {{scenario: string, seed: number, victimSide: string, path: string}} round
 */
async function beGoodPeer({ scenario, seed, victimSide, path }) {
  const options = { capacity: 65536, timeout: LIMIT_MS };
  const server = victimSide === 'listen' ? await listen(path, options) : undefined;
  const channel = await (server ? server.accept() : connect(path, options));
  try {
    await good[scenario](channel, seed);
    await channel.send(numbered(LAST_SEED, 0));
  } finally {
    await channel.close();
    await server?.close();
  }
}

/** Reads what a process recorded: its steps and how often it reached each. @param {string} path @returns {Map<string, number>} */
function readRecord(path) {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  rmSync(path);
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), Number.parseInt(line, 10)]));
}

module.exports = { Survivor, Progress, beGoodPeer, limited, peerScript, readRecord, runVictim };
