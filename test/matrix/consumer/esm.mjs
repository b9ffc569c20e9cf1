// A program of a user: import, with the names that README and docs/api.md use, and a message from one end to the other.
import { CrossingsError, channelPair, connect, listen, openChannel, supported, unsupportedReason } from 'crossings';

for (const name of [CrossingsError, connect, listen]) {
  if (typeof name !== 'function') throw new TypeError(`import { ... } from 'crossings' gave ${name}`);
}
if (!supported) throw new Error(`not supported here: ${unsupportedReason}`);
const { channel, port } = channelPair();
const [here, there] = await Promise.all([channel, openChannel(port.take())]);
await here.send('a message');
console.log(String(await there.receive()));
await Promise.all([here.close(), there.close()]);
