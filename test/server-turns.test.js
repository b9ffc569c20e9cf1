'use strict';
// server/one-a-turn.js: costly answers of the lab, one in each turn of the event loop.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { oneATurn } = require('../server/one-a-turn.js');

/** @type {any} */ const handle = oneATurn();
/** @type {string[]} */ let answered;

/** @param {string} name @returns {{destroyed: boolean}} its socket */
function ask(name) {
  const socket = { destroyed: false };
  handle({ socket }, null, () => answered.push(name));
  return socket;
}

beforeEach(() => {
  answered = [];
});

test('requests that come together are answered in their order, one in each turn', async () => {
  for (const name of ['a', 'b', 'c']) ask(name);
  expect(answered).toEqual([]);
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await nextTurn();
    expect(answered).toEqual(expected);
  }
});

test('a request that comes alone is answered in the next turn, also after others', async () => {
  for (const name of ['a', 'b']) {
    ask(name);
    await nextTurn();
  }
  expect(answered).toEqual(['a', 'b']);
});

test('a request whose client has gone takes no turn', async () => {
  const sockets = ['a', 'b', 'c', 'd'].map(ask);
  sockets[0].destroyed = sockets[2].destroyed = true;
  await nextTurn();
  expect(answered).toEqual(['b']);
  await nextTurn();
  expect(answered).toEqual(['b', 'd']);
  ask('e');
  await nextTurn();
  expect(answered).toEqual(['b', 'd', 'e']);
});

test('an answer that asks again gets its turn', async () => {
  const socket = { destroyed: false };
  handle({ socket }, null, () => ask('again'));
  await nextTurn();
  expect(answered).toEqual([]);
  await nextTurn();
  expect(answered).toEqual(['again']);
});

/** @param {{name: string}} socket */
const askOn = (socket) => handle({ socket }, null, () => answered.push(socket.name));
const connection = (/** @type {string} */ name) => ({ name, destroyed: false });

test('a connection with many requests waits for those whose last turn, or first request, is longer ago', async () => {
  const [many, other] = ['many', 'other'].map(connection);
  for (const socket of [many, many, many, many, other]) askOn(socket);
  await nextTurn();
  ask('new');
  for (let i = 0; i < 5; i++) await nextTurn();
  expect(answered).toEqual(['many', 'other', 'many', 'new', 'many', 'many']);
});

test('new connections do not keep one waiting that has had a turn, however many there are', async () => {
  const kept = connection('kept');
  askOn(kept);
  await nextTurn();
  for (const name of ['a', 'b']) ask(name);
  askOn(kept);
  for (const name of ['c', 'd', 'e', 'f', 'g']) {
    ask(name); // in each turn
    await nextTurn();
  }
  expect(answered).toEqual(['kept', 'a', 'b', 'kept', 'c', 'd']);
  for (let i = 0; i < 3; i++) await nextTurn();
});
