'use strict';
// Makes `npx crossings-lab` work in a checkout, as it does where the package is installed. `npx crossings` does not: for a command of
// the package at the top, npm installs the folder as a package, which compiles everything again.
const { mkdirSync, rmSync, symlinkSync } = require('node:fs');
const { join } = require('node:path');

const NAME = 'crossings-lab';

/** What npm does for an installed package. Without it, npx asks the registry. @param {string} root */
function linkCommand(root) {
  const commands = join(root, 'node_modules', '.bin');
  mkdirSync(commands, { recursive: true });
  rmSync(join(commands, NAME), { force: true });
  symlinkSync(join('..', '..', 'server', 'cli.js'), join(commands, NAME));
}

module.exports = { linkCommand };
