'use strict';
// The event of a system call: its arguments and its result as text, and what it transferred.
const { decodeArguments, decodeResult } = require('../decode.js');
const { quoted } = require('../values.js');

/** @typedef {import('./objects.js').RawDescriptor} RawDescriptor */

/** Calls whose result is the number of bytes that they transferred: from where the payload is. */
const TRANSFERS = new Set(['read', 'write', 'pread64', 'pwrite64', 'readv', 'writev', 'preadv', 'pwritev', 'preadv2'])
  .add('pwritev2')
  .add('sendto')
  .add('recvfrom')
  .add('sendmsg')
  .add('recvmsg')
  .add('vmsplice')
  .add('getrandom');
const UNCOUNTED = ['sendfile', 'splice', 'tee', 'copy_file_range']; // bytes, without a payload

/** The first bytes that a call transferred, as hexadecimal. @param {any} raw */
function transferred(raw) {
  const bytes = raw.in[1] ?? raw.out[1] ?? raw.out[0];
  return typeof bytes === 'string' ? bytes : bytes?.data;
}

/**
 * @param {any} raw its "enter" and "leave"; `raw.end` is null if it never returned
 * @param {InstanceType<typeof import('./objects.js').Objects>} objects
 * @returns {import('./content.js').ProgramCall}
 */
function eventOf(raw, objects) {
  // The arguments name objects, not what /proc shows.
  const named = (/** @type {RawDescriptor[]} */ list, /** @type {number[]} */ ids) =>
    list.map(({ fd }, i) => ({ fd, target: objects.list[ids[i]].name }));
  const shown = { ...raw, fds: named(raw.fds, raw.objects), made: named(raw.made, raw.madeObjects) };
  const value = raw.end === null ? -1 : Number(raw.result);
  const hex = value > 0 && TRANSFERS.has(raw.name) ? transferred(raw) : undefined;
  const counted = value > 0 && (TRANSFERS.has(raw.name) || UNCOUNTED.includes(raw.name));
  return {
    t: raw.t,
    end: raw.end,
    pid: raw.pid,
    tid: raw.tid,
    kind: 'syscall',
    name: raw.name,
    args: decodeArguments(shown),
    result: decodeResult(shown),
    fds: [...raw.fds, ...raw.made].map(({ fd }) => fd),
    objects: [...raw.objects, ...raw.madeObjects],
    sleeps: raw.sleeps,
    wokenBy: null,
    source: raw.source,
    ...(raw.call && raw.call !== raw.name ? { call: raw.call } : {}),
    ...(counted ? { bytes: value } : {}),
    ...(hex ? { payload: quoted(Buffer.from(hex, 'hex').subarray(0, value), 0, 256).slice(1, -1) } : {}),
  };
}

module.exports = { eventOf };
