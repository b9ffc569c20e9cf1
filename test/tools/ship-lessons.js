'use strict';
// Runs every lesson and its tries, and writes what they measured into the lesson's folder: node test/tools/ship-lessons.js [NAME…].
// The page shows these runs where programs cannot be run.
const { join } = require('node:path');
const { findLesson, listLessons } = require('../../lib/lessons/folders.js');
const { runLesson } = require('../../lib/lessons/lesson.js');
const { writeWhole } = require('../../lib/terminal/files.js');

const ATTEMPTS = 5;

/**
 * A run that has its recording, if it should have one: two processes that lose a wake-up sometimes do so late, after more calls than
 * a recording that ships may have.
 * @param {import('../../lib/lessons/folders.js').Lesson} lesson
 * @param {number | null} which
 */
async function runOf(lesson, which) {
  let why;
  for (let i = 0; i < ATTEMPTS; i++) {
    const run = await runLesson(lesson, which);
    why = run.outcome.notRecorded;
    if (!why) return run;
  }
  throw new Error(`${lesson.name}, ${which === null ? 'its own run' : `try ${which + 1}`}, was not recorded: ${why}`);
}

/** @param {string[]} names */
async function ship(names) {
  for (const lesson of names.length > 0 ? names.map(findLesson) : listLessons()) {
    const runs = [];
    for (const which of [null, ...(lesson.try ?? []).keys()]) runs.push(await runOf(lesson, which));
    const path = join(lesson.folder, 'shipped.json');
    writeWhole(path, `${JSON.stringify({ schema: 'crossings/lesson-runs/1', runs }, null, 2)}\n`);
    process.stdout.write(`${path}: ${runs.length} runs.\n`);
  }
}

ship(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
