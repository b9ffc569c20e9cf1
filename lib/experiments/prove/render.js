'use strict';
// The tables of `crossings prove`: how each proof and control ended, and the instructions of the hot path.
const { plainTable } = require('../../terminal/table.js');
const { held } = require('./proof.js');

/** @typedef {import('../../terminal/style.js').Style} Style */
/** @typedef {import('./proof.js').Proof} Proof */

/** @param {Proof} proof */
function endOf({ survived, killedBy, filterInForce, reason }) {
  if (reason) return 'not run';
  if (survived) return filterInForce ? 'survived' : 'filter not in force';
  return killedBy ? `killed at ${killedBy}` : 'did not finish';
}

/** What the filter permits. @param {Proof} proof */
function permitted({ allowed, counted }) {
  if (allowed.length === 0) return '–';
  return counted ? `${Object.keys(counted).length} calls, counted` : allowed.join(', ');
}

/** @param {{proofs: Proof[]}} file @param {Style} style */
function renderProve({ proofs }, style) {
  const rows = proofs.map((proof) => [
    proof.title,
    proof.messages.toLocaleString('en-US'),
    permitted(proof),
    held(proof) ? style.good(endOf(proof)) : style.bad(endOf(proof)),
  ]);
  return plainTable(null, ['', 'messages', 'permitted', 'result'], rows, style);
}

/** @param {import('./disassembly.js').Disassembly} disassembly @param {Style} style */
function renderDisassembly({ functions = [] }, style) {
  return functions
    .map(({ name, instructions, lines }) => {
      const chunks = lines.map(({ file, line, source, instructions: own }) => {
        const place = file === null ? '' : `${file}:${line}`;
        const listing = own.map(({ address, text }) => `    ${address.padStart(8)}  ${text}`);
        return [`${style.dim(place)}  ${source}`, ...listing].join('\n');
      });
      return [style.bold(`${name}: ${instructions} instructions`), ...chunks].join('\n');
    })
    .join('\n\n');
}

module.exports = { renderDisassembly, renderProve };
