'use strict';
// The process of one part of the long run: node part.js {"file": …, "scale": …, "seed": …, "temporary": …}. Sends its progress
// and its result to the parent, and ends with its children if the parent is gone.
const { rmSync } = require('node:fs');

/** @param {any} message */
const tell = (message) => new Promise((resolve) => process.send?.(message, resolve));

async function main() {
  const { file, scale, seed, temporary } = JSON.parse(process.argv[2]);
  process.once('disconnect', () => {
    rmSync(temporary, { recursive: true, force: true });
    process.kill(-process.pid, 'SIGKILL'); // this process leads a group of its own
  });
  const progress = (/** @type {number} */ fraction, text = '') => {
    tell({ type: 'progress', fraction, text });
  };
  const { figures = {}, failures = [], skipped } = await require(file).run({ scale, seed, progress });
  await tell({ type: 'result', result: { figures, failures, skipped } });
  process.exit(0); // whatever the part has left open is found by the parent, if it outlives this process
}

main().catch((error) => {
  process.stderr.write(`${error?.stack ?? error}\n`);
  process.exit(1);
});
