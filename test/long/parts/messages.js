'use strict';
// Long days: a thousand million messages in C and a hundred million in Node, received in every way and each verified, through
// rings so small that their positions pass 2^32. Memory, descriptors and maps stay flat.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { native } = require('../../../lib/channel/native.js');
const { LAPS } = require('../soak/messages.js');
const { buildSoak, judge, nodeSide, startSide, together } = require('../soak/flat.js');

const WRAP_BYTES = 2 ** 32; // positions are 32-bit

/**
 * How many messages, and every how many there is a large one: the short form reaches 2^32 bytes with large ones. Its rings are
 * larger, so that it waits less often for a turn on a busy machine.
 */
const WORK = {
  short: { capacity: 1 << 20, c: { count: 700_000, largeEvery: 5 }, node: { total: 300_000, largeEvery: 2 } },
  long: {
    capacity: 65_536,
    c: { count: 1_000_000_000, largeEvery: 10_000 },
    node: { total: 100_000_000, largeEvery: 1000 },
  },
};

/** @param {number} total @returns {Record<string, number>} messages per lap, by way */
function sharesOf(total) {
  const perLap = total / LAPS;
  return { into: perLap * 0.5, batches: perLap * 0.2, loop: perLap * 0.1, await: perLap * 0.1, read: perLap * 0.1 };
}

/** How often positions passed 2^32, which they must. @param {any[]} reports @param {string} name */
function wrapsOf(reports, name) {
  const wraps = Math.floor((reports.find((each) => 'frameBytes' in each)?.frameBytes ?? 0) / WRAP_BYTES);
  return {
    figures: { [`${name}: positions passed 2^32`]: wraps },
    failures: wraps > 0 ? [] : [`${name}: no position passed 2^32`],
  };
}

/** @param {string} program @param {{count: number, largeEvery: number}} work @param {number} capacity of the rings, bytes */
async function inC(program, { count, largeEvery }, capacity) {
  const began = performance.now();
  const side = startSide([program, 'messages', ...[count, largeEvery, capacity].map(String)]);
  const { reports, failures } = await together([side]);
  const rate = count / (performance.now() - began) / 1000;
  const flat = judge(reports, ['C sender', 'C receiver']);
  const wraps = wrapsOf(reports, 'C');
  return {
    figures: { 'messages in C': count, 'C: million messages/s': rate, ...wraps.figures, ...flat.figures },
    failures: failures.length > 0 ? failures : [...wraps.failures, ...flat.failures],
  };
}

/** @param {{total: number, largeEvery: number}} work @param {number} capacity @param {(percent: number) => void} onReport */
async function inNode({ total, largeEvery }, capacity, onReport) {
  const task = { perWay: sharesOf(total), largeEvery, capacity };
  const [one, other] = native.socketPair();
  for (const fd of [one, other]) native.lendFd(fd); // the children go on with them
  const began = performance.now();
  const sides = [
    startSide(nodeSide('send', task), { fd: one, onReport: ({ percent }) => onReport(percent ?? 100) }),
    startSide(nodeSide('receive', task), { fd: other }),
  ];
  for (const fd of [one, other]) native.closeFd(fd);
  const { reports, failures } = await together(sides);
  const rate = total / (performance.now() - began) / 1000;
  const received = reports.find((each) => 'messages' in each)?.messages;
  const flat = judge(reports, ['Node send', 'Node receive']);
  const wraps = wrapsOf(reports, 'Node');
  if (failures.length === 0 && received !== total) failures.push(`Node received ${received} of ${total} messages`);
  return {
    figures: { 'messages in Node': total, 'Node: million messages/s': rate, ...wraps.figures, ...flat.figures },
    failures: failures.length > 0 ? failures : [...wraps.failures, ...flat.failures],
  };
}

module.exports = {
  name: 'messages',
  title: 'long days: memory is flat, positions wrap',
  /** @param {{scale: 'short' | 'long', progress: (fraction: number, text: string) => void}} task */
  async run({ scale, progress }) {
    const { capacity, c, node } = WORK[scale];
    const folder = mkdtempSync(join(tmpdir(), 'messages-'));
    try {
      const program = buildSoak(folder);
      progress(0, 'in C');
      const resultC = program
        ? await inC(program, c, capacity)
        : { figures: { 'messages in C': 'not run: no C compiler' }, failures: [] };
      progress(0.4, 'in Node');
      const resultNode = await inNode(node, capacity, (percent) => progress(0.4 + (0.6 * percent) / 100, 'in Node'));
      return {
        figures: { ...resultC.figures, ...resultNode.figures },
        failures: [...resultC.failures, ...resultNode.failures],
      };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
