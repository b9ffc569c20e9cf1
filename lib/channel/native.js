'use strict';
// Loads the addon. All native functions that lib/ uses come from here; errors with a code become CrossingsErrors. Where the
// addon cannot be loaded or used, `unavailable` explains why, and each native function throws that sentence when it is called.
const { findBinary } = require('./binary.js');
const { CrossingsError } = require('./errors.js');
const { HEADER_BYTES } = require('./layout.js');
const { lacksLoopPoller } = require('./runtime.js');

/**
 * @typedef {object} NativeRegion
 * @property {unknown} handle
 * @property {ArrayBuffer | SharedArrayBuffer} buffer header, ring data, and the same ring data mapped again
 * @property {boolean} [mirrored] the buffer is private memory, see atomics.js; undefined in most runtimes
 * @property {number} capacity bytes
 * @property {boolean} neverSleeps true if its owner only spins
 * @property {number[] | null} key of an authenticated channel, made by the region's owner: four 32-bit integers
 *
 * @typedef {object} Poller
 * @property {() => void} ref
 * @property {() => void} unref
 * @property {() => void} pause
 * @property {() => void} suspend
 * @property {() => void} resume
 * @property {() => void} close
 *
 * @typedef {object} Native as the files of native/addon/ describe it
 * @property {(capacity: number, neverSleeps: boolean, mayShare: boolean, authenticated?: boolean, hasBuffer?: boolean) => NativeRegion} createRegion
 * @property {(handle: unknown, buffer: ArrayBuffer | SharedArrayBuffer) => void} releaseRegion
 * @property {(path: string, others: boolean, unlocked?: boolean) => number} listen
 * @property {(fd: number) => void} unlisten
 * @property {(fd: number) => number} accept
 * @property {(path: string) => number} connect
 * @property {() => [number, number]} socketPair
 * @property {(fd: number) => boolean} worksOver
 * @property {(fd: number) => boolean} claimEnd
 * @property {(fd: number) => {uid: number, pid: number}} peerOf
 * @property {(fd: number, handle: unknown) => boolean} sendHello
 * @property {(fd: number, mayShare: boolean, maxCapacity?: number, authenticated?: boolean, hasBuffer?: boolean, mine?: unknown) => NativeRegion | null} receiveHello
 * @property {(handle: unknown) => boolean} isReleased
 * @property {(handle: unknown) => boolean} isFree
 * @property {(handle: unknown, index: number) => number} loadWord
 * @property {(handle: unknown, index: number, value: number) => void} storeWord
 * @property {(handle: unknown, index: number, value: number) => void} addWord
 * @property {(handle: unknown, offset: number) => number} pullFrames
 * @property {(handle: unknown, offset: number, signal: number) => void} pushFrames
 * @property {(handle: unknown, memory: ArrayBuffer) => void} attachMirror
 * @property {(fd: number) => boolean} useFd
 * @property {(fd: number) => void} lendFd
 * @property {(fd: number) => number} offerFd
 * @property {(ticket: number) => number} redeemTicket
 * @property {(ticket: number) => void} withdrawTicket
 * @property {(fd: number) => void} closeFd
 * @property {(fd: number) => void} disownFd
 * @property {(fd: number) => void} refuseDescriptors
 * @property {(fd: number) => boolean} ring
 * @property {() => number} threadMs
 * @property {(fd: number) => boolean} drain
 * @property {(fd: number, timeoutMs: number) => boolean} waitReadable
 * @property {new (fd: number, readable: () => void) => Poller} Poller
 * @property {boolean} hasExternalBuffers
 * @property {boolean} hasSharedBuffers
 */

/** @returns {{raw: any, unavailable: null} | {raw: null, unavailable: string}} */
function load() {
  const { path, missing } = findBinary('crossings.node');
  if (missing !== null) return { raw: null, unavailable: missing };
  try {
    const raw = require(path);
    if (raw.pageBytes <= HEADER_BYTES) return { raw, unavailable: null };
    const pages = `this kernel has pages of ${raw.pageBytes / 1024} KiB`;
    return { raw: null, unavailable: `Channels through shared memory need pages of 4 KiB; ${pages}.` };
  } catch (error) {
    const [reason] = String(/** @type {Error} */ (error).message).split('\n');
    return { raw: null, unavailable: `Cannot load ${path}: ${reason.replace(/\.$/, '')}.` };
  }
}

/** Wraps a native function so that errors with a code become CrossingsErrors. @param {Function} call */
const translated =
  (call) =>
  (/** @type {any[]} */ ...args) => {
    try {
      return call(...args);
    } catch (error) {
      const { code, message, errno } = /** @type {{code?: string, message: string, errno?: number}} */ (error);
      if (!code) throw error;
      throw Object.assign(new CrossingsError(code, `${message}.`), errno === undefined ? {} : { errno });
    }
  };

const TRANSLATED = ['createRegion', 'listen', 'accept', 'connect', 'socketPair', 'peerOf', 'sendHello', 'receiveHello'];

/** The addon's functions, with their errors translated. @param {any} raw @returns {Native} */
function translate(raw) {
  const native = { ...raw };
  for (const name of TRANSLATED) native[name] = translated(raw[name]);
  const Poller = lacksLoopPoller ? raw.ThreadPoller : raw.LoopPoller;
  native.Poller = new Proxy(Poller, { construct: translated(Reflect.construct) });
  return native;
}

/** In place of the addon: any of its functions throws the sentence. @param {string} sentence @returns {Native} */
function refusing(sentence) {
  function refuse() {
    throw new CrossingsError('ERR_UNSUPPORTED', sentence);
  }
  return /** @type {any} */ (new Proxy({}, { get: (_, name) => (name === 'hasSharedBuffers' ? false : refuse) }));
}

const { raw, unavailable } = load();

const native = unavailable === null ? translate(raw) : refusing(unavailable);

module.exports = { native, unavailable };
