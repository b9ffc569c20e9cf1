'use strict';
// The sizes of this machine's data caches, as the kernel describes them.
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/** @typedef {{l1d: number | null, l2: number | null, l3: number | null}} CpuCaches bytes; null: unknown or not there */

const UNITS = { K: 1024, M: 1 << 20, G: 1 << 30 };

/** "48K" -> 49152. @param {string} text */
function bytesOf(text) {
  const [, digits, unit] = /^(\d+)([KMG])$/.exec(text) ?? [];
  return digits ? Number(digits) * UNITS[/** @type {keyof typeof UNITS} */ (unit)] : null;
}

/**
 * The caches of one core. An L2 or L3 cache may be shared with other cores.
 * @param {number} core
 * @param {string} [folder] of the kernel's description of the cores
 * @returns {CpuCaches}
 */
function readCaches(core, folder = '/sys/devices/system/cpu') {
  /** @type {CpuCaches} */
  const caches = { l1d: null, l2: null, l3: null };
  const path = join(folder, `cpu${core}`, 'cache');
  const read = (/** @type {string} */ index, /** @type {string} */ file) =>
    readFileSync(join(path, index, file), 'utf8').trim();
  let indexes;
  try {
    indexes = readdirSync(path).filter((name) => name.startsWith('index'));
  } catch {
    return caches; // containers and virtual machines may hide it
  }
  for (const index of indexes) {
    try {
      const level = read(index, 'level');
      if (read(index, 'type') === 'Instruction') continue;
      const name = level === '1' ? 'l1d' : `l${level}`;
      if (name in caches) caches[/** @type {keyof CpuCaches} */ (name)] = bytesOf(read(index, 'size'));
    } catch {
      // A cache whose description is incomplete stays null.
    }
  }
  return caches;
}

module.exports = { readCaches };
