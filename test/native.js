'use strict';
// The C files of native/ that a test compiles into its program.

/** The regions and the handshake; the ring itself is a header. */
const RING = ['disposal', 'doorbell', 'handshake', 'listener', 'region'].map((name) => `native/${name}.c`);

/** What implements native/crossings.h. */
const C_INTERFACE = ['native/channel.c', 'native/messages.c', 'native/server.c', ...RING];

module.exports = { C_INTERFACE, RING };
