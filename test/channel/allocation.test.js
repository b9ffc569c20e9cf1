'use strict';
// The try methods make no garbage: V8 collects it with system calls.
const { execFileSync } = require('node:child_process');
const { join } = require('node:path');

const LOOKS = 100_000;

/** A channel whose both ends are in one process, and whose reader has looked in vain for long. */
const SCRIPT = `
  const { channelPair, openChannel } = require(${JSON.stringify(join(__dirname, '..', '..'))});
  (async () => {
    const { channel, port } = channelPair();
    const [here, there] = [await openChannel(port.take()), await channel];
    const target = new Uint8Array(64);
    const look = () => { for (let i = 0; i < ${LOOKS}; i++) here.tryReceiveInto(target); };
    for (let round = 0; round < 20; round++) {
      look();
      await new Promise((resolve) => setTimeout(resolve, 10)); // V8 takes over code that it has compiled
    }
    const before = process.memoryUsage().heapUsed;
    look();
    console.log(process.memoryUsage().heapUsed - before);
    await Promise.all([here.close(), there.close()]);
  })();`;

test('looking at an empty ring allocates nothing, however long it has been empty', () => {
  const bytes = Number(
    execFileSync(process.execPath, ['--min-semi-space-size=32', '-e', SCRIPT], { encoding: 'utf8' }),
  );
  expect(Math.abs(bytes) / LOOKS).toBeLessThan(1);
});
