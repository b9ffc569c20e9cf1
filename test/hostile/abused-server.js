'use strict';
// The server that handshakes.c abuses, in its own process: node --expose-gc abused-server.js PATH. It sends every message back.
// On each message from its parent it reports what it has open.
const { readdirSync, readFileSync } = require('node:fs');
const { listen } = require('../../lib/index.js');

const OPTIONS = { capacity: 65536, timeout: 500, maxPeerCapacity: 2 ** 20 };

/** @param {any} channel */
async function echo(channel) {
  try {
    for await (const bytes of channel) await channel.send(bytes);
  } catch (error) {
    // What a client may do to its channel, and no more.
    if (!['ERR_PEER_DIED', 'ERR_PEER_CORRUPT', 'ERR_CLOSED'].includes(/** @type {any} */ (error).code)) throw error;
  }
  await channel.close();
}

async function main() {
  const server = await listen(process.argv[2], OPTIONS);
  process.on('message', () => {
    for (let i = 0; i < 3; i++) /** @type {any} */ (globalThis).gc();
    process.send?.({
      descriptors: readdirSync('/proc/self/fd').length,
      mappings: readFileSync('/proc/self/maps', 'utf8')
        .split('\n')
        .filter((line) => line.includes('/memfd:')).length,
      kilobytes: process.memoryUsage().rss >> 10,
      refusals: server.refusals.count,
    });
  });
  process.once('disconnect', () => process.exit());
  process.send?.('listening');
  for await (const channel of server) echo(channel);
}

main();
