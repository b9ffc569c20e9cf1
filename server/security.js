'use strict';
// Who may ask what of the lab. Any page in the reader's browser can send requests to 127.0.0.1, so being on this machine
// proves nothing: each request must name this server, carry its token, and come from its own pages.
const { timingSafeEqual, createHash } = require('node:crypto');
const helmet = require('helmet').default;
const { LabRefusal } = require('./refusal.js');

/** @typedef {import('express').RequestHandler} Handler */

const CHANGES_NOTHING = ['GET', 'HEAD'];

/** Nothing inline and nothing from elsewhere. Charts are saved as pictures through blob: and data: addresses. */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:', 'blob:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** What the browser is told with every answer. */
const headers = () =>
  helmet({
    contentSecurityPolicy: { useDefaults: false, directives: POLICY },
    strictTransportSecurity: false, // it is http, and the name localhost is not ours alone
    xDownloadOptions: false,
  });

/** The names of this server, as a browser writes them. @param {number} port */
function hostsOf(port) {
  const suffix = port === 80 ? '' : `:${port}`; // a browser leaves the usual port out
  return ['127.0.0.1', 'localhost', '[::1]'].map((name) => name + suffix);
}

/** Equal, told in a time that says nothing of where they differ. @param {string} a @param {string} b */
function sameSecret(a, b) {
  const digest = (/** @type {string} */ text) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** @param {string | undefined} header @param {string} name */
function cookieOf(header, name) {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name) return value ?? '';
  }
  return '';
}

/** A page of another site may name this address by a name of its own (DNS rebinding): only ours are answered. @param {string[]} hosts @returns {Handler} */
const checkHost = (hosts) => (request, _response, next) => {
  const named = request.headersDistinct.host ?? [];
  if (named.length !== 1 || !hosts.includes(named[0].toLowerCase())) {
    throw new LabRefusal(403, 'ERR_HOST', `This server answers to ${hosts.join(', ')} and to no other name.`);
  }
  next();
};

/** The address printed at the start brings the token: it is exchanged for a cookie and taken out of the address. @param {string} token @param {string} cookie @returns {Handler} */
const acceptToken = (token, cookie) => (request, response, next) => {
  const { token: given, ...others } = request.query;
  if (given === undefined || request.method !== 'GET') return next();
  if (typeof given !== 'string' || !sameSecret(given, token)) {
    throw new LabRefusal(
      403,
      'ERR_TOKEN',
      'This address belongs to an earlier start of the lab: use the one that the terminal shows now.',
    );
  }
  response.cookie(cookie, token, { httpOnly: true, sameSite: 'strict', path: '/' });
  const rest = new URLSearchParams(/** @type {Record<string, string>} */ (others)).toString();
  response
    .set('cache-control', 'no-store')
    .redirect(303, `/${request.path.replace(/^[/\\]+/, '')}${rest ? `?${rest}` : ''}`);
};

/** What changes something must come from a page of this server, and as JSON: no form of another site can send that. @param {string[]} hosts @returns {Handler} */
const checkChange = (hosts) => (request, _response, next) => {
  if (CHANGES_NOTHING.includes(request.method)) return next();
  const { origin = '', 'content-type': type = '' } = request.headers;
  if (!hosts.some((host) => origin === `http://${host}`)) {
    throw new LabRefusal(403, 'ERR_ORIGIN', 'Only the lab’s own pages may ask for this.');
  }
  if (type.split(';')[0].trim().toLowerCase() !== 'application/json') {
    throw new LabRefusal(403, 'ERR_CONTENT_TYPE', 'A request that changes something must be application/json.');
  }
  next();
};

/** Reading is for the lab's own pages, too. @param {string[]} hosts @returns {Handler} */
const checkSite = (hosts) => (request, _response, next) => {
  const site = request.headers['sec-fetch-site'] ?? 'none';
  const { origin } = request.headers;
  if (
    !['same-origin', 'none'].includes(String(site)) ||
    (origin && !hosts.some((host) => origin === `http://${host}`))
  ) {
    throw new LabRefusal(403, 'ERR_ORIGIN', 'Only the lab’s own pages may ask for this.');
  }
  next();
};

/** @param {string} token @param {string} cookie its name @returns {Handler} */
const checkToken = (token, cookie) => (request, _response, next) => {
  const given = request.headers['x-crossings-token'] ?? cookieOf(request.headers.cookie, cookie);
  if (typeof given !== 'string' || !sameSecret(given, token)) {
    throw new LabRefusal(
      403,
      'ERR_TOKEN',
      'This browser has not been let in: open the address that the lab’s terminal shows.',
    );
  }
  next();
};

module.exports = { headers, hostsOf, checkHost, acceptToken, checkChange, checkSite, checkToken };
