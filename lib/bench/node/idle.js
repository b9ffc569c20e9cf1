'use strict';
// Measures the processor time that a process uses in one second while both ends of an idle channel wait in it.
const { channelPair, openChannel } = require('../../index.js');

const WATCH_MS = 1000;
const SETTLE_MS = 200;

async function main() {
  const { channel, port } = channelPair();
  const ends = [await openChannel(port.take()), await channel];
  for (const end of ends) end.receive().catch(() => {}); // rejected when the channel is closed
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${JSON.stringify({ type: 'idle', share: (user + system) / 1000 / WATCH_MS })}\n`);
  for (const end of ends) await end.close();
}

main();
