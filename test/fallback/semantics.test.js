'use strict';
// The channel's own tests, over sockets: those that let the event loop run between sending and receiving.
process.env.CROSSINGS_TEST_TRANSPORT = 'socket'; // before they are loaded; see test/channel/transport.js

for (const name of ['closing', 'requests', 'room', 'server', 'streams']) require(`../channel/${name}.test.js`);

test('these tests use sockets', async () => {
  const { crossings } = require('../channel/transport.js');
  expect(() => crossings.channelPair().port.fd).toThrow('has no descriptor');
});
