'use strict';
// Node's http over a channel.
const { Agent, createServer, get } = require('node:http');
const { Readable, pipeline } = require('node:stream');
const { buffer, text } = require('node:stream/consumers');
const { pair } = require('./support.js');

// Without destroySoon(), it only ended the streams, and nobody closed the channel.
test('HTTP without keep-alive closes the channel after the response', async () => {
  const [a, b] = await pair({ capacity: 65536 });
  const body = 'hello '.repeat(50_000); // several rings
  createServer((_, response) => response.end(body)).emit('connection', b.toDuplex());
  const received = await new Promise((resolve, reject) => {
    const near = /** @type {any} */ (a.toDuplex());
    get({ createConnection: () => near }, (response) => resolve(text(response))).on('error', reject);
  });
  expect(received).toBe(body);
  await Promise.all([a.closed, b.closed]);
});

/**
 * A server on one end of a channel, and the options with which a request goes to it. An agent calls methods of net.Socket.
 * @param {import('node:http').RequestListener} listener
 */
async function serve(listener) {
  const [a, b] = await pair({ capacity: 65536 });
  createServer(listener).emit('connection', a.toDuplex());
  const near = Object.assign(/** @type {any} */ (b.toDuplex()), {
    setKeepAlive: () => near,
    setTimeout: () => near,
    ref: () => near,
    unref: () => near,
  });
  return { agent: Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), { createConnection: () => near }) };
}

/** Random pieces. @param {number} length */
function* pieces(length) {
  for (let left = length; left > 0; ) {
    const size = Math.min(left, 1 + Math.floor(Math.random() * 70_000));
    left -= size;
    yield Buffer.alloc(size);
  }
}

// In Node 24, a response waited for 'drain' forever: the stream had called back between two ticks of one write to the response.
test('a proxy streams large responses: what waits for room in a channel goes on', async () => {
  const server = await serve((request, response) => {
    pipeline(Readable.from(pieces(Number(request.headers['x-size']))), response, () => {});
  });
  const proxy = await serve(({ headers }, response) => {
    get({ ...server, headers: { 'x-size': headers['x-size'] } }, (upstream) => pipeline(upstream, response, () => {}));
  });
  for (let i = 0; i < 200; i++) {
    const size = Math.floor(Math.random() * 400_000);
    const received = await new Promise((resolve, reject) => {
      get({ ...proxy, headers: { 'x-size': size } }, (response) => resolve(buffer(response))).on('error', reject);
    });
    expect(received).toHaveLength(size);
  }
});
