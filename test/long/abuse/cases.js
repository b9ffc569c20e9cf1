'use strict';
// All cases: every public call, with valid arguments, junk, and every order of aborting, from every place, in every state. And
// every place with a callback that throws.
const { CALLS, JUNK, membersOf } = require('./calls.js');
const { PLACES } = require('./places.js');
const { STATES } = require('./states.js');

/** When a signal that was given to a call is aborted. */
const ABORTS = [
  'before',
  'at once',
  'in a microtask',
  'in an immediate',
  'after the end',
  'at once, for two',
  'while closing',
];

/** What a callback throws. */
const THROWN = [
  new Error('thrown'),
  undefined,
  null,
  Symbol('thrown'),
  Object.create(null),
  Object.defineProperty({}, 'message', {
    get() {
      throw new Error('no message');
    },
  }),
  {
    toString() {
      throw new Error('no text');
    },
  },
  new Error('long '.repeat(1e6)),
];

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {import('./places.js').Place} place
 * @property {import('./states.js').State} state
 * @property {string | symbol} [member] what is called; none: the callback throws
 * @property {import('./calls.js').Call} [call] its entry in the table
 * @property {any[]} [args]
 * @property {boolean} [junk] are the arguments invalid, or may they be?
 * @property {string} [abort]
 * @property {{value: any}} [thrown]
 */

/**
 * The ways to call a member.
 * @param {import('./calls.js').Call} call
 * @returns {{how: string, args: any[], junk?: boolean, abort?: string}[]}
 */
function waysOf({ args, signal, getter }) {
  const valid = args.map((list, index) => ({ how: `arguments ${index}`, args: list }));
  if (getter || args.length === 0) return valid;
  const junk = JUNK.flatMap((value, index) => [
    { how: `junk ${index}`, args: [value], junk: true },
    { how: `junk ${index} second`, args: [args[0][0] ?? 'x', value], junk: true },
  ]);
  const aborted =
    signal === undefined ? [] : ABORTS.map((abort) => ({ how: `aborted ${abort}`, args: args[0], abort }));
  return [...valid, ...aborted, ...junk];
}

/** The members of a class that have no entry in a table. @param {{prototype: any}} type @param {Map<string | symbol, unknown>} table */
const missingFrom = (type, table) => membersOf(type).filter((member) => !table.has(member));

/** @param {{prototype: any}} type @returns {Case[]} */
function allCases(type) {
  /** @type {Case[]} */
  const cases = [];
  for (const place of PLACES) {
    for (const state of STATES) {
      if (state.notice && place.name !== 'outside') continue; // a callback cannot wait
      for (const member of membersOf(type)) {
        const call = CALLS.get(member);
        if (call === undefined) continue; // missingFrom() reports it
        for (const { how, ...way } of waysOf(call)) {
          if (way.junk && place !== PLACES[0]) continue; // a callback changes nothing about the checks of arguments
          // receiveSync() without a timeout is for ever if nothing ends it.
          if (call.blocks && way.junk && !state.ended) continue;
          cases.push({
            name: `${String(member)}, ${how}, ${place.name}, ${state.name}`,
            place,
            state,
            member,
            call,
            ...way,
          });
        }
      }
    }
    if (place.own) continue;
    for (const [index, value] of THROWN.entries()) {
      cases.push({ name: `throws ${index}, ${place.name}`, place, state: STATES[0], thrown: { value } });
    }
  }
  return cases;
}

module.exports = { allCases, missingFrom, waysOf };
