'use strict';
// Compiles every target of binding.gyp: what `npm install` does in a checkout. When that cannot be done, it says what
// is missing in one sentence before the compiler's own output.
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const root = join(__dirname, '..', '..');

/** @param {string} sentence */
function giveUp(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

/** @param {string} command */
function exists(command) {
  return spawnSync(command.split(' ')[0], ['--version'], { stdio: 'ignore' }).error === undefined;
}

function findNodeGyp() {
  try {
    return require.resolve('node-gyp/bin/node-gyp.js');
  } catch {
    return giveUp('crossings cannot be built: node-gyp is missing; run `npm install` with development dependencies.');
  }
}

/** @type {[string, string][]} */
const tools = [
  ['a C compiler', process.env.CC || 'cc'],
  ['a C++ compiler', process.env.CXX || 'c++'],
  ['make', process.env.MAKE || 'make'],
  ['Python 3', process.env.PYTHON || 'python3'],
];
const missing = tools.filter(([, command]) => !exists(command));
if (missing.length > 0) {
  const names = missing.map(([what, command]) => `${what} (${command})`).join(', ');
  giveUp(
    `crossings cannot be built: ${names} not found. On Debian or Ubuntu: apt-get install build-essential python3; ` +
      'on Fedora: dnf install gcc-c++ make python3; on Alpine: apk add build-base python3 linux-headers.',
  );
}

const nodeGyp = /** @type {string} */ (findNodeGyp());
const build = spawnSync(process.execPath, [nodeGyp, 'rebuild', '--jobs=max', '--loglevel=warn'], {
  cwd: root,
  stdio: 'inherit',
});
if (build.status !== 0) giveUp('crossings could not be built: the output above says where it failed.');
