'use strict';
// Loads the addon. Everything native that lib/ uses passes through here, and every error leaves as a CrossingsError.
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { CrossingsError } = require('./errors.js');

/**
 * @typedef {object} NativeRegion
 * @property {unknown} handle
 * @property {ArrayBuffer | SharedArrayBuffer} buffer header, ring data, and the ring data again
 * @property {number} capacity bytes
 * @property {boolean} neverSleeps does its owner wait by spinning only?
 *
 * @typedef {object} Poller
 * @property {() => void} ref
 * @property {() => void} unref
 * @property {() => void} pause
 * @property {() => void} resume
 * @property {() => void} close
 *
 * @typedef {object} Native as native/addon.cc describes it
 * @property {(capacity: number, neverSleeps: boolean, mayShare: boolean) => NativeRegion} createRegion
 * @property {(handle: unknown, buffer: ArrayBuffer | SharedArrayBuffer) => void} releaseRegion
 * @property {(path: string, others: boolean) => number} listen
 * @property {(path: string, fd: number) => void} unlisten
 * @property {(fd: number) => number} accept
 * @property {(path: string) => number} connect
 * @property {() => [number, number]} socketPair
 * @property {(fd: number) => boolean} isOurKind
 * @property {(fd: number) => {uid: number, pid: number}} peerOf
 * @property {(fd: number, handle: unknown) => boolean} sendHello
 * @property {(fd: number, mayShare: boolean) => NativeRegion | null} receiveHello
 * @property {(fd: number) => void} holdFd
 * @property {(fd: number) => void} giveAway
 * @property {(fd: number) => void} closeFd
 * @property {(fd: number) => void} ring
 * @property {(fd: number) => boolean} drain
 * @property {(fd: number, timeoutMs: number) => void} waitReadable
 * @property {new (fd: number, readable: () => void) => Poller} Poller
 * @property {boolean} hasSharedBuffers
 */

function load() {
  const path = join(__dirname, '..', '..', 'build', 'Release', 'crossings.node');
  if (!existsSync(path)) {
    throw new CrossingsError(
      'ERR_NOT_BUILT',
      `crossings has no binary for ${process.platform} on ${process.arch} here; run \`npm install\` in its own folder to build one.`,
    );
  }
  return require(path);
}

/** Calls a native function; what it throws becomes a CrossingsError. @param {Function} call */
const translated =
  (call) =>
  (/** @type {any[]} */ ...args) => {
    try {
      return call(...args);
    } catch (error) {
      const { code, message } = /** @type {{code?: string, message: string}} */ (error);
      throw code ? new CrossingsError(code, `${message}.`) : error;
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

module.exports = { native };
