'use strict';
// The same messages as HTTP requests to a route of Express, over a TCP connection that stays open.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const { createInterface } = require('node:readline');

if (require.main === module) {
  const express = require('express');
  const app = express();
  app.use(express.json());
  app.post('/messages', (request, response) => {
    response.json(request.body); // the route's answer
  });
  const server = app.listen(0, '127.0.0.1', () => {
    console.log(String(server.address().port)); // ready, and where (Node may color a number)
  });
}

exports.connect = async () => {
  const server = spawn(process.execPath, [__filename], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(createInterface({ input: server.stdout }), 'line');
  const agent = new http.Agent({ keepAlive: true });
  const headers = { 'content-type': 'application/json' };
  return {
    async ask(message) {
      const request = http.request({ host: '127.0.0.1', port, path: '/messages', method: 'POST', agent, headers });
      request.end(JSON.stringify(message)); // the client's request
      const [response] = await once(request, 'response');
      let text = '';
      for await (const chunk of response) text += chunk;
      return JSON.parse(text);
    },
    close() {
      agent.destroy();
      server.kill();
      return once(server, 'exit');
    },
  };
};
