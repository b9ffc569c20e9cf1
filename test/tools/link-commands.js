'use strict';
// Makes `npx crossings-lab` work in a checkout, as it does where the package is installed.
const { mkdirSync, rmSync, symlinkSync } = require('node:fs');
const { join } = require('node:path');

/** What npm does for an installed package. Without it, npx asks the registry. @param {string} root */
function linkCommands(root) {
  const commands = join(root, 'node_modules', '.bin');
  mkdirSync(commands, { recursive: true });
  for (const name of ['crossings', 'crossings-lab']) {
    rmSync(join(commands, name), { force: true });
    symlinkSync(join('..', '..', 'server', 'cli.js'), join(commands, name));
  }
}

module.exports = { linkCommands };
