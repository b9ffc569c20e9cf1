'use strict';
// require('crossings'): a ring of messages in memory that both processes have. Only a sleeping peer has to be woken.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { connect, listen } = require('crossings');

async function serve(path) {
  const server = await listen(path);
  const channel = await server.accept();
  server.close();
  for await (const message of channel) {
    await channel.send(message); // the server's answer
  }
}

if (require.main === module) serve(process.argv[2]);

exports.connect = async () => {
  const path = `channel-${process.pid}`;
  const server = spawn(process.execPath, [__filename, path], { stdio: 'inherit' });
  const channel = await connect(path); // waits until a server listens
  return {
    async ask(message) {
      await channel.send(JSON.stringify(message)); // the client's message
      return JSON.parse(await channel.receive());
    },
    async close() {
      await channel.close();
      return once(server, 'exit');
    },
  };
};
