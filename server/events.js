'use strict';
// Server-sent events. The types of better-sse forbid require(), which works: this file is the one place that ignores them.
// @ts-expect-error
const { EventBuffer, createChannel, createSession } = require('better-sse');

module.exports = { EventBuffer, createChannel, createSession };
