'use strict';
// Answers that clients of the lab do not read.
const { once } = require('node:events');
const { createServer, get } = require('node:http');
const { connect } = require('node:net');
const { Connections, MAX_UNREAD_BYTES } = require('../server/connections.js');

const ANSWER = Buffer.alloc(16 << 20);
const SILENT = 12;

// It was checked only before each answer is made, so those that were being made at the same time were not counted.
test('what all members together have not read is limited, and one that reads gets its answer', async () => {
  const server = createServer();
  const connections = new Connections(server);
  /** @type {import('node:http').ServerResponse[]} */ const responses = [];
  /** @type {Set<import('node:net').Socket>} */ const sockets = new Set();
  server.on('request', (request, response) => {
    expect(connections.accepts(request, response)).toBe(true);
    connections.admit(request.socket);
    sockets.add(request.socket);
    responses.push(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const clients = Array.from({ length: SILENT }, () => connect({ port, host: '127.0.0.1' }).pause());
  for (const client of clients) {
    client.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(server, 'request');
  }
  let most = 0;
  for (const response of responses) {
    response.end(ANSWER);
    const unread = [...sockets].filter(({ destroyed }) => !destroyed).map(({ writableLength }) => writableLength);
    most = Math.max(
      most,
      unread.reduce((sum, bytes) => sum + bytes, 0),
    );
  }
  expect(most).toBeGreaterThan(MAX_UNREAD_BYTES / 2);
  expect(most).toBeLessThanOrEqual(MAX_UNREAD_BYTES);
  server.on('request', (_request, response) => response.end(ANSWER));

  const [answer] = await once(get({ port, host: '127.0.0.1' }), 'response');
  let got = 0;
  for await (const chunk of answer) got += chunk.length;
  expect(got).toBe(ANSWER.length);
  for (const client of clients) client.destroy();
  server.close();
  server.closeAllConnections();
});
