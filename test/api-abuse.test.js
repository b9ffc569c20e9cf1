'use strict';
// Whatever is called, in whatever state and from inside whatever callback: a documented value or a documented error, no
// unhandled rejection, no hang, nothing left. test/long/abuse/rule.js states the rule; a random share of the cases runs here,
// all of them in `npm run test:long`.
const { CALLS } = require('./long/abuse/calls.js');
const { allCases, missingFrom } = require('./long/abuse/cases.js');
const { PLACES } = require('./long/abuse/places.js');
const { SERVER_CALLS } = require('./long/abuse/server-calls.js');
const { STATES } = require('./long/abuse/states.js');
const abuse = require('./long/parts/api-abuse.js');
const { inCi } = require('./in-ci.js');
const { Channel, Server } = /** @type {any} */ (require('../lib/index.js'));

const seed = Number(process.env.CROSSINGS_SEED ?? 1 + (Date.now() % 1_000_000));

test(`a share of the cases (CROSSINGS_SEED=${seed})`, async () => {
  const { figures, failures } = await abuse.run({ scale: inCi ? 'short' : 'brief', seed, progress() {} });
  expect(failures).toEqual([]);
  expect(figures.cases).toBeGreaterThan(500);
});

test('every public member has an entry in the table, and every entry is a member', () => {
  expect(missingFrom(Channel, CALLS)).toEqual([]);
  expect(missingFrom(Server, SERVER_CALLS)).toEqual([]);
  for (const name of CALLS.keys()) expect(Reflect.has(Channel.prototype, name)).toBe(true);
  for (const name of SERVER_CALLS.keys()) expect(Reflect.has(Server.prototype, name)).toBe(true);
});

test('a new member without an entry is noticed', () => {
  class Extended {
    trySend() {}
    brandNew() {}
  }
  expect(missingFrom(Extended, CALLS)).toEqual(['brandNew']);
});

test('there is a case for every member in every place and in every state', () => {
  const cases = allCases(Channel).filter(({ member }) => member !== undefined);
  for (const member of CALLS.keys()) {
    const own = cases.filter((each) => each.member === member);
    expect(new Set(own.map(({ place }) => place.name)).size).toBe(PLACES.length);
    expect(new Set(own.map(({ state }) => state.name)).size).toBe(STATES.length);
  }
});
