'use strict';
// `crossings lab`: starts the lab's server, prints its address, opens a browser, and ends on a signal.
const { once } = require('node:events');
const { lstatSync, statSync } = require('node:fs');
const { resolve } = require('node:path');
const { Command, Option } = require('commander');
const { CrossingsError } = require('../lib/channel/errors.js');
const { readWholeNumber, refuse } = require('../lib/terminal/arguments.js');
const { endBySignalInTerminal, statusOf } = require('../lib/terminal/signals.js');

const DEFAULT_PORT = 7411;

/** @param {string} text */
const readPort = (text) => readWholeNumber('--port', text, [0, 65535], ' (0: any free port)');

/** @param {string} path of a folder, which need not exist yet */
function readFolder(path) {
  const folder = resolve(path);
  if (path === '') return refuse('--data must be a folder; got "", an empty name.');
  try {
    const found = lstatSync(folder, { throwIfNoEntry: false }); // also a link that leads nowhere
    if (!found || statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  } catch (error) {
    return refuse(`--data must be a folder that can be opened; got "${path}": ${/** @type {any} */ (error).code}.`);
  }
  return refuse(`--data must be a folder; got "${path}".`);
}

/** An origin without a wildcard, as a browser writes it. Its host has no character with a meaning in a policy. */
const ORIGIN = /^https?:\/\/([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:\d{1,5})?$/i;

/** @param {string} text @param {string[]} [others] given before it */
function readOrigin(text, others = []) {
  if (ORIGIN.test(text) && URL.canParse(text)) return [...others, new URL(text).origin];
  return refuse(
    `--allow-embedding must be an origin such as https://courses.example.org or http://localhost:8000, without a path; got "${text}".`,
  );
}

/**
 * Prints lines although the terminal may be stopped (Ctrl-S): they appear when the terminal goes on.
 * @param {1 | 2} fd @param {AbortSignal} signal
 */
function printer(fd, signal) {
  const stream = fd === 1 ? process.stdout : process.stderr;
  /** @type {import('./output.js').Output | undefined} */ let output;
  return (/** @type {string} */ line) => {
    const { openOutput } = require('./output.js');
    if (stream.isTTY) output ??= openOutput(fd, () => !signal.aborted);
    (output ?? stream).write(`${line}\n`);
  };
}

/** @typedef {(sentence: string) => void} Report */

/**
 * Starts the server on the given port; without one, on the usual port or any free one.
 * @param {{port?: number, data?: string, allowEmbedding?: string[]}} options
 * @param {AbortSignal} signal ends what it waits for
 * @param {Report} report
 */
async function start({ port, data: dataFolder, allowEmbedding: embedders }, signal, report) {
  // Loaded only here: no other command needs a web server.
  const { startServer } = require('./server.js');
  try {
    return await startServer({ port: port ?? DEFAULT_PORT, dataFolder, embedders, signal });
  } catch (error) {
    const taken = error instanceof CrossingsError && error.code === 'ERR_PORT_IN_USE';
    if (!taken || port !== undefined) throw error;
    const lab = await startServer({ port: 0, dataFolder, embedders, signal });
    report(`Port ${DEFAULT_PORT} is in use, perhaps by another lab; using port ${lab.port} instead.`);
    return lab;
  }
}

/** Where there are no programs. @param {{port?: number, data?: string}} options @param {AbortSignal} signal */
function startCopy({ port, data }, signal) {
  const { serveCopy } = require('./recordings-only.js');
  return serveCopy({ port: port ?? 0, runs: data, signal });
}

/** Shows an address in the user's browser, or reports that it cannot. @param {string} address @param {Report} report */
async function openBrowser(address, report) {
  const sorry = () => report('Cannot open a browser here: open the address above yourself.');
  try {
    const { default: open } = await import('open');
    const opener = await open(address);
    opener.once('exit', (status) => {
      if (status) sorry(); // the opener started and found no browser
    });
  } catch {
    sorry();
  }
}

/** @param {string} folder @param {string | undefined} runs @param {AbortSignal} signal @param {Report} report */
async function writeCopy(folder, runs, signal, report) {
  const { exportLab } = require('./export.js');
  const { path, files, bytes } = await exportLab(folder, { runs, signal });
  report(`${path}: ${files} files, ${(bytes / 1e6).toFixed(1)} MB. Any web server can serve them, below any path.`);
}

/**
 * With the class Request, which streams of events need, Node 20 and 22 load a parser for fetch(), in WebAssembly. It reserves 10 GB of
 * addresses; where they are limited (ulimit -v), it fails, and nothing in Node catches that. The lab does not call fetch().
 * @param {unknown} error @throws every other one
 */
function goOnWithoutFetch(error) {
  if (!(error instanceof RangeError && error.message.startsWith('WebAssembly'))) throw error;
}

/** @param {{port?: number, open: boolean, data?: string, allowEmbedding?: string[], export?: string}} options @param {AbortSignal} signal */
async function lab(options, signal) {
  endBySignalInTerminal(signal);
  process.on('unhandledRejection', goOnWithoutFetch);
  const report = printer(2, signal);
  if (options.export !== undefined) return writeCopy(options.export, options.data, signal, report);
  const { whyNoPrograms } = require('./server.js');
  const missing = whyNoPrograms();
  if (missing !== null)
    report(
      `${missing} Nothing can be recorded or measured here: the lab shows only the recordings and runs that it includes.`,
    );
  const server = missing === null ? await start(options, signal, report) : await startCopy(options, signal);
  printer(1, signal)(server.address);
  if (options.open && process.stdout.isTTY && !process.env.CI) await openBrowser(server.browserAddress, report);
  if (!signal.aborted) await once(signal, 'abort');
  await server.close();
  const { hasUnwritten } = require('./output.js');
  if (hasUnwritten()) process.exit(statusOf(signal.reason));
  signal.throwIfAborted();
}

/** @param {AbortSignal} signal */
function labCommand(signal) {
  return new Command('lab')
    .description('start the web lab: replay recorded system calls step by step, and measure this machine')
    .option('--port <number>', `port on 127.0.0.1 (default: ${DEFAULT_PORT}, or any free port)`, readPort)
    .option('--no-open', 'do not open a browser')
    .option('--data <folder>', 'folder for finished runs (default: ~/.local/state/crossings/runs)', readFolder)
    .option(
      '--allow-embedding <origin>',
      'allow the pages of this site to show moments of recordings in frames; may be repeated (default: none)',
      readOrigin,
    )
    .addOption(
      new Option(
        '--export <folder>',
        'write the lab as static files for any web server, and exit; includes the runs in the folder of --data',
      ).conflicts(['port', 'allowEmbedding']),
    )
    .allowExcessArguments(false)
    .action((options) => lab(options, signal));
}

module.exports = { labCommand };
