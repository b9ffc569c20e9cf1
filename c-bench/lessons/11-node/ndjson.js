'use strict';
// Newline-delimited JSON over a socket: a message is a line. The same code for a Unix domain socket and for TCP.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { createInterface } = require('node:readline');

if (require.main === module) {
  const server = net.createServer((socket) => {
    socket.on('end', () => server.close());
    onMessage(socket, (message) => {
      socket.write(`${JSON.stringify(message)}\n`); // the server's answer
    });
  });
  // Port 0: the kernel chooses a port that is free.
  server.listen(process.argv[2] === 'tcp' ? { port: 0, host: '127.0.0.1' } : { path: `socket-${process.pid}` }, () => {
    const address = server.address();
    console.log(String(address.port ?? address)); // ready, and where (Node may color a number)
  });
}

// A chunk of a stream may be half a message, or three.
function onMessage(socket, take) {
  let rest = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
}

exports.connect = async (kind) => {
  const server = spawn(process.execPath, [__filename, kind], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [address] = await once(createInterface({ input: server.stdout }), 'line');
  const socket = kind === 'tcp' ? net.connect(Number(address), '127.0.0.1') : net.connect(address);
  onMessage(socket, (message) => socket.emit('message', message));
  await once(socket, 'connect');
  return {
    ask(message) {
      const answer = once(socket, 'message');
      socket.write(`${JSON.stringify(message)}\n`); // the client's message
      return answer;
    },
    close() {
      socket.end();
      return once(server, 'exit');
    },
  };
};
