'use strict';
// Runs an experiment as a lesson: the same measurement as its command makes, with fewer rounds, and its result as figures.
const { CrossingsError } = require('../channel/errors.js');
const { EXPERIMENTS } = require('../experiments/index.js');

const ROUNDS = 7; // the fewest with which the median has a 95 % interval

/** @typedef {{experiment: string, choices?: Record<string, string>}} Work */
/** What is being done now; the share that is done, or null if nobody knows. @typedef {(progress: {doing: string, fraction: number | null}) => void} OnProgress */

/** @param {string} name */
function findExperiment(name) {
  const able = EXPERIMENTS.filter(({ figures }) => figures);
  const found = able.find((experiment) => experiment.name === name);
  if (found?.figures) return { ...found, figures: found.figures };
  const names = able.map((experiment) => experiment.name).join(', ');
  throw new CrossingsError('ERR_LESSON', `The experiment of a lesson must be one of ${names}; got "${name}".`);
}

/**
 * @param {Work} work
 * @param {{signal?: AbortSignal, onProgress?: OnProgress}} [control]
 * @returns {Promise<import('./confined.js').Outcome>}
 */
async function runExperimentOf({ experiment, choices }, { signal, onProgress } = {}) {
  const { run, figures } = findExperiment(experiment);
  const file = await run(
    { cores: null, pin: true, effort: 'quick', rounds: ROUNDS, ...choices },
    { signal, onProgress },
  );
  return {
    how: 'exited',
    status: 0,
    signal: null,
    lines: file.environment.warnings.map((/** @type {string} */ line) => ({ stream: 'stdout', line })),
    figures: figures(file),
    processes: [],
    left: 0,
    ms: file.parameters.seconds * 1000,
    truncated: false,
    confinement: null,
  };
}

module.exports = { findExperiment, runExperimentOf };
