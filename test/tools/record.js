'use strict';
// Records every mechanism and the gates, one file each: node test/tools/record.js FOLDER. `npm run record` renews the recordings that
// ship with the lab.
const { join } = require('node:path');
const { writeWhole } = require('../../lib/terminal/files.js');
const { traceText } = require('../../lib/trace/file.js');
const { tryGates } = require('../../lib/trace/gates/gates.js');
const { listDemos, recordTrace } = require('../../lib/trace/record.js');

/** @param {string} folder */
async function recordAll(folder) {
  for (const { name } of await listDemos()) {
    const path = join(folder, `${name}.json`);
    const trace = await recordTrace({ mechanism: name });
    writeWhole(path, traceText(trace));
    process.stdout.write(`${path}: ${trace.events.length} events.\n`);
  }
  const gates = join(folder, 'gates.json');
  writeWhole(gates, `${JSON.stringify(await tryGates(), null, 2)}\n`);
  process.stdout.write(`${gates}: written.\n`);
}

recordAll(process.argv[2] ?? join(__dirname, '..', '..', 'server', 'recordings')).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
