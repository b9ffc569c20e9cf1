'use strict';
// One paragraph below a table: the machine that produced it.
const { significant } = require('../terminal/numbers.js');

/** @typedef {import('../measure/environment.js').Environment} Environment */

/** @param {{environment: Environment, parameters: {seconds: number}, results: {crossings: {method: string | null}}[]}} run */
function provenance({ environment, parameters, results }) {
  const { clock } = environment;
  const placed = environment.pinnedCores
    ? `cores ${environment.pinnedCores.join(' and ')} (${environment.placement})`
    : 'cores chosen by the scheduler';
  const methods = [...new Set(results.map(({ crossings }) => crossings.method))].filter(Boolean);
  const counted =
    methods.length > 0 ? `System calls counted by ${methods.join(' and ')}.` : 'System calls could not be counted.';
  return (
    `${environment.cpu}, ${environment.kernel}, ${placed}, ${environment.compiler}; clock: ${clock.source}, ` +
    `${significant(clock.overheadNs, 2)} ns per reading. ${counted} The run took ${significant(parameters.seconds)} s.`
  );
}

module.exports = { provenance };
