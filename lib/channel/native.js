'use strict';
// Loads the addon. All native functions that lib/ uses come from here; errors with a code become CrossingsErrors.
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError } = require('./errors.js');
const { lacksLoopPoller } = require('./runtime.js');

/**
 * @typedef {object} NativeRegion
 * @property {unknown} handle
 * @property {ArrayBuffer | SharedArrayBuffer} buffer header, ring data, and the same ring data mapped again
 * @property {number} capacity bytes
 * @property {boolean} neverSleeps true if its owner only spins
 * @property {number[] | null} key of an authenticated channel, made by the region's owner: four 32-bit integers
 *
 * @typedef {object} Poller
 * @property {() => void} ref
 * @property {() => void} unref
 * @property {() => void} pause
 * @property {() => void} resume
 * @property {() => void} close
 *
 * @typedef {object} Native as the files of native/addon/ describe it
 * @property {(capacity: number, neverSleeps: boolean, mayShare: boolean, authenticated?: boolean) => NativeRegion} createRegion
 * @property {(handle: unknown, buffer: ArrayBuffer | SharedArrayBuffer) => void} releaseRegion
 * @property {(path: string, others: boolean, unlocked?: boolean) => number} listen
 * @property {(fd: number) => void} unlisten
 * @property {(fd: number) => number} accept
 * @property {(path: string) => number} connect
 * @property {() => [number, number]} socketPair
 * @property {(fd: number) => boolean} isOurKind
 * @property {(fd: number) => boolean} claimEnd
 * @property {(fd: number) => {uid: number, pid: number}} peerOf
 * @property {(fd: number, handle: unknown) => boolean} sendHello
 * @property {(fd: number, mayShare: boolean, maxCapacity?: number, authenticated?: boolean) => NativeRegion | null} receiveHello
 * @property {(handle: unknown) => boolean} isReleased
 * @property {(fd: number) => boolean} useFd
 * @property {(fd: number) => void} lendFd
 * @property {(fd: number) => number} offerFd
 * @property {(ticket: number) => number} redeemTicket
 * @property {(ticket: number) => void} withdrawTicket
 * @property {(fd: number) => void} closeFd
 * @property {(fd: number) => void} disownFd
 * @property {(fd: number) => void} ring
 * @property {(fd: number) => boolean} drain
 * @property {(fd: number, timeoutMs: number) => boolean} waitReadable
 * @property {new (fd: number, readable: () => void) => Poller} Poller
 * @property {boolean} hasSharedBuffers
 */

function load() {
  const path = join(__dirname, '..', '..', 'build', 'Release', 'crossings.node');
  if (!existsSync(path)) {
    throw new CrossingsError(
      'ERR_NOT_BUILT',
      `No crossings binary for ${process.platform} on ${process.arch}. In a checkout, run \`npm ci\` to build it.`,
    );
  }
  return require(path);
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

const raw = load();

/** @type {Native} */
const native = { ...raw };
for (const name of [
  'createRegion',
  'listen',
  'accept',
  'connect',
  'socketPair',
  'peerOf',
  'sendHello',
  'receiveHello',
]) {
  /** @type {any} */ (native)[name] = translated(raw[name]);
}

const Poller = lacksLoopPoller ? raw.ThreadPoller : raw.LoopPoller;
native.Poller = new Proxy(Poller, { construct: translated(Reflect.construct) });

module.exports = { native };
