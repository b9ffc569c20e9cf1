'use strict';
// Clients that never read their events: what they leave unread is limited for all of them together.
const { once } = require('node:events');
const { createServer } = require('node:http');
const { connect } = require('node:net');
const { MAX_UNSENT_TOTAL_BYTES, beginStream } = require('../server/subscribers.js');
const { until } = require('./support.js');

const SNAPSHOT = JSON.stringify('x'.repeat(4 << 20));
const CLIENTS = 40; // their snapshots are more than twice the limit

test('the clients that have read least are disconnected, and a new one gets its snapshot', async () => {
  /** @type {Set<import('node:http').ServerResponse>} */
  const open = new Set();
  const unread = () => [...open].reduce((sum, { writableLength }) => sum + writableLength, 0);
  let most = 0;
  let begun = 0;
  const server = createServer(async (request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    const session = await beginStream(/** @type {any} */ (request), /** @type {any} */ (response));
    session?.push(SNAPSHOT, 'snapshot');
    most = Math.max(most, unread());
    begun++;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const ask = () => connect(port, '127.0.0.1').on('error', () => {});
  const request = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const silent = Array.from({ length: CLIENTS }, () => {
    const socket = ask().pause();
    socket.write(request);
    return socket;
  });
  await until(() => begun === CLIENTS);
  let received = 0;
  const reader = ask().on('data', (bytes) => {
    received += bytes.length;
  });
  reader.write(request);
  await until(() => received > SNAPSHOT.length);
  expect(most).toBeGreaterThan(MAX_UNSENT_TOTAL_BYTES / 2); // the snapshots were not all read by the kernel
  expect(most).toBeLessThan(MAX_UNSENT_TOTAL_BYTES + 2 * SNAPSHOT.length);
  for (const socket of [...silent, reader]) socket.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
