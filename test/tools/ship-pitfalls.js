'use strict';
// Runs both programs of every pitfall, and writes what was observed into its folder: node test/tools/ship-pitfalls.js [NAME…]. A copy
// of the lab shows these runs, since it can run nothing. What a pitfall shows may depend on who runs when, so it gets several attempts;
// a run that does not show it is not written.
const { join } = require('node:path');
const { findPitfall, listPitfalls } = require('../../lib/lessons/folders.js');
const { runPitfall } = require('../../lib/lessons/pitfalls.js');
const { writeWhole } = require('../../lib/terminal/files.js');

const ATTEMPTS = 5;

/** @typedef {Awaited<ReturnType<typeof runPitfall>>} Run */

const isShown = (/** @type {Run} */ { verdict }) => verdict === 'shown';

/** Does the recorded run fail as the measured one did? Under the tracer, a program that compares times may not. @param {Run} run */
const isRecorded = ({ recording, fails }) => recording === null || fails !== 'exit' || recording.status !== 0;

/** The first run that shows the pitfall in its recording, too; or else the last one that shows it. @param {import('../../lib/lessons/folders.js').Pitfall} pitfall */
async function bestRun(pitfall) {
  let best = null;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const run = await runPitfall(pitfall);
    if (isShown(run)) best = run;
    if (isShown(run) && isRecorded(run)) break;
  }
  return best;
}

/** @param {string[]} names */
async function ship(names) {
  for (const pitfall of names.length > 0 ? names.map(findPitfall) : listPitfalls()) {
    const best = await bestRun(pitfall);
    if (best === null) {
      process.stdout.write(`${pitfall.name}: not shown in ${ATTEMPTS} attempts, so its shipped run stays as it was.\n`);
      process.exitCode = 1;
      continue;
    }
    const { sources: _, ...run } = best; // the page has the sources already
    writeWhole(join(pitfall.folder, 'shipped.json'), `${JSON.stringify(run, null, 2)}\n`);
    const calls = run.recording ? `${run.recording.events.length} system calls recorded.` : run.notRecorded;
    process.stdout.write(`${pitfall.name}: shown; ${calls}\n`);
  }
}

ship(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
