'use strict';
// Runs both programs of every pitfall, and writes what was observed into its folder: node test/tools/ship-pitfalls.js [NAME…]. A copy
// of the lab shows these runs, since it can run nothing.
const { join } = require('node:path');
const { findPitfall, listPitfalls } = require('../../lib/lessons/folders.js');
const { runPitfall } = require('../../lib/lessons/pitfalls.js');
const { writeWhole } = require('../../lib/terminal/files.js');

/** @param {string[]} names */
async function ship(names) {
  for (const pitfall of names.length > 0 ? names.map(findPitfall) : listPitfalls()) {
    const { sources: _, ...run } = await runPitfall(pitfall); // the page has the sources already
    writeWhole(join(pitfall.folder, 'shipped.json'), `${JSON.stringify(run, null, 2)}\n`);
    process.stdout.write(`${pitfall.name}: ${run.verdict}.\n`);
  }
}

ship(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
