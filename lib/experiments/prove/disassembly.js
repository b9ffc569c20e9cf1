'use strict';
// The instructions of the C hot path beside their source, as objdump prints them, and a check that walks them: no system
// call, no call out of the hot path, no call through a pointer.
const { execFile } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { promisify } = require('node:util');
const { programPath } = require('../../measure/programs.js');

const ROOT = join(__dirname, '..', '..', '..');
const LIMIT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 << 20;

/** The loops that the two processes run. Everything else is found by following their calls. */
const LOOPS = [
  'ring_send_all',
  'ring_receive_all',
  'ring_ask_all',
  'ring_answer_all',
  'spin_send_all',
  'spin_receive_all',
];
/** What they may call. The compiler may split off parts of a function, such as ring_put.cold. */
const HOT = new Set([...LOOPS, 'ring_put', 'ring_take', 'spin_put', 'spin_take']);
const SPLIT = /\.(cold|part|constprop|isra)(\.\d+)?/g;

const SYSTEM_CALL = /^(syscall|sysenter|int|svc)\b/; // x86-64, its older entries, and arm64
const BRANCH = /^(?:notrack )?(?:bnd )?(call|j[a-z]+|b|bl|b\.[a-z]+|cbn?z|tbn?z)q?\s.*?<([^>+]+)(?:\+0x[0-9a-f]+)?>/;
const POINTER_BRANCH = /^(?:notrack )?(?:bnd )?(?:(?:call|jmp)q?\s+\*|blr|br)\b/;

/**
 * One source line and the instructions that follow it in memory. The compiler interleaves lines, so a line may come again.
 * @typedef {{file: string | null, line: number | null, source: string, instructions: {address: string, text: string}[]}} Chunk
 */

/** @typedef {{name: string, instructions: number, calls: string[], lines: Chunk[]}} HotFunction */

/**
 * @typedef {object} Disassembly
 * @property {string} [reason] why there is none
 * @property {string} [tool]
 * @property {string} [architecture]
 * @property {HotFunction[]} [functions]
 * @property {string[]} [violations] sentences; empty: the hot path makes no system call and calls nothing else
 */

/** Reads lines of source files, from the path that the compiler recorded. */
function sourceReader() {
  /** @type {Map<string, string[]>} */
  const files = new Map();
  /** @param {string} recorded @param {number} line */
  return (recorded, line) => {
    const file = /^(?:.*\/)?((?:c-bench|native|test)\/(?:(?!\.\.)[^/]+\/)*[^/]+)$/.exec(recorded)?.[1] ?? null;
    if (file !== null && !files.has(file)) {
      try {
        files.set(file, readFileSync(join(ROOT, file), 'utf8').split('\n'));
      } catch {
        files.set(file, []);
      }
    }
    return { file, source: files.get(file ?? '')?.[line - 1]?.trim() ?? '' };
  };
}

/**
 * All functions of a program.
 * @param {string} text the output of objdump -d -l --no-show-raw-insn
 * @returns {Map<string, HotFunction>}
 */
function parse(text) {
  const read = sourceReader();
  /** @type {Map<string, HotFunction>} */
  const functions = new Map();
  /** @type {HotFunction | undefined} */
  let current;
  /** @type {Chunk | undefined} */
  let chunk;
  for (const line of text.split('\n')) {
    const heading = /^[0-9a-f]+ <(.+)>:$/.exec(line);
    if (heading) {
      current = { name: heading[1], instructions: 0, calls: [], lines: [] };
      chunk = undefined;
      functions.set(current.name, current);
      continue;
    }
    const place = /^(\/.*|\S+\.[ch]):(\d+)(?: \(discriminator \d+\))?$/.exec(line);
    if (place && current) {
      const number = Number(place[2]);
      const { file, source } = read(place[1], number);
      if (chunk?.file === file && chunk?.line === number) continue;
      chunk = { file, line: number, source, instructions: [] };
      current.lines.push(chunk);
      continue;
    }
    const instruction = /^\s+([0-9a-f]+):\s+(.*\S)/.exec(line);
    if (!instruction || !current) continue;
    if (!chunk) {
      chunk = { file: null, line: null, source: '', instructions: [] };
      current.lines.push(chunk);
    }
    chunk.instructions.push({ address: instruction[1], text: instruction[2].replace(/\s+/g, ' ') });
    current.instructions++;
  }
  for (const hot of functions.values()) hot.lines = hot.lines.filter(({ instructions }) => instructions.length > 0);
  return functions;
}

/** @param {HotFunction} hot what is wrong with it, as sentences; also notes its calls */
function inspect(hot) {
  const violations = [];
  for (const { text } of hot.lines.flatMap(({ instructions }) => instructions)) {
    const target = BRANCH.exec(text)?.[2];
    if (SYSTEM_CALL.test(text)) violations.push(`${hot.name} contains a system call: ${text}.`);
    if (POINTER_BRANCH.test(text)) violations.push(`${hot.name} calls through a pointer: ${text}.`);
    if (!target || target === hot.name) continue;
    if (!hot.calls.includes(target)) hot.calls.push(target);
    if (!HOT.has(target.replace(SPLIT, ''))) violations.push(`${hot.name} calls ${target}, outside the hot path.`);
  }
  return violations;
}

/** Walks the functions that the loops reach. @param {Map<string, HotFunction>} functions */
function walk(functions) {
  const violations = [];
  /** @type {HotFunction[]} */
  const reached = [];
  const names = [...LOOPS];
  for (const name of names) {
    const hot = functions.get(name);
    if (!hot) {
      violations.push(`${name} is not in the program.`);
      continue;
    }
    violations.push(...inspect(hot));
    reached.push(hot);
    names.push(...hot.calls.filter((call) => !names.includes(call) && HOT.has(call.replace(SPLIT, ''))));
  }
  return { functions: reached, violations };
}

/**
 * What objdump prints. It is ended by SIGKILL, since it may have been stopped. (The option `signal` of execFile() sends SIGTERM, whatever
 * killSignal says.)
 * @param {string[]} args
 * @param {AbortSignal} [signal]
 */
async function objdump(args, signal) {
  signal?.throwIfAborted();
  const running = promisify(execFile)('objdump', args, {
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
    env: { ...process.env, LC_ALL: 'C' },
  });
  const kill = () => running.child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  try {
    return (await running).stdout;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * @param {string} [program]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Disassembly>}
 */
async function disassemble(program = 'crossings-prove', signal) {
  try {
    const version = await objdump(['--version'], signal);
    const stdout = await objdump(['-d', '-l', '--no-show-raw-insn', programPath(program)], signal);
    return { tool: version.split('\n')[0], architecture: process.arch, ...walk(parse(stdout)) };
  } catch (error) {
    signal?.throwIfAborted();
    const missing = /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT';
    return { reason: missing ? 'objdump is not installed (package binutils)' : String(Object(error).message) };
  }
}

module.exports = { disassemble, parse, walk };
