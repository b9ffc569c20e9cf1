'use strict';
// The tables of all experiments as CSV, from the runs that ship.
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { EXPERIMENTS } = require('../lib/experiments/index.js');
const { root } = require('./support.js');

const folder = join(root, 'server', 'recordings', 'runs');
const files = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));

test.each(EXPERIMENTS.map((experiment) => /** @type {const} */ ([experiment.name, experiment])))(
  '%s: every line has a field for each heading, and the figures are those of the file',
  (name, { csv }) => {
    const file = files.find(({ schema }) => schema === `crossings/${name}/1`);
    const lines = csv(file).split('\r\n').slice(0, -1);
    const widths = new Set(lines.map((line) => line.replaceAll(/"[^"]*"/g, '').split(',').length));
    expect(widths.size).toBe(1);
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.join()).not.toMatch(/undefined|NaN|\[object/);
    if (name === 'bill') expect(lines[1]).toContain(`pipe,round-trip,${file.roundTripNs.median},`);
    if (name === 'latency') expect(lines.find((line) => line.startsWith('p50,'))).toContain(`p50,${file.ns.p50},`);
    if (name === 'cycles') expect(lines).toHaveLength(file.rows.length + 1);
    if (name === 'prove') expect(lines).toHaveLength(file.proofs.length + 1);
  },
);
