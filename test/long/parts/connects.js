'use strict';
// Long days: ten thousand connects and closes in a row, in both roles, in C and in Node. Memory, descriptors and maps stay flat.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { buildSoak, judge, nodeSide, startSide, together } = require('../soak/flat.js');

const CONNECTS = { short: 200, long: 10_000 };

module.exports = {
  name: 'connects',
  title: 'long days: connecting leaves nothing',
  /** @param {{scale: 'short' | 'long', progress: (fraction: number, text: string) => void}} task */
  async run({ scale, progress }) {
    const count = CONNECTS[scale];
    const folder = mkdtempSync(join(tmpdir(), 'connects-'));
    /** @type {{figures: Record<string, number | string>, failures: string[]}} */
    const all = { figures: { 'connects per pair': count }, failures: [] };
    try {
      const program = buildSoak(folder);
      const path = join(folder, 'soak.sock');
      const task = { path, count, capacity: 65_536 };
      const node = { server: nodeSide('serve', task), client: nodeSide('connect', task) };
      const c = program && {
        server: [program, 'serve', path, String(count)],
        client: [program, 'connect', path, String(count)],
      };
      const pairs = [
        { name: 'Node to Node', server: node.server, client: node.client, roles: ['Node serve', 'Node connect'] },
        ...(c
          ? [
              { name: 'C to Node', server: node.server, client: c.client, roles: ['Node serve', 'C client'] },
              { name: 'Node to C', server: c.server, client: node.client, roles: ['C server', 'Node connect'] },
              { name: 'C to C', server: c.server, client: c.client, roles: ['C server', 'C client'] },
            ]
          : []),
      ];
      if (!c) all.figures['pairs with C'] = 'not run: no C compiler';
      for (const [index, { name, server, client, roles }] of pairs.entries()) {
        progress(index / pairs.length, name);
        const began = performance.now();
        const { reports, failures } = await together([startSide(server), startSide(client)]);
        const flat = judge(reports, roles, name);
        all.failures.push(...(failures.length > 0 ? failures.map((each) => `${name}: ${each}`) : flat.failures));
        all.figures[`${name}: connects/s`] = count / ((performance.now() - began) / 1000);
        Object.assign(all.figures, flat.figures);
      }
      return all;
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
