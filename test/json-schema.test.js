'use strict';
// The check of files that anybody may have written: it agrees with ajv, and ends at the first fault.
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { firstFault } = require('../lib/terminal/json-schema.js');
const { root } = require('./support.js');

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

const EXPERIMENTS = ['bill', 'cycles', 'latency', 'prove', 'sweep'];
const RUNS = 'server/recordings/runs';
const SCHEMAS = /** @type {Record<string, string>} */ ({
  run: 'lib/bench/run.schema.json',
  ...Object.fromEntries(EXPERIMENTS.map((name) => [name, `lib/experiments/${name}/${name}.schema.json`])),
  lesson: 'lib/lessons/lesson.schema.json',
  pitfall: 'lib/lessons/pitfall.schema.json',
});

/** Files to check, each with the name of its schema: some of those that the repository has. @returns {[string, string, any][]} */
function files() {
  const runs = readdirSync(join(root, RUNS)).map((name) => readJson(`${RUNS}/${name}`));
  const folders = ['lesson', 'pitfall'].flatMap((kind) =>
    readdirSync(join(root, 'c-bench', `${kind}s`))
      .map((name) => `c-bench/${kind}s/${name}/${kind}.json`)
      .filter((path, i) => i % 4 === 0 && existsSync(join(root, path)))
      .map((path) => /** @type {[string, any]} */ ([kind, readJson(path)])),
  );
  const all = [...runs.map((run) => /** @type {[string, any]} */ ([run.schema.split('/')[1], run])), ...folders];
  return all.map(([schema, json], i) => [`${schema} ${i}`, schema, json]);
}

const ODD = [null, true, -1, 0.5, 1e15, '', 'x', [], [0], [[]], {}, { x: 1 }];
const FEW = 8; // entries of a list: the check takes long enough

/** The places of all members of a value. @param {any} value @param {(string | number)[]} [path] @returns {(string | number)[][]} */
function places(value, path = []) {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 2) : Object.keys(value);
  return keys.flatMap((key) => [[...path, key], ...places(value[key], [...path, key])]);
}

/** @param {any} json */
const withShortLists = (json) =>
  JSON.parse(JSON.stringify(json), (_key, value) => (Array.isArray(value) ? value.slice(0, FEW) : value));

/** @type {Map<string, import('ajv').ValidateFunction>} */
const validators = new Map();

/** @param {string} name of a schema */
function validatorOf(name) {
  const validator = validators.get(name) ?? new Ajv({ strict: false }).compile(readJson(SCHEMAS[name]));
  validators.set(name, validator);
  return validator;
}

describe.each(files())('%s', (_title, name, json) => {
  const schema = readJson(SCHEMAS[name]);
  const isValid = validatorOf(name);

  test('it has no fault', () => expect(firstFault(schema, json)).toBeNull());

  test('with any other value in any place, and without any member, it has a fault if ajv says so', () => {
    const copy = withShortLists(json);
    expect(isValid(copy)).toBe(true);
    /** @type {string[]} */
    const different = [];
    for (const path of places(copy)) {
      const last = /** @type {string | number} */ (path.at(-1));
      const parent = path.slice(0, -1).reduce((value, key) => value[key], copy);
      const value = parent[last];
      const compare = (/** @type {string} */ how) => {
        if ((firstFault(schema, copy) === null) !== isValid(copy)) different.push(`${path.join('.')}: ${how}`);
      };
      for (const odd of ODD) {
        parent[last] = odd;
        compare(JSON.stringify(odd));
      }
      if (!Array.isArray(parent)) {
        delete parent[last];
        compare('missing');
      }
      parent[last] = value;
    }
    expect(different).toEqual([]);
  });
});

test.each(Object.entries(SCHEMAS))('it knows every keyword of the schema of %s', (_name, path) => {
  const schema = readJson(path);
  const visit = (/** @type {any} */ part) => {
    if (typeof part !== 'object') return;
    for (const [keyword, expected] of Object.entries(part)) {
      firstFault({ [keyword]: expected, $defs: schema.$defs }, null);
      if (['properties', '$defs'].includes(keyword)) Object.values(expected).forEach(visit);
      if (['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'].includes(keyword))
        [expected].flat().forEach(visit);
    }
  };
  visit(schema);
  expect(() => firstFault({ contains: {} }, [])).toThrow('does not know the keyword contains');
});

test('a number must be finite, and an integer exact', () => {
  const numbers = JSON.parse('[1e999, 9007199254740993]');
  expect(firstFault({ items: { type: 'number' } }, numbers)).toEqual({ path: [0], message: 'must be of type number' });
  expect(firstFault({ type: 'integer' }, numbers[1])).toEqual({ path: [], message: 'must be of type integer' });
});

test('of alternatives, the fault of the one that fits best is told', () => {
  const schema = { oneOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { type: 'null' }] };
  expect(firstFault(schema, { a: 1 })).toEqual({ path: ['a'], message: 'must be of type string' });
  expect(firstFault(schema, 1)).toEqual({ path: [], message: 'must be of type object, or must be of type null' });
});
