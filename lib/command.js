#!/usr/bin/env node
'use strict';
// The command `crossings`. The benchmark and the lab are not part of this package: their command line runs if this is a
// checkout, or if the package crossings-lab is installed. Otherwise this says how to get them.
const { existsSync } = require('node:fs');
const { dirname, join } = require('node:path');

/** The command line of this checkout, or of crossings-lab beside this package or in the current folder's project. */
function findCommandLine() {
  const own = join(__dirname, '..', 'server', 'cli.js');
  if (existsSync(own)) return own;
  try {
    const lab = require.resolve('crossings-lab/package.json', { paths: [__dirname, process.cwd()] });
    return join(dirname(lab), 'server', 'cli.js');
  } catch {
    return null;
  }
}

const found = findCommandLine();
if (found) require(found);
else {
  const words = process.argv.slice(2).map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)));
  process.stderr.write(
    `The benchmark and the lab are in the package crossings-lab; run \`${['npx crossings-lab', ...words].join(' ')}\`.\n`,
  );
  process.exitCode = 1;
}
