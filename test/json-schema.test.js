'use strict';
// The check of files that anybody may have written: it tells one fault, and where it is.
const { firstFault } = require('../lib/terminal/json-schema.js');

test('a value without a fault has none', () => expect(firstFault({ type: 'integer' }, 1)).toBeNull());

test.each([
  ['a number that is not finite', { items: { type: 'number' } }, '[1e999]', [0], 'must be number'],
  ['a member that is missing', { items: { required: ['a'] } }, '[{}]', [0, 'a'], 'is missing'],
  ['another constant', { properties: { a: { const: 1 } } }, '{"a": 2}', ['a'], 'must be 1'],
  ['another word', { enum: ['one', 'two'] }, '3', [], 'must be one of "one", "two"'],
  [
    'a member that is not allowed',
    { additionalProperties: false },
    '{"a": 1}',
    [],
    'must not have additional properties',
  ],
  ['a name with a slash', { additionalProperties: { type: 'null' } }, '{"a/~b": 1}', ['a/~b'], 'must be null'],
])('%s', (_, schema, json, path, message) => {
  expect(firstFault(schema, JSON.parse(json))).toEqual({ path, message });
});

test('of alternatives, the fault of the one that fits best is told', () => {
  const schema = { oneOf: [{ type: 'null' }, { type: 'object', properties: { a: { type: 'string' } } }] };
  expect(firstFault(schema, { a: 1 })).toEqual({ path: ['a'], message: 'must be string' });
});
