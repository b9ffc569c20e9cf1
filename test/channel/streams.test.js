'use strict';
// Streams over a channel: Node's Duplex and the web's readable and writable streams.
const { pair } = require('./support.js');
const { message } = require('./numbered-messages.js');

test.each([true, false])(
  'a Duplex with objectMode: %s delivers what was written, in order, then ends',
  async (objectMode) => {
    const [a, b] = await pair({ capacity: 65536 });
    const near = a.toDuplex({ objectMode });
    const far = b.toDuplex({ objectMode });
    const received = /** @type {Buffer[]} */ ([]);
    far.on('data', (/** @type {Buffer} */ chunk) => received.push(chunk));
    const ended = new Promise((resolve) => far.once('end', resolve));
    const sent = Array.from({ length: 300 }, (_, i) => message(i));
    for (const chunk of sent) near.write(chunk);
    const large = Buffer.alloc(500_000, 9); // larger than the ring: a stream of bytes splits it
    if (!objectMode) near.write(large);
    near.end();
    near.once('finish', () => near.destroy());
    await ended;
    if (objectMode) expect(received).toEqual(sent);
    else expect(Buffer.concat(received)).toEqual(Buffer.concat([...sent, large]));
    far.destroy();
  },
);

test('web streams carry one message per chunk', async () => {
  const [a, b] = await pair();
  const near = a.toWebStreams();
  const far = b.toWebStreams();
  const writer = near.writable.getWriter();
  await writer.write('one');
  await writer.write('two');
  await writer.close();
  const received = [];
  for await (const chunk of far.readable) received.push(String(chunk));
  expect(received).toEqual(['one', 'two']);
  await far.writable.close();
});
