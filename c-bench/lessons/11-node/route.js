'use strict';
// A route of Express that starts a server written in C, waits until it reports that it is ready, and sends it a message.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { existsSync } = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const express = require('express');

const build = join(__dirname, '..', '..', '..', 'build');
const folders = [join(build, 'Release'), join(build, 'prebuilds', `linux-${process.arch}`)]; // of a checkout, of the package
const PROGRAMS = folders.map((folder) => join(folder, 'crossings-lessons')).find(existsSync);

const app = express();
app.get('/messages', async (_request, response) => {
  const server = spawn(PROGRAMS, ['11-node/server']); // starts the C server
  const [line] = await once(createInterface({ input: server.stdout }), 'line'); // "ready 40123"
  const socket = net.connect(Number(line.split(' ')[1]), '127.0.0.1');
  socket.write('{"number":1}\n'); // a message to the C server
  const [answer] = await once(createInterface({ input: socket }), 'line');
  socket.end();
  await once(server, 'exit');
  response.json(JSON.parse(answer)); // the route's answer
});

const listener = app.listen(0, '127.0.0.1', () => {
  console.log('begin route 1');
  http.get({ port: listener.address().port, host: '127.0.0.1', path: '/messages' }, async (response) => {
    for await (const chunk of response) console.log(`The C server answered ${chunk}`);
    console.log('end route');
    listener.close();
    listener.closeAllConnections();
  });
});
