'use strict';
// Sockets of closed channels that wait for the peer's end. The peer decides how long, so their number is limited.
const { now } = require('../channel/clock.js');

const FEW = 64; // may linger for as long as they like
const MOST = 512;
const PATIENCE_MS = 500; // for a peer, while more than a few linger

/** @type {Map<import('node:net').Socket, number>} since when; the oldest first */
const lingering = new Map();

/** `socket` has sent everything. If too many linger, the oldest is destroyed. @param {import('node:net').Socket} socket */
function linger(socket) {
  lingering.set(socket, now());
  socket.once('close', () => lingering.delete(socket));
  for (const [oldest, since] of lingering) {
    const isOver = lingering.size > MOST || (lingering.size > FEW && now() - since > PATIENCE_MS);
    if (!isOver) break;
    lingering.delete(oldest);
    oldest.destroy();
  }
}

module.exports = { linger };
