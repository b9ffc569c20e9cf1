'use strict';
// The proofs and their controls as CSV: one line for each.
const { csvText } = require('../../terminal/csv.js');

const HEADS = ['name', 'kind', 'messages', 'filter_in_force', 'survived', 'killed_by', 'allowed'];

/** @param {{proofs: import('./proof.js').Proof[]}} file */
const toCsv = ({ proofs }) =>
  csvText([
    HEADS,
    ...proofs.map(({ name, kind, messages, filterInForce, survived, killedBy, allowed }) => [
      name,
      kind,
      messages,
      String(filterInForce),
      String(survived),
      killedBy ?? null,
      allowed.join(' '),
    ]),
  ]);

module.exports = { toCsv };
