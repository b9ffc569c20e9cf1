'use strict';
// Server-sent events. Its types say that better-sse cannot be required; it can, and this is the only place that does.
// @ts-expect-error
const { createChannel, createSession } = require('better-sse');

module.exports = { createChannel, createSession };
