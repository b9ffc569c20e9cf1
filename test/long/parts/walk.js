'use strict';
// Random walks: processes and workers that use channels of random options in every way at the same time. Every message arrives
// once, whole and in order, every request has its own response, every promise settles, and every process ends by itself. A walk
// is drawn from its seed; the processes' pace is not, so one that fails rarely may have to be repeated a few times.
const { runWalk } = require('../walk/run-walk.js');

/** How long new walks are begun. */
const WORK_MS = { short: 8000, long: 115_000 };
const LANES = 2; // walks at the same time
const MOST_FAILURES = 3;
const OUTPUT_LIMIT = 8000; // characters of a failure
const MOST_SEED = 2 ** 31 - 1;

/** @param {number} seed @param {string} failure */
const describe = (seed, failure) =>
  `The walk of seed ${seed} fails. Repeat it: npm run test:long -- --only walk --scale short --seed ${seed}\n${failure.slice(0, OUTPUT_LIMIT)}`;

module.exports = {
  name: 'walk',
  title: 'random walks over every call, option and runtime',
  boundSeconds: { short: 120, long: 300 },
  /**
   * The first walk has the seed of the run.
   * @param {{scale: 'short' | 'long', seed: number, progress: (fraction: number, text: string) => void}} task
   */
  async run({ scale, seed, progress }) {
    const began = performance.now();
    const share = () => (performance.now() - began) / WORK_MS[scale];
    /** @type {string[]} */
    const failures = [];
    const sums = { walks: 0, channels: 0, processes: 0, workers: 0, 'messages checked': 0, 'responses checked': 0 };
    const versions = new Set();
    let begun = 0;
    const lane = async () => {
      do {
        const own = ((seed + begun++ - 1) % MOST_SEED) + 1;
        const { failure, channels, processes, workers, reports } = await runWalk(own);
        if (failure) failures.push(describe(own, failure));
        sums.walks++;
        sums.channels += channels;
        sums.processes += processes;
        sums.workers += workers;
        for (const { messages, responses, node } of reports) {
          sums['messages checked'] += messages;
          sums['responses checked'] += responses;
          versions.add(node);
        }
        progress(Math.min(1, share()), `${sums.walks} walks`);
      } while (share() < 1 && failures.length < MOST_FAILURES);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return { figures: { ...sums, 'Node versions': [...versions].sort().join(', ') }, failures };
  },
};
