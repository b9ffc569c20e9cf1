'use strict';
// For CI: a comparison that shows a regression beyond a threshold ends the command with status 1.
const { CrossingsError } = require('../channel/errors.js');
const { observationsNeeded } = require('./compare/verdicts.js');
const { intervalOf, list, nameOf, percent } = require('./compare/sentences.js');

/**
 * @typedef {import('./compare/runs.js').Comparison} Comparison
 * @typedef {import('./compare/verdicts.js').Answer} Answer
 */

/**
 * Whether a message takes certainly longer: the whole interval is beyond the threshold.
 * @param {Answer | null} answer
 * @param {'throughput' | 'roundTrip'} kind
 * @param {number} threshold 0.1: 10 % longer
 */
function isRegression(answer, kind, threshold) {
  if (answer?.verdict !== 'slower') return false;
  return kind === 'roundTrip' ? answer.low > 1 + threshold : answer.high < 1 / (1 + threshold);
}

/**
 * Throws if a message takes longer than before by more than the threshold.
 * @param {Comparison} comparison
 * @param {number} threshold
 */
function failOnRegression({ mechanisms }, threshold) {
  const found = mechanisms.flatMap((compared) =>
    /** @type {const} */ (['roundTrip', 'throughput']).flatMap((kind) => {
      const answer = compared[kind];
      if (!answer || !isRegression(answer, kind, threshold)) return [];
      const what = kind === 'roundTrip' ? 'round trip' : 'throughput';
      return [`${nameOf(compared)}, ${what} (${intervalOf(answer)})`];
    }),
  );
  if (found.length === 0) return;
  throw new CrossingsError('ERR_REGRESSION', `Slower by more than ${percent(threshold)}: ${list(found)}`);
}

/**
 * Why a comparison without a regression says nothing about one; null: it does. A check that could not find anything must
 * not look like one that has found nothing.
 * @param {Pick<Comparison, 'rule' | 'mechanisms'>} comparison
 * @returns {string | null}
 */
function reasonUndecided({ rule, mechanisms }) {
  if (rule.disturbed) return 'other processes used the machine during one of the runs, so there are no verdicts';
  const needed = observationsNeeded(rule.questions);
  const answers = mechanisms.flatMap(({ roundTrip, throughput }) => [roundTrip, throughput]);
  const enough = answers.some((answer) => answer && Math.min(...answer.observations) >= needed);
  return enough ? null : `a verdict requires at least ${needed} ${rule.unit} on each side, and there are fewer`;
}

module.exports = { failOnRegression, reasonUndecided };
