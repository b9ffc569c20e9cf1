'use strict';
// Compiles every target of binding.gyp: npm runs it in a checkout. If a tool is missing, one sentence names it. Then
// `npx crossings-lab` works in the checkout as it does where the package is installed.
const { spawnSync } = require('node:child_process');
const { rmSync } = require('node:fs');
const { join } = require('node:path');
const { linkCommand } = require('./link-command.js');

const root = join(__dirname, '..', '..');

/** @param {string} sentence */
function fail(sentence) {
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
    return fail('Cannot build crossings: node-gyp is not installed. Run `npm install` with development dependencies.');
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
  fail(
    `Cannot build crossings: ${names} not found. On Debian or Ubuntu: apt-get install build-essential python3; ` +
      'on Fedora: dnf install gcc-c++ make python3; on Alpine: apk add build-base python3 linux-headers.',
  );
}

const nodeGyp = /** @type {string} */ (findNodeGyp());
// Not `rebuild`, which would empty build/ and with it what `npm run prebuild` has made.
rmSync(join(root, 'build', 'Release'), { recursive: true, force: true });
for (const command of [['configure'], ['build', '--jobs=max']]) {
  const step = spawnSync(process.execPath, [nodeGyp, ...command, '--loglevel=warn'], { cwd: root, stdio: 'inherit' });
  if (step.status !== 0) fail('Building crossings failed; see the output above.');
}

linkCommand(root);
