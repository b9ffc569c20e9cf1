'use strict';
// Checks JSON that anybody may have written against a JSON Schema, up to its first fault. zod, which checks the requests to the lab,
// collects all faults: a file of 300 kB can have a million, which take seconds and a gigabyte. Here each value is looked at once for
// each part of the schema that applies to it.

/** @typedef {{path: (string | number)[], message: string}} Fault where, and what; the path is empty for the whole */
/** @typedef {{root: any, schema: any}} Place the whole schema, and the part of it that has the keyword */

const isObject = (/** @type {any} */ value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @type {Record<string, (value: any) => boolean>} */
const TYPES = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isSafeInteger, // larger ones are not exact
  null: (value) => value === null,
  number: Number.isFinite, // JSON.parse() makes Infinity of 1e999
  object: isObject,
  string: (value) => typeof value === 'string',
};

/** @param {string} message @returns {Fault} */
const fault = (message) => ({ path: [], message });

/** @param {string | number} key @param {Fault | null} found in the member of that name @returns {Fault | null} */
const within = (key, found) => found && { path: [key, ...found.path], message: found.message };

/** A keyword that limits a number. @param {(value: any) => number | null} measure null: it does not apply @param {(size: number, limit: number) => boolean} fits @param {string} must */
const limit = (measure, fits, must) => (/** @type {number} */ most, /** @type {any} */ value) => {
  const size = measure(value);
  return size === null || fits(size, most) ? null : fault(`must ${must} ${most.toLocaleString('en-US')}`);
};
const ofNumber = (/** @type {any} */ value) => (typeof value === 'number' ? value : null);
const ofArray = (/** @type {any} */ value) => (Array.isArray(value) ? value.length : null);
const ofString = (/** @type {any} */ value) => (typeof value === 'string' ? value.length : null);
const ofObject = (/** @type {any} */ value) => (isObject(value) ? Object.keys(value).length : null);
const isAtLeast = (/** @type {number} */ size, /** @type {number} */ least) => size >= least;
const isAtMost = (/** @type {number} */ size, /** @type {number} */ most) => size <= most;

/** @type {Map<string, RegExp>} */
const patterns = new Map();

/** @param {string} source */
function patternOf(source) {
  const pattern = patterns.get(source) ?? new RegExp(source, 'u');
  patterns.set(source, pattern);
  return pattern;
}

/** The faults of a value by each of several schemas. @param {any[]} schemas @param {any} value @param {any} root */
const faultsOf = (schemas, value, root) => schemas.map((schema) => faultIn(schema, value, root));

/** The fault of the alternative that was meant, which is the one that fits best. @param {(Fault | null)[]} faults of all */
function faultOfBest(faults) {
  const found = faults.flatMap((one) => one ?? []);
  const best = found.reduce((a, b) => (b.path.length > a.path.length ? b : a));
  return best.path.length > 0 ? best : fault(found.map(({ message }) => message).join(', or '));
}

/** What each keyword demands of a value. @type {Record<string, (expected: any, value: any, place: Place) => Fault | null>} */
const KEYWORDS = {
  type: (types, value) =>
    [types].flat().some((type) => TYPES[type](value)) ? null : fault(`must be of type ${[types].flat().join(' or ')}`),
  const: (only, value) => (value === only ? null : fault(`must be ${JSON.stringify(only)}`)),
  enum: (all, value) =>
    all.includes(value)
      ? null
      : fault(`must be one of ${all.map((/** @type {any} */ one) => JSON.stringify(one)).join(', ')}`),
  minimum: limit(ofNumber, isAtLeast, 'be at least'),
  maximum: limit(ofNumber, isAtMost, 'be at most'),
  exclusiveMinimum: limit(ofNumber, (size, least) => size > least, 'be greater than'),
  minLength: limit(ofString, isAtLeast, 'have a length of at least'),
  maxLength: limit(ofString, isAtMost, 'have a length of at most'),
  minItems: limit(ofArray, isAtLeast, 'have a length of at least'),
  maxItems: limit(ofArray, isAtMost, 'have a length of at most'),
  minProperties: limit(ofObject, isAtLeast, 'have a number of members of at least'),
  pattern: (source, value) =>
    typeof value !== 'string' || patternOf(source).test(value) ? null : fault(`must match ${source}`),
  required(names, value) {
    const missing = isObject(value) && names.find((/** @type {string} */ name) => !Object.hasOwn(value, name));
    return missing ? within(missing, fault('is missing')) : null;
  },
  properties(schemas, value, { root }) {
    if (!isObject(value)) return null;
    for (const [name, schema] of Object.entries(schemas)) {
      const found = Object.hasOwn(value, name) ? faultIn(schema, value[name], root) : null;
      if (found) return within(name, found);
    }
    return null;
  },
  additionalProperties(others, value, { root, schema: { properties = {} } }) {
    if (!isObject(value)) return null;
    for (const name of Object.keys(value)) {
      const found = Object.hasOwn(properties, name) ? null : faultIn(others, value[name], root);
      if (found) return within(name, found);
    }
    return null;
  },
  items(each, value, { root }) {
    if (!Array.isArray(value)) return null;
    for (const [index, item] of value.entries()) {
      const found = faultIn(each, item, root);
      if (found) return within(index, found);
    }
    return null;
  },
  allOf: (schemas, value, { root }) => faultsOf(schemas, value, root).find(Boolean) ?? null,
  anyOf(schemas, value, { root }) {
    const faults = faultsOf(schemas, value, root);
    return faults.includes(null) ? null : faultOfBest(faults);
  },
  oneOf(schemas, value, { root }) {
    const faults = faultsOf(schemas, value, root);
    const fitting = faults.filter((found) => found === null).length;
    if (fitting === 0) return faultOfBest(faults);
    return fitting === 1 ? null : fault('must fit only one of the alternatives');
  },
  $ref: (pointer, value, { root }) => faultIn(root.$defs[pointer.replace('#/$defs/', '')], value, root),
};
const ANNOTATIONS = ['$schema', '$id', '$defs', 'title', 'description'];

/** @param {any} schema or a part of it @param {any} value @param {any} root @returns {Fault | null} */
function faultIn(schema, value, root) {
  if (typeof schema === 'boolean') return schema ? null : fault('is not allowed');
  for (const [keyword, expected] of Object.entries(schema)) {
    if (ANNOTATIONS.includes(keyword)) continue;
    if (!KEYWORDS[keyword]) throw new Error(`json-schema.js does not know the keyword ${keyword}.`);
    const found = KEYWORDS[keyword](expected, value, { root, schema });
    if (found) return found;
  }
  return null;
}

/**
 * The first fault of a value; null if it has none.
 * @param {object} schema JSON Schema, with the keywords above, and references to its own $defs
 * @param {unknown} json
 */
const firstFault = (schema, json) => faultIn(schema, json, schema);

module.exports = { firstFault };
