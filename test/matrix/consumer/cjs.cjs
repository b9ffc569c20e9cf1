'use strict';
// A program of a user: require(), and a message from one end of a channel to the other.
const { channelPair, openChannel } = require('crossings');

async function main() {
  const { channel, port } = channelPair();
  const [here, there] = await Promise.all([channel, openChannel(port.take())]);
  await here.send('a message');
  console.log(String(await there.receive()));
  await Promise.all([here.close(), there.close()]);
}

main();
