'use strict';
// The floods, each with every way of receiving and every way of waiting.

/** What the peer does, and over how many channels. */
const ATTACKS = [
  ['messages', 1],
  ['messages', 64],
  ['messages beside a quiet channel', 8],
  ['messages one by one', 1],
  ['messages one by one', 64],
  ['steady messages', 1],
  ['reading everything', 1],
  ['echoes of messages and answers to requests', 1],
  ['echoes of messages and answers to requests', 64],
  ['empty messages', 1],
  ['large messages', 1],
  ['requests', 1],
  ['requests whose responses it never reads', 1],
  ['responses nobody asked for', 1],
  ['refusals nobody asked for', 1],
  ['doorbells', 1],
  ['doorbells and messages', 64],
  ['everything at once', 1],
  ['everything at once', 64],
  ['a peer that closed with a full ring', 1],
  ['a peer that was killed with a full ring', 1],
  ['a peer that closes while its full ring is read', 1],
  ['a peer that is killed while its full ring is read', 1],
];

const WAYS = [
  'nothing',
  'receive',
  'receive with a signal',
  'a hundred receives at once',
  'for await',
  'for await, unreferenced',
  'for await, decoded',
  'batches',
  'batches, decoded',
  'onRequest',
  'slow onRequest',
  'receive and onRequest',
  'request',
  'send',
  'a hundred sends at once',
  'send and receive',
  'a hundred requests at once',
  'stream',
  'object stream',
  'web stream',
  'tryReceive',
];

/** Ways that take messages as fast as they can, so that many channels share the time. */
const RECEIVING = ['receive', 'for await', 'batches', 'tryReceive'];

const WAITING = [{}, { wait: 'sleep' }, { wait: 'spin' }, { spinMicros: 0 }];

/**
 * @typedef {object} Scenario
 * @property {string} attack
 * @property {number} channels
 * @property {string} way
 * @property {any} options of the channel
 * @property {boolean} fills does the peer fill a large ring?
 * @property {boolean} gone has the peer ended before the first receive?
 */

/** @returns {Scenario[]} */
const allScenarios = () =>
  ATTACKS.flatMap(([attack, channels]) =>
    WAYS.flatMap((way) =>
      WAITING.map((options) => ({
        attack: String(attack),
        channels: Number(channels),
        way,
        options,
        fills: String(attack).includes('full ring'),
        gone: String(attack).includes('with a full ring'),
      })),
    ),
  );

/** @param {Scenario} scenario */
const nameOf = ({ attack, channels, way, options }) =>
  `${attack}${channels > 1 ? ` on ${channels} channels` : ''}, received by ${way}, ${JSON.stringify(options)}`;

module.exports = { ATTACKS, RECEIVING, WAYS, allScenarios, nameOf };
