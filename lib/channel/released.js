'use strict';
// What both ends of a ring look at after its memory was released: an empty ring. Code may close a channel in the middle of a call that
// goes on afterwards, such as a hook of async_hooks, which is called when a promise is made.
const { HEADER_BYTES } = require('./layout.js');

const WORDS = (HEADER_BYTES >> 2) + 2; // the header, and that of one frame

/** In the place of the peer's region. Nothing is ever stored here. */
const EMPTY_RING = new Int32Array(WORDS);

/** In the place of my region. What is stored here is never read by anybody. */
const SPARE_WORDS = new Int32Array(WORDS);

module.exports = { EMPTY_RING, SPARE_WORDS };
