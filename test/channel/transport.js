'use strict';
// The package as the channel's tests use it. test/fallback/ sets CROSSINGS_TEST_TRANSPORT to run the same tests over sockets.
/** @type {any} the declared types have their own test */
const crossings = require('../../lib/index.js');

const transport = process.env.CROSSINGS_TEST_TRANSPORT;

/** @param {any} [options] of which the test leaves out the transport */
const withTransport = (options) =>
  typeof options === 'object' && options !== null ? { transport, ...options } : (options ?? { transport });

const forced = {
  ...crossings,
  listen: (/** @type {any} */ path, /** @type {any} */ options) => crossings.listen(path, withTransport(options)),
  connect: (/** @type {any} */ path, /** @type {any} */ options) => crossings.connect(path, withTransport(options)),
  channelPair: (/** @type {any} */ options) => crossings.channelPair(withTransport(options)),
  openChannel: (/** @type {any} */ fd, /** @type {any} */ options) => crossings.openChannel(fd, withTransport(options)),
};

module.exports = { crossings: transport === undefined ? crossings : forced };
