'use strict';
// The one error class of the package: a sentence for people, a stable code for programs.

/** An error with a stable `code`; its message is a plain sentence that names what was wrong and what is accepted. */
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

/** What the peer's memory holds cannot have been written by a sound peer. @param {string} what such as 'invalid frame kind 9' */
function corruptPeer(what) {
  return new CrossingsError('ERR_PEER_CORRUPT', `Corrupt peer: ${what}.`);
}

module.exports = { CrossingsError, corruptPeer };
