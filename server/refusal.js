'use strict';
// An answer that is not the one asked for: a status, and the error as every answer of the lab tells it.
const { CrossingsError } = require('../lib/channel/errors.js');

/** A request that is refused, with the HTTP status of the answer. */
class LabRefusal extends CrossingsError {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {{id: string | null}} [details] what stands beside code and message
   */
  constructor(status, code, message, details) {
    super(code, message);
    this.name = 'LabRefusal';
    this.status = status;
    this.details = details;
  }
}

/** The body of an answer that tells an error. @param {InstanceType<typeof CrossingsError> & {details?: object}} error */
const errorBody = ({ code, message, details }) => ({ error: { code, message, ...details } });

module.exports = { LabRefusal, errorBody };
