'use strict';
// Runs every lesson and its tries, and writes what they measured into the lesson's folder: node test/tools/ship-lessons.js [NAME…].
// The page shows these runs where programs cannot be run.
const { join } = require('node:path');
const { findLesson, listLessons } = require('../../lib/lessons/folders.js');
const { runLesson } = require('../../lib/lessons/lesson.js');
const { writeWhole } = require('../../lib/terminal/files.js');

/** @param {string[]} names */
async function ship(names) {
  for (const lesson of names.length > 0 ? names.map(findLesson) : listLessons()) {
    const runs = [];
    for (const which of [null, ...(lesson.try ?? []).keys()]) runs.push(await runLesson(lesson, which));
    const path = join(lesson.folder, 'shipped.json');
    writeWhole(path, `${JSON.stringify({ schema: 'crossings/lesson-runs/1', runs }, null, 2)}\n`);
    process.stdout.write(`${path}: ${runs.length} runs.\n`);
  }
}

ship(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
