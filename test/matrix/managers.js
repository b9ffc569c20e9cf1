'use strict';
// The package managers of the matrix: the commands that a user of each would type, and where they come from.
const { readFileSync, realpathSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { downloadFromNpm, ensure, folderOf } = require('./downloads.js');
const { onPath } = require('./runtimes.js');

/** @typedef {import('./sandbox.js').Sandbox} Sandbox */
/** @typedef {import('./runtimes.js').Runtime} Runtime */

/**
 * @typedef {object} Manager
 * @property {string} name as a row shows it
 * @property {string[]} runtimes the commands of the runtimes it installs for
 * @property {(mayDownload: boolean, runtime: Runtime) => string} obstacle why it cannot run here; "": it can
 * @property {(sandbox: Sandbox) => void} prepare puts its commands on the PATH, and settings into the project
 * @property {string[][]} install adds the package to an empty project, without install scripts
 * @property {string[][]} ci installs what the lock file says, without install scripts
 * @property {string[][]} scripts the same with install scripts allowed, and what runs them again
 * @property {string[]} [run] what precedes the command that runs a program
 * @property {boolean} [noFolder] installs no folder node_modules
 */

/** Why a Node is too old for a package manager, or an empty string. @param {string} manifest @param {Runtime} runtime */
function tooOld(manifest, { name, version }) {
  const { name: manager, version: own, engines } = JSON.parse(readFileSync(manifest, 'utf8'));
  const majors = [...String(engines?.node).matchAll(/(\d+)\.[\d.]+/g)].map(([, major]) => Number(major));
  const open = String(engines?.node).includes('>=');
  const supported = majors.includes(Number(version)) || (open && Number(version) > Math.max(...majors));
  return supported ? '' : `${manager} ${own} does not run on ${name} (it needs ${engines.node})`;
}

/** A manager written in JavaScript, run by the Node of the row. @param {string} folder @param {string} specifier */
function fromNpm(folder, specifier) {
  const inside = join(folderOf(folder), 'node_modules', specifier.replace(/(.)@.*/, '$1'));
  return {
    file: (/** @type {string} */ name) => join(inside, 'bin', name),
    /** @type {Manager['obstacle']} */
    obstacle: (mayDownload, runtime) => {
      const manifest = join(inside, 'package.json');
      return ensure(manifest, mayDownload, () => downloadFromNpm(folder, specifier)) || tooOld(manifest, runtime);
    },
  };
}

const npmCommands = {
  runtimes: ['node'],
  install: [['npm', 'install', '--ignore-scripts', 'crossings']],
  ci: [['npm', 'ci', '--ignore-scripts']],
  scripts: [
    ['npm', 'ci'],
    ['npm', 'rebuild'],
  ],
};

/** @param {number} major @returns {Manager} */
function npm(major) {
  const { file, obstacle } = fromNpm(`npm-${major}`, `npm@${major}`);
  return {
    ...npmCommands,
    name: `npm ${major}`,
    obstacle,
    prepare: (sandbox) => {
      sandbox.addCommand('npm', ['node', file('npm-cli.js')]);
      sandbox.addCommand('npx', ['node', file('npx-cli.js')]);
    },
  };
}

/** The npm of this machine, for the short form. @type {Manager} */
const ownNpm = {
  ...npmCommands,
  name: 'npm',
  obstacle: () => (onPath('npm') ? '' : 'there is no npm on the PATH'),
  prepare: (sandbox) => {
    for (const name of ['npm', 'npx']) sandbox.addCommand(name, ['node', realpathSync(String(onPath(name)))]);
  },
};

/** @returns {Manager} */
function pnpm() {
  const binary = join(folderOf('pnpm'), 'node_modules', '@pnpm', `exe.linux-${process.arch}`, 'pnpm');
  return {
    name: 'pnpm 12',
    runtimes: ['node'],
    obstacle: (mayDownload) => ensure(binary, mayDownload, () => downloadFromNpm('pnpm', 'pnpm@12')),
    prepare: (sandbox) => sandbox.addCommand('pnpm', [binary]),
    install: [['pnpm', 'add', '--ignore-scripts', 'crossings']],
    ci: [['pnpm', 'install', '--frozen-lockfile', '--ignore-scripts']],
    scripts: [
      ['pnpm', 'install', '--frozen-lockfile'],
      ['pnpm', 'rebuild'],
    ],
  };
}

/** @returns {Manager} */
function yarn1() {
  const { file, obstacle } = fromNpm('yarn-1', 'yarn@1');
  return {
    name: 'yarn 1',
    runtimes: ['node'],
    obstacle,
    prepare: (sandbox) => sandbox.addCommand('yarn', ['node', file('yarn.js')]),
    install: [['yarn', 'add', '--ignore-scripts', 'crossings']],
    ci: [['yarn', 'install', '--frozen-lockfile', '--ignore-scripts']],
    scripts: [
      ['yarn', 'install', '--frozen-lockfile'],
      ['yarn', 'install', '--frozen-lockfile', '--force'],
    ],
  };
}

/** Yarn 4, with Plug'n'Play (its default, without node_modules) or with node_modules. @param {'pnp' | 'node-modules'} linker @returns {Manager} */
function yarn4(linker) {
  const { file, obstacle } = fromNpm('yarn-4', '@yarnpkg/cli-dist@4');
  return {
    name: linker === 'pnp' ? 'yarn 4 PnP' : 'yarn 4',
    runtimes: ['node'],
    obstacle,
    prepare: (sandbox) => {
      sandbox.addCommand('yarn', ['node', file('yarn.js')]);
      writeFileSync(
        join(sandbox.project, '.yarnrc.yml'),
        `nodeLinker: ${linker}\nenableScripts: false\npnpEnableEsmLoader: true\n`,
      );
      writeFileSync(join(sandbox.project, 'yarn.lock'), ''); // makes the folder a project of its own
    },
    install: [['yarn', 'add', 'crossings']],
    ci: [['yarn', 'install', '--immutable']],
    scripts: [
      ['yarn', 'config', 'set', 'enableScripts', 'true'],
      ['yarn', 'install', '--immutable'],
      ['yarn', 'rebuild'],
    ],
    ...(linker === 'pnp' && { run: ['yarn'], noFolder: true }),
  };
}

/** Bun installs for itself. @type {Manager} */
const bun = {
  name: 'bun install',
  runtimes: ['bun'],
  obstacle: () => '',
  prepare: () => {},
  install: [['bun', 'add', '--ignore-scripts', 'crossings']],
  ci: [['bun', 'install', '--frozen-lockfile', '--ignore-scripts']],
  scripts: [['bun', 'install', '--frozen-lockfile', '--force']],
};

/** Deno installs for itself, into node_modules. @type {Manager} */
const deno = {
  name: 'deno install',
  runtimes: ['deno'],
  obstacle: () => '',
  prepare: (sandbox) => writeFileSync(join(sandbox.project, 'deno.json'), '{"nodeModulesDir": "auto"}\n'),
  install: [['deno', 'add', 'npm:crossings']],
  ci: [['deno', 'ci']],
  scripts: [['deno', 'install', '--frozen', '--allow-scripts']],
};

const MANAGERS = [npm(11), npm(12), pnpm(), yarn1(), yarn4('node-modules'), yarn4('pnp'), bun, deno];

module.exports = { MANAGERS, ownNpm };
