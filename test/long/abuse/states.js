'use strict';
// The states that a channel can be in when a call is made, each as what brings it there, at once, from inside any callback.
// Some exist twice: before and after this side has noticed.
const { setTimeout: pause } = require('node:timers/promises');

/** @typedef {{channel: any, peer: any}} Scene */

/**
 * @typedef {object} State
 * @property {string} name
 * @property {(scene: Scene) => void} enter
 * @property {boolean} [notice] wait until this side has noticed, where the place of the call allows it
 * @property {boolean} [ended] do waiting calls end by themselves?
 * @property {boolean} [closed] has this side been closed?
 */

/** Fills this side's ring. @param {Scene} scene */
function fill({ channel }) {
  while (channel.trySend(Buffer.alloc(5000)));
  while (channel.trySend(Buffer.alloc(0)));
}

/** Makes calls that wait. @param {Scene} scene */
function wait({ channel }) {
  for (const promise of [channel.receive(), channel.request('waiting'), channel.send(Buffer.alloc(60_000))]) {
    promise.catch(() => {}); // it ends with the channel, as the other cases check
  }
}

/** @type {State[]} */
const STATES = [
  { name: 'open', enter() {} },
  { name: 'open with messages', enter: ({ peer }) => peer.send(3) },
  {
    name: 'open with requests and messages',
    enter({ peer }) {
      peer.request(1);
      peer.send(1);
      peer.answerNothing();
      peer.request(2);
      peer.send(2);
    },
  },
  { name: 'open and full', enter: fill },
  { name: 'open and corked', enter: ({ channel }) => channel.cork() },
  { name: 'open with calls that wait', enter: wait },
  { name: 'open with doorbells', enter: ({ peer }) => Array.from({ length: 50 }, () => peer.ring()) },
];

/** @type {State[]} */
const ENDS = [
  { name: 'peer closed', ended: true, enter: ({ peer }) => peer.close() },
  { name: 'peer died', ended: true, enter: ({ peer }) => peer.die() },
  { name: 'peer corrupt', ended: true, enter: ({ peer }) => peer.corrupt() },
  {
    name: 'peer corrupt and died',
    ended: true,
    enter({ peer }) {
      peer.corrupt();
      peer.die();
    },
  },
];
for (const { name, enter } of ENDS) {
  const withMessages = (/** @type {Scene} */ scene) => {
    scene.peer.send(3);
    enter(scene);
  };
  const withWaiting = (/** @type {Scene} */ scene) => {
    wait(scene);
    enter(scene);
  };
  STATES.push({ name, enter, ended: true });
  STATES.push({ name: `${name}, noticed`, enter, ended: true, notice: true });
  STATES.push({ name: `${name}, messages left`, enter: withMessages, ended: true });
  STATES.push({ name: `${name}, messages left, noticed`, enter: withMessages, ended: true, notice: true });
  STATES.push({ name: `${name}, calls waited`, enter: withWaiting, ended: true, notice: true });
}
for (const [name, before] of /** @type {[string, (scene: Scene) => void][]} */ ([
  ['closed', () => {}],
  ['closed with messages', ({ peer }) => peer.send(3)],
  ['closed after the peer', ({ peer }) => peer.close()],
  ['closed with calls that waited', wait],
])) {
  STATES.push({
    name,
    ended: true,
    closed: true,
    enter(scene) {
      before(scene);
      scene.channel.close();
    },
  });
}

/** Gives this side the time to notice what the peer did. */
async function notice() {
  for (let turn = 0; turn < 3; turn++) await pause(1);
}

module.exports = { STATES, notice };
