'use strict';
// What this JavaScript runtime allows. Node is the rule; Bun and Deno each lack something that the channel uses there.
//
// For tests, the internal variable CROSSINGS_RUNTIME makes Node do without. It is a comma-separated list of no-uv-poll,
// no-read-only-atomics, no-external-buffers, and refuse-external-buffers: then the addon gets them from no caller at all
// (native/addon/regions.cc).

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

/** Atomics.load() writes. It ends a process that loads from memory which it may only read. So it is in JavaScriptCore. */
const lacksReadOnlyAtomics = lacks('no-read-only-atomics', versions.bun !== undefined || versions.v8 === undefined);

/** Buffers are over memory that the runtime has allocated, and over no other: so it is in Electron. @param {boolean} has did the addon get another one? */
const lacksExternalBuffers = (has) => lacks('no-external-buffers', !has);

module.exports = { isNode, lacksExternalBuffers, lacksLoopPoller, lacksReadOnlyAtomics };
