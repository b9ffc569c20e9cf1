'use strict';
// Runs one case of the abuse of a channel: brings a channel into a state, gets into a place, makes the call there, and lets
// everything settle.
const { setImmediate: nextTurn } = require('node:timers/promises');
const { CrossingsError } = /** @type {any} */ (require('../../../lib/index.js'));
const { isEnd } = require('./calls.js');
const { acceptedAndPeer, channelAndPeer } = require('./peer.js');
const { Outcomes, begin, describe, fail, inTime, isClosed, makeCall, makeLedger } = require('./rule.js');
const { notice } = require('./states.js');

/** @param {import('./cases.js').Case} c */
async function runChannelCase(c) {
  /** @type {any} */
  const hooks = {};
  const options = c.place.coded && {
    encode: (/** @type {any} */ value) => {
      hooks.encode?.();
      return value;
    },
    decode: (/** @type {Buffer} */ bytes) => {
      hooks.decode?.();
      return bytes;
    },
  };
  begin(c.name, (error, origin) =>
    Boolean(c.thrown && origin === 'uncaughtException' && Object.is(error, c.thrown.value)),
  );
  const open = c.place.accepted ? acceptedAndPeer : channelAndPeer;
  const { channel, peer } = await open(options || undefined);
  const delivered = makeLedger();
  const scene = { channel, peer, hooks, delivered };
  const closed = c.state.closed === true && !c.call?.afterClose;
  const outcomes = new Outcomes({ closed, junk: c.junk === true }, delivered);
  if (c.state.notice) {
    c.state.enter(scene);
    await notice();
  }
  /** @type {() => void} */ let arrived = () => {};
  const inside = new Promise((resolve) => {
    arrived = () => resolve(undefined);
  });
  let entered = false;
  c.place.enter(scene, () => {
    if (entered) return;
    entered = true;
    arrived();
    if (c.thrown !== undefined) throw c.thrown.value;
    if (!c.state.notice) c.state.enter(scene);
    makeCall(/** @type {any} */ (c), channel, outcomes);
  });
  if (!entered) await inTime(inside, 'the callback'); // it has not been called
  for (let turn = 0; turn < 3; turn++) {
    if (!peer.gone) serve(peer);
    await nextTurn();
  }
  drain(channel, delivered);
  const closing = channel.close();
  await inTime(closing, 'close()');
  outcomes.promise(channel.closed, isEnd, false);
  await outcomes.settled();
  if (!isClosed(channel)) fail('the channel is not closed after close()');
  peer.release();
  await nextTurn(); // for unhandled rejections
}

/** @param {any} peer */
function serve(peer) {
  try {
    peer.serve();
  } catch (error) {
    fail(`the peer finds the channel corrupt: ${describe(error)}`);
  }
}

/** Takes the messages that are left. @param {any} channel @param {(text: string) => void} delivered */
function drain(channel, delivered) {
  try {
    for (let left = channel.tryReceive(); left !== null; left = channel.tryReceive()) delivered(String(left));
  } catch (error) {
    if (!(error instanceof CrossingsError)) fail(`tryReceive() fails with ${describe(error)}`);
  }
}

module.exports = { runChannelCase };
