'use strict';
// The order of the test files: the long ones first, so that short ones end last and no core is idle meanwhile. In a clean checkout
// Jest knows no durations, and would go by the size of the files.
const { basename } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Files that take long, at least in CI. */
const LONG = [
  'browser-theatre',
  'server-matrix',
  'browser-lessons',
  'browser-bench',
  'model',
  'compilers',
  'browser-experiments',
  'prove',
  'pitfalls',
  'long-run',
  'install',
  'compare',
  'browser-recording',
  'server-abuse',
  'hostile-peer',
  'trace-program',
  'lessons',
  'killed',
  'peer-death',
  'export',
  'ring',
  'bill',
  'api-abuse',
  'thread-sanitizer',
  'fuzz',
];

/** @param {{path: string}} test its place in the order */
function placeOf({ path }) {
  const place = LONG.indexOf(basename(path, '.test.js'));
  return place === -1 ? LONG.length : place;
}

module.exports = class extends Sequencer {
  /** @param {Parameters<Sequencer['sort']>[0]} tests */
  async sort(tests) {
    return [...(await super.sort(tests))].sort((a, b) => placeOf(a) - placeOf(b));
  }
};
