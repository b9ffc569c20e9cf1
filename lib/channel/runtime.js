'use strict';
// What this JavaScript runtime allows. Node is the rule; Bun and Deno each lack something that the channel uses there.
//
// The internal variable CROSSINGS_RUNTIME makes Node do without: a comma-separated list of the words in LACKS. For tests.

const { versions } = process;
const isNode = versions.bun === undefined && versions.deno === undefined && !('Deno' in globalThis);

const simulated = (process.env.CROSSINGS_RUNTIME ?? '').split(',');

/** @param {string} word @param {boolean} here is it so in this runtime? */
const lacks = (word, here) => here || simulated.includes(word);

/**
 * No uv_poll: Bun ends the process when it is called, and Deno crashes after the first callback. A thread watches the
 * sockets instead (native/addon/watcher.h).
 */
const lacksLoopPoller = lacks('no-uv-poll', !isNode);

module.exports = { lacksLoopPoller };
