'use strict';
// The transport 'socket': the same channels, over Unix sockets or Windows named pipes instead of shared memory. It needs no native
// code, so it works on every platform, and promises no speed.
const { listen } = require('./clients.js');
const { connect } = require('./connect.js');
const { channelPair, openChannel } = require('./pair.js');

module.exports = { channelPair, connect, listen, openChannel };
