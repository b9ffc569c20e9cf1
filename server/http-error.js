'use strict';
// An error with an HTTP status, and the JSON body that reports any error to a client.
const { CrossingsError } = require('../lib/channel/errors.js');

/** An error that ends a request with this HTTP status. */
class HttpError extends CrossingsError {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {{id: string | null}} [details] added to the body beside code and message
   */
  constructor(status, code, message, details) {
    super(code, message);
    this.name = 'HttpError';
    this.status = status;
    this.details = details;
  }
}

/** @param {InstanceType<typeof CrossingsError> & {details?: object}} error */
const errorBody = ({ code, message, details }) => ({ error: { code, message, ...details } });

module.exports = { HttpError, errorBody };
