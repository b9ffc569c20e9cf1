'use strict';
// The address that the lab gives to the browser. Every user of the machine can read it in the list of processes, so it holds a code
// instead of the token. The code is good once, and only for a connection of the lab's own user. Others may try it a few times.
const { randomBytes } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { sameSecret } = require('./security.js');

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const MAPPED = '0000000000000000FFFF0000'; // an IPv4 address in a socket for IPv6
const ESTABLISHED = '01'; // the kernel shows a socket that has been closed as root's
const MOST_LOOKS = 5; // into the tables: each can take 50 ms, in which the lab answers nobody, and a browser needs one
const ROOT = 0; // can read the token anyway; in WSL, its relay connects for the browser in Windows

/** An end of a connection as the kernel's tables show it. @param {string} [address] of IPv4 @param {number} [port] */
function endpoint(address = '', port = 0) {
  const bytes = Buffer.from(address.split('.').map(Number));
  const host = bytes.reverse().toString('hex'); // little-endian, as are all machines for which the lab has programs
  return `${host}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** @param {string} table */
function linesOf(table) {
  try {
    return readFileSync(table, 'utf8').split('\n');
  } catch {
    return []; // a kernel without IPv6
  }
}

/** The user whose process has the other end of a connection within this machine; null if it is unknown. @param {import('node:net').Socket} socket */
function userOf({ remoteAddress, remotePort, localAddress, localPort }) {
  const ends = [endpoint(remoteAddress, remotePort), endpoint(localAddress, localPort)];
  for (const table of TABLES) {
    for (const line of linesOf(table)) {
      const [, from = '', to = '', state, , , , user] = line.trim().split(/\s+/);
      const isIts = from.replace(MAPPED, '') === ends[0] && to.replace(MAPPED, '') === ends[1];
      if (isIts && state === ESTABLISHED) return Number(user);
    }
  }
  return null;
}

class Opening {
  code = randomBytes(32).toString('base64url');
  #looksLeft = MOST_LOOKS;

  /** Whether this connection may have the token. @param {unknown} given @param {import('node:net').Socket} socket */
  accepts(given, socket) {
    if (this.#looksLeft === 0 || typeof given !== 'string' || !sameSecret(given, this.code)) return false;
    this.#looksLeft--;
    const user = userOf(socket);
    const isOwn = user === process.getuid?.() || user === ROOT;
    if (isOwn) this.#looksLeft = 0;
    return isOwn;
  }
}

module.exports = { MOST_LOOKS, Opening, userOf };
