'use strict';
// Checks JSON that anybody may have written against a JSON Schema, up to its first fault. zod, which checks the requests to the lab,
// collects all faults: a file of 300 kB can have a million, which take seconds and a gigabyte.
const Ajv2020 = require('ajv/dist/2020').default;

/** @typedef {{path: (string | number)[], message: string}} Fault where, and what; the path is empty for the whole */

const ajv = new Ajv2020({ strict: false, strictNumbers: true }); // it compiles each schema once

/** A step of a JSON pointer. @param {string} step @returns {string | number} */
function keyOf(step) {
  const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
  return /^\d+$/.test(key) ? Number(key) : key;
}

/** @param {import('ajv').ErrorObject} error */
function messageOf({ keyword, message, params }) {
  if (keyword === 'required') return 'is missing';
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  if (keyword === 'enum')
    return `must be one of ${params.allowedValues.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(', ')}`;
  return String(message).replaceAll('NOT', 'not');
}

/**
 * The first fault of a value; null if it has none. Of several alternatives, that of the one which fits best.
 * @param {object} schema JSON Schema
 * @param {unknown} json
 * @returns {Fault | null}
 */
function firstFault(schema, json) {
  const validate = ajv.compile(schema);
  if (validate(json)) return null;
  const faults = (validate.errors ?? []).map((error) => {
    const missing = error.keyword === 'required' ? [error.params.missingProperty] : [];
    const path = [...error.instancePath.split('/').slice(1).map(keyOf), ...missing];
    return { path, message: messageOf(error) };
  });
  return faults.reduce((best, one) => (one.path.length > best.path.length ? one : best));
}

module.exports = { firstFault };
