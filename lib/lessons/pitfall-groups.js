'use strict';
// What can go wrong, the simplest first. Each pitfall names its group and its place in it.

const GROUPS = [
  { name: 'waits', title: 'Programs that wait forever' },
  { name: 'messages', title: 'Messages in pieces, together, mixed or twice' },
  { name: 'stops', title: 'Programs that stop too early' },
  { name: 'servers', title: 'Servers that are unreachable or exposed' },
  { name: 'memory', title: 'Shared memory with wrong contents' },
  { name: 'slow', title: 'Programs that are slower than they need to be' },
];

/**
 * In the order of the groups, and of the places in each.
 * @template {{group: string, place: number, name: string}} T
 * @param {T[]} pitfalls
 */
function inOrder(pitfalls) {
  const rank = (/** @type {T} */ { group }) => GROUPS.findIndex(({ name }) => name === group);
  return pitfalls.toSorted((x, y) => rank(x) - rank(y) || x.place - y.place || (x.name < y.name ? -1 : 1));
}

module.exports = { GROUPS, inOrder };
