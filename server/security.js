'use strict';
// Which requests the lab accepts. Any page in the user's browser can send requests to 127.0.0.1, so coming from this machine
// proves nothing: each request must name this server, carry its token, and come from the lab's own pages.
const { timingSafeEqual } = require('node:crypto');
const helmet = require('helmet').default;
const { HttpError } = require('./http-error.js');

/** @typedef {import('express').RequestHandler} Handler */

const SAFE_METHODS = ['GET', 'HEAD'];

/** No inline code and no other host. Charts are saved as images through blob: and data: URLs. */
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

/** @param {string[]} embedders the origins whose pages may show this one in a frame; none by default */
const headersFor = (embedders) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: embedders.length > 0 ? { ...POLICY, 'frame-ancestors': embedders } : POLICY,
    },
    strictTransportSecurity: false, // the lab speaks http, and other programs use the name localhost
    xDownloadOptions: false,
    xFrameOptions: embedders.length === 0, // it knows no origins, and frame-ancestors takes its place
  });

/**
 * Is this the page that shows one moment of a recording, and nothing that could start anything? It must be read as the page reads its
 * address (theatre/start.js), in which a second "?" belongs to the query.
 * @param {import('node:http').IncomingMessage} request
 */
const isEmbedPage = ({ url = '' }) => url.startsWith('/?') && new URLSearchParams(url.slice(1)).has('embed');

/** The security headers of every answer. @param {string[]} [embedders] may frame the embed page, and no other @returns {Handler} */
function headers(embedders = []) {
  const [closed, open] = [headersFor([]), headersFor(embedders)];
  return (request, response, next) => (isEmbedPage(request) ? open : closed)(request, response, next);
}

/** The valid Host headers. @param {number} port */
function hostsOf(port) {
  const suffix = port === 80 ? '' : `:${port}`; // browsers omit the default port
  return ['127.0.0.1', 'localhost', '[::1]'].map((name) => name + suffix);
}

/** Compares in a time that depends only on the lengths, which are no secrets. @param {string} a @param {string} b */
function sameSecret(a, b) {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A header's value as an error message can quote it. @param {unknown} value */
const quoted = (value) => (value ? JSON.stringify(String(value).slice(0, 80)) : 'nothing');

/** @param {string} source the header that shows where the request came from */
const wrongOrigin = (source) =>
  new HttpError(403, 'ERR_ORIGIN', `This request must come from one of the lab’s own pages; got ${source}.`);

/** Another site can point its own domain name at 127.0.0.1 (DNS rebinding), so only our names are accepted. @param {string[]} hosts @returns {Handler} */
const checkHost = (hosts) => (request, _response, next) => {
  const named = request.headersDistinct.host ?? [];
  if (named.length !== 1 || !hosts.includes(named[0].toLowerCase())) {
    const got = quoted(named.join(', '));
    throw new HttpError(403, 'ERR_HOST', `Host must be one of ${hosts.join(', ')}; got ${got}.`);
  }
  next();
};

/**
 * The printed address carries the token, and the one that the browser is given a code: exchange either for a cookie, and redirect to
 * the address without it.
 * @param {string} token
 * @param {string} cookie
 * @param {InstanceType<typeof import('./opening.js').Opening>} opening
 * @returns {Handler}
 */
const acceptToken = (token, cookie, opening) => (request, response, next) => {
  const { token: given, code, ...others } = request.query;
  if ((given ?? code) === undefined || request.method !== 'GET') return next();
  if (given === undefined && !opening.accepts(code, request.socket)) {
    throw new HttpError(
      403,
      'ERR_TOKEN',
      'This address can be opened once, by the user who started the lab. Open the address that the terminal shows.',
    );
  }
  if (given !== undefined && (typeof given !== 'string' || !sameSecret(given, token))) {
    throw new HttpError(
      403,
      'ERR_TOKEN',
      'This address is from an earlier run of the lab. Open the address that the terminal shows now.',
    );
  }
  response.cookie(cookie, token, { httpOnly: true, sameSite: 'strict', path: '/' });
  const rest = new URLSearchParams(/** @type {Record<string, string>} */ (others)).toString();
  response
    .set('cache-control', 'no-store')
    .redirect(303, `/${request.path.replace(/^[/\\]+/, '')}${rest ? `?${rest}` : ''}`);
};

/** A request that changes something must come from our pages, as JSON, which another site's form cannot send. @param {string[]} hosts @returns {Handler} */
const checkChange = (hosts) => (request, _response, next) => {
  if (SAFE_METHODS.includes(request.method)) return next();
  const { origin = '', 'content-type': type = '' } = request.headers;
  if (!hosts.some((host) => origin === `http://${host}`)) {
    throw wrongOrigin(origin ? `Origin ${quoted(origin)}` : 'no Origin header');
  }
  if (type.split(';')[0].trim().toLowerCase() !== 'application/json') {
    throw new HttpError(403, 'ERR_CONTENT_TYPE', `Content-Type must be application/json; got ${quoted(type)}.`);
  }
  next();
};

/** Other sites may not read, either. @param {string[]} hosts @returns {Handler} */
const checkSite = (hosts) => (request, _response, next) => {
  const site = request.headers['sec-fetch-site'] ?? 'none';
  const { origin } = request.headers;
  if (
    !['same-origin', 'none'].includes(String(site)) ||
    (origin && !hosts.some((host) => origin === `http://${host}`))
  ) {
    throw wrongOrigin(origin ? `Origin ${quoted(origin)}` : `Sec-Fetch-Site ${quoted(site)}`);
  }
  next();
};

/**
 * Whether a request carries the token. There may be several cookies of this name: another server of this host can set one for a longer
 * path, and the browser sends that one first. This is asked of every request that arrives, and a stranger's can have a thousand of them,
 * so each must cost little.
 * @param {string} token
 * @param {string} cookie its name
 */
function tokenCheck(token, cookie) {
  const name = `${cookie}=`;
  const secret = Buffer.from(token);
  const given = Buffer.alloc(secret.length);

  /** Is there a cookie whose value begins at this place and is the token? @param {string} header @param {number} at */
  function isTokenAt(header, at) {
    const before = at - name.length - 1;
    if (before >= 0 && !'; '.includes(header[before])) return false; // it is the end of a longer name
    const end = at + secret.length;
    if (end > header.length || (end < header.length && header[end] !== ';')) return false; // the value has another length
    given.write(header.slice(at, end), 'latin1');
    return timingSafeEqual(given, secret);
  }

  return (/** @type {import('node:http').IncomingMessage} */ { headers }) => {
    const { cookie: cookies = '', 'x-crossings-token': header } = headers;
    if (header !== undefined) return typeof header === 'string' && sameSecret(header, token);
    for (let at = cookies.indexOf(name); at >= 0; at = cookies.indexOf(name, at + 1)) {
      if (isTokenAt(cookies, at + name.length)) return true;
    }
    return false;
  };
}

/** @param {ReturnType<typeof tokenCheck>} hasToken @returns {Handler} */
const checkToken = (hasToken) => (request, _response, next) => {
  if (!hasToken(request)) {
    throw new HttpError(
      403,
      'ERR_TOKEN',
      'Access token missing or invalid. Open the address that the lab printed in the terminal.',
    );
  }
  next();
};

module.exports = {
  POLICY,
  acceptToken,
  checkChange,
  checkHost,
  checkSite,
  checkToken,
  headers,
  hostsOf,
  sameSecret,
  tokenCheck,
};
