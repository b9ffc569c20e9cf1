'use strict';
// What require('crossings') gives.
const v8 = require('node:v8');
const { Channel } = require('./channel/channel.js');
const { Port } = require('./channel/channel-pair.js');
const { CrossingsError } = require('./channel/errors.js');
const { Server } = require('./channel/server.js');
const { channelPair, connect, listen, openChannel, unsupportedReason } = require('./transports.js');

/** Options that send any value that the structured clone algorithm takes: connect(path, { ...structured }). */
const structured = Object.freeze({
  /** @param {unknown} value */
  encode: (value) => v8.serialize(value),
  /** @param {Buffer} bytes */
  decode: (bytes) => v8.deserialize(bytes),
});

module.exports.listen = listen;
module.exports.connect = connect;
module.exports.channelPair = channelPair;
module.exports.openChannel = openChannel;
module.exports.structured = structured;
module.exports.Channel = Channel;
module.exports.Server = Server;
module.exports.Port = Port;
module.exports.CrossingsError = CrossingsError;
module.exports.supported = unsupportedReason === null;
module.exports.unsupportedReason = unsupportedReason;
