'use strict';
// Makes the regions of a channel: my own, and the peer's from its hello. Where JavaScript cannot use mapped memory, each gets a
// mirror (atomics.js).
const { EMFILE, ENFILE } = require('node:os').constants.errno;
const { copiesMine, copiesPeer } = require('./atomics.js');
const { CrossingsError } = require('./errors.js');
const { HEADER_BYTES } = require('./layout.js');
const { native } = require('./native.js');

/** @typedef {import('./native.js').NativeRegion} Region */
/** @typedef {ReturnType<typeof import('./options.js').readOptions>} Options */

/**
 * Give a region the memory that JavaScript uses in its place, if it needs one.
 * @param {Region} region
 * @returns {Region}
 */
function withMemory(region) {
  if (!copiesPeer) return region;
  if (region.buffer !== null) return { ...region, mirrored: false };
  const bytes = HEADER_BYTES + 2 * region.capacity;
  try {
    const buffer = new ArrayBuffer(bytes);
    native.attachMirror(region.handle, buffer);
    return { ...region, buffer, mirrored: true };
  } catch {
    native.releaseRegion(region.handle, region.buffer);
    throw new CrossingsError(
      'ERR_NO_EXTERNAL_BUFFERS',
      `This JavaScript runtime cannot use mapped memory, and a copy of ${bytes} bytes could not be allocated. Set a smaller capacity or maxPeerCapacity.`,
    );
  }
}

/** My region. @param {Options} options */
function createRegion({ capacity, wait, sharedBuffers, authenticate }) {
  return withMemory(native.createRegion(capacity, wait === 'spin', sharedBuffers, authenticate, !copiesMine));
}

/**
 * The peer's region, or null: its hello has not arrived yet. Throws if the peer has sent back `mine`.
 * @param {number} fd
 * @param {Options} options
 * @param {import('./native.js').NativeRegion} [mine]
 */
function receiveRegion(fd, { sharedBuffers, maxPeerCapacity, authenticate }, mine) {
  const region = native.receiveHello(fd, sharedBuffers, maxPeerCapacity, authenticate, !copiesPeer, mine?.handle);
  return region && withMemory(region);
}

/**
 * Throw the error that every channel with these options would get in this process. A server that cannot serve any client must
 * not wait for them.
 * @param {Options} options
 */
function checkRegions(options) {
  try {
    const region = createRegion(options);
    native.releaseRegion(region.handle, region.buffer);
  } catch (error) {
    const { errno } = /** @type {any} */ (error);
    if (errno !== EMFILE && errno !== ENFILE) throw error; // descriptors may be free when a client comes
  }
}

module.exports = { checkRegions, createRegion, receiveRegion };
