'use strict';
// A 'data' event is a piece of a stream, not a message. The client sends three lines of JSON with two calls of write().
const { createServer, connect } = require('node:net');

const received = [];
let failed = null;

const server = createServer((socket) => {
  let rest = ''; // the received part of an incomplete message
  socket.setEncoding('utf8');
  socket.on('data', (text) => {
    const messages = (rest + text).split('\n'); // a newline ends a message, no matter where chunks begin and end
    rest = messages.pop(); // not complete yet: it belongs to the next chunk
    for (const message of messages) {
      console.log(`The server parses ${JSON.stringify(message)}.`);
      try {
        received.push(JSON.parse(message));
      } catch (error) {
        failed ??= error.message;
      }
    }
  });
  socket.on('close', () => {
    server.close();
    if (failed) console.log(`JSON.parse() failed: ${failed}.`);
    console.log(`The client sent 3 messages, and the server understood ${received.length}.`);
    process.exitCode = received.length === 3 && !failed ? 0 : 1;
  });
});

server.listen(0, '127.0.0.1', () => {
  const client = connect(server.address().port, '127.0.0.1', () => {
    client.write('{"sequence":1}\n{"sequence":2}\n{"sequ');
    setTimeout(() => client.end('ence":3}\n'), 100); // the rest comes later, as from a slow network
  });
});
