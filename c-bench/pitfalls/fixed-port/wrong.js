'use strict';
// A fixed port number: another program already listens on it.
const { createServer } = require('node:net');

const other = createServer().listen(0, '127.0.0.1', () => {
  const { port } = other.address(); // the port of another program, which ours also wants
  console.log(`Another program listens on port ${port}.`);

  const server = createServer();
  server.on('error', (error) => {
    console.log(`Our server failed: ${error.code} (${error.message}).`);
    process.exitCode = 1;
    other.close();
  });
  server.listen(port, '127.0.0.1', () => {
    console.log(`Our server listens on port ${server.address().port}.`);
    server.close();
    other.close();
  });
});
