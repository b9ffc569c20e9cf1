'use strict';
// One paragraph below a table: the machine that produced it.
const { significant } = require('../terminal/numbers.js');

/** @typedef {import('../measure/environment.js').Environment} Environment */

/** Where and how it was measured, in one paragraph. @param {{environment: Environment, parameters: {seconds: number}, results: {crossings: {method: string | null}}[]}} run */
function provenance({ environment, parameters, results }) {
  const { clock } = environment;
  const placed = environment.pinnedCores
    ? `cores ${environment.pinnedCores.join(' and ')} (${environment.placement})`
    : 'cores of the scheduler’s choice';
  const methods = [...new Set(results.map(({ crossings }) => crossings.method))].filter(Boolean);
  const counted =
    methods.length > 0 ? `System calls counted by ${methods.join(' and ')}.` : 'System calls could not be counted.';
  return (
    `${environment.cpu}, ${environment.kernel}, ${placed}, ${environment.compiler}; clock: ${clock.source}, ` +
    `${significant(clock.overheadNs, 2)} ns a reading. ${counted} ${significant(parameters.seconds)} s in all.`
  );
}

module.exports = { provenance };
