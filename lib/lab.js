'use strict';
// `crossings lab`: the web lab. It starts the server, says where it is, opens a browser, and ends when it is told to.
const { once } = require('node:events');
const { existsSync, statSync } = require('node:fs');
const { resolve } = require('node:path');
const { Command } = require('commander');
const { refuse } = require('./bench/arguments.js');
const { CrossingsError } = require('./channel/errors.js');

const DEFAULT_PORT = 7411;

/** @param {string} text */
function readPort(text) {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65535) return port;
  return refuse(`--port takes a whole number from 0 to 65535, where 0 means any that is free, not "${text}".`);
}

/** @param {string} path of a folder, which need not exist yet */
function readFolder(path) {
  const folder = resolve(path);
  if (!existsSync(folder) || statSync(folder).isDirectory()) return folder;
  return refuse(`--data takes a folder to keep runs in, and "${path}" is none.`);
}

/** @param {string} sentence */
const tell = (sentence) => process.stderr.write(`${sentence}\n`);

/**
 * On the port that was asked for, or else on the usual one, or else on any.
 * @param {{port?: number, data?: string}} options
 */
async function start({ port, data: dataFolder }) {
  // Only here: no other command needs a web server.
  const { startServer } = require('../server/server.js');
  try {
    return await startServer({ port: port ?? DEFAULT_PORT, dataFolder });
  } catch (error) {
    const taken = error instanceof CrossingsError && error.code === 'ERR_PORT_IN_USE';
    if (!taken || port !== undefined) throw error;
    const lab = await startServer({ port: 0, dataFolder });
    tell(`Port ${DEFAULT_PORT} is in use, perhaps by another lab, so this one took port ${lab.port}.`);
    return lab;
  }
}

/** Show the address in the reader's browser; where that cannot be done, say so. @param {string} address */
async function openBrowser(address) {
  const sorry = () => tell('No browser could be opened here: open the address above in one yourself.');
  try {
    const { default: open } = await import('open');
    const opener = await open(address);
    opener.once('exit', (status) => {
      if (status) sorry(); // found, but there is no browser that it could start
    });
  } catch {
    sorry();
  }
}

/** @param {{port?: number, open: boolean, data?: string}} options @param {AbortSignal} signal */
async function lab(options, signal) {
  const server = await start(options);
  process.stdout.write(`${server.address}\n`);
  if (options.open && process.stdout.isTTY && !process.env.CI) await openBrowser(server.address);
  if (!signal.aborted) await once(signal, 'abort');
  await server.close();
  signal.throwIfAborted();
}

/** @param {AbortSignal} signal */
function labCommand(signal) {
  return new Command('lab')
    .description('open the web lab: recordings of what two processes say, and the benchmark live')
    .option('--port <number>', `port of 127.0.0.1 (default: ${DEFAULT_PORT}, or any that is free)`, readPort)
    .option('--no-open', 'open no browser')
    .option('--data <folder>', 'keep finished runs there (default: ~/.local/state/crossings/runs)', readFolder)
    .allowExcessArguments(false)
    .action((options) => lab(options, signal));
}

module.exports = { labCommand };
