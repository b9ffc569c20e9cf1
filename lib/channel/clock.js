'use strict';
// The clock and the timers of this room, taken once when it is loaded. Test libraries replace the globals later; with a clock that
// stands still, a wait that polls would never end.
const { performance } = require('node:perf_hooks');
const { setImmediate, setTimeout, clearTimeout } = require('node:timers');

/** The monotonic clock, in milliseconds. */
const now = performance.now.bind(performance);

module.exports = { now, setImmediate, setTimeout, clearTimeout };
