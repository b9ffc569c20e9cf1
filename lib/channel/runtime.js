'use strict';
// What this JavaScript runtime allows. The channel is written for Node; Bun and Deno each lack something that it uses.
//
// For tests, the internal variable CROSSINGS_RUNTIME makes Node behave as if it lacked the same. It is a comma-separated list of
// no-uv-poll, no-read-only-atomics, no-idle-immediates, no-external-buffers, and refuse-external-buffers, which makes the addon refuse
// them even if a caller asks for them (native/addon/regions.cc).

const { versions } = process;
const isNode = versions.bun === undefined && versions.deno === undefined && !('Deno' in globalThis);

const simulated = (process.env.CROSSINGS_RUNTIME ?? '').split(',');

/** @param {string} word @param {boolean} here does this runtime lack it? */
const lacks = (word, here) => here || simulated.includes(word);

/**
 * No uv_poll: Bun ends the process when it is called, and Deno crashes after the first callback. A thread watches the
 * sockets instead (native/addon/watcher.h).
 */
const lacksLoopPoller = lacks('no-uv-poll', !isNode);

/** Atomics.load() writes, and so ends a process that loads from read-only memory. This is the case in JavaScriptCore. */
const lacksReadOnlyAtomics = lacks('no-read-only-atomics', versions.bun !== undefined || versions.v8 === undefined);

/** Bun emits 'beforeExit' again and again as long as there is an immediate, even if it is unreferenced. */
const keepsImmediates = lacks('no-idle-immediates', versions.bun !== undefined);

/** Buffers are allowed only over memory that the runtime has allocated, as in Electron. @param {boolean} has did the addon get another one? */
const lacksExternalBuffers = (has) => lacks('no-external-buffers', !has);

module.exports = { isNode, keepsImmediates, lacksExternalBuffers, lacksLoopPoller, lacksReadOnlyAtomics };
