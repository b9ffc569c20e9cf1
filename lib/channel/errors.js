'use strict';
// The package's only error class: a readable message and a stable code.

/** An error with a stable `code`, and a message that states what was wrong. */
class CrossingsError extends Error {
  /**
   * @param {string} code such as 'ERR_CHILD_DIED'
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'CrossingsError';
    this.code = code;
  }
}

/** The error for contents of the peer's memory that no correct peer would write. @param {string} what such as 'invalid frame kind 9' */
function corruptPeer(what) {
  return new CrossingsError('ERR_PEER_CORRUPT', `Corrupt peer: ${what}.`);
}

module.exports = { CrossingsError, corruptPeer };
