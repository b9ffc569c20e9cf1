'use strict';
// Compiles peer.c twice: as it is, and with the steps of steps.h in the code of native/. Needs only a C compiler.
const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { C_INTERFACE } = require('../native.js');
const { root } = require('../support.js');

const compiler = process.env.CC || 'cc';
const FLAGS = ['-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra', '-Werror'];
const STEPS = join('test', 'kill', 'steps.h');

/** @param {string[]} args */
async function compile(args) {
  const child = spawn(compiler, [...FLAGS, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const status = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (status !== 0) throw new Error(`${compiler} failed:\n${errors}`);
}

/**
 * @param {string} folder where the programs go
 * @returns {Promise<{plain: string, stepped: string}>} their paths
 */
async function buildPrograms(folder) {
  const [plain, stepped] = ['plain', 'stepped'].map((name) => join(folder, name));
  const objects = C_INTERFACE.map((source) => join(folder, `${source.replaceAll('/', '-')}.o`));
  await Promise.all([
    compile(['test/kill/peer.c', ...C_INTERFACE, '-o', plain]),
    ...C_INTERFACE.map((source, i) => compile(['-include', STEPS, '-c', source, '-o', objects[i]])),
  ]);
  await compile(['test/kill/peer.c', 'test/kill/steps.c', ...objects, '-o', stepped]);
  return { plain, stepped };
}

module.exports = { buildPrograms };
