'use strict';
// The mechanisms that have a bill, and the message sizes.
const { readNames, readWholeNumber, refuse } = require('../../terminal/arguments.js');

/** Those that crossings-bench --list calls billable. */
const MECHANISMS = ['pipe', 'uds', 'tcp', 'shm-sem', 'ring'];
// One process that makes both sides' calls must never wait, so two messages must fit into every kernel buffer.
const SIZES = /** @type {[number, number]} */ ([8, 16384]);
const USUAL_SIZE = 32; // as in document 000

/** The names that crossings-bench uses. The ring of its comparison never sleeps. @param {string} name */
const programName = (name) => (name === 'ring' ? 'ring-sleep' : name);

/** @param {string | undefined} text comma-separated names, or "all" */
function readMechanisms(text) {
  if (text === undefined) return refuse(`MECHANISM is missing. It must be one of ${MECHANISMS.join(', ')}, or all.`);
  return text === 'all' ? MECHANISMS : readNames('MECHANISM', text, MECHANISMS);
}

/** @param {string} text */
const readBillSize = (text) => readWholeNumber('--size', text, SIZES);

module.exports = { MECHANISMS, USUAL_SIZE, programName, readBillSize, readMechanisms };
