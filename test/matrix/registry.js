'use strict';
// A registry on this machine that knows our packages only, so that users' commands, such as `npm install crossings`, can be
// run before anything is published. It speaks the two requests of the npm registry that package managers need.
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { basename } = require('node:path');

const PUBLISHED = '2026-01-01T00:00:00.000Z'; // package managers refuse what is only hours old

/** @param {string} algorithm @param {Buffer} bytes @param {'hex' | 'base64'} encoding */
const digest = (algorithm, bytes, encoding) => createHash(algorithm).update(bytes).digest(encoding);

/** What a registry tells about a package with one version. @param {string} tarball @param {string} address */
function describePackage(tarball, address) {
  const bytes = readFileSync(tarball);
  const manifest = JSON.parse(execFileSync('tar', ['-xOzf', tarball, 'package/package.json'], { encoding: 'utf8' }));
  const { name, version } = manifest;
  const dist = {
    tarball: `${address}/${name}/-/${basename(tarball)}`,
    shasum: digest('sha1', bytes, 'hex'),
    integrity: `sha512-${digest('sha512', bytes, 'base64')}`,
  };
  const document = {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } },
    time: { created: PUBLISHED, modified: PUBLISHED, [version]: PUBLISHED },
  };
  return { name, bytes, path: new URL(dist.tarball).pathname, document };
}

/** @param {string[]} tarballs @returns {Promise<{address: string, unknown: Set<string>, close: () => void}>} */
async function startRegistry(tarballs) {
  /** @type {Map<string, {type: string, body: string | Buffer}>} */
  const answers = new Map();
  /** @type {Set<string>} */
  const unknown = new Set(); // the requests that nothing here answers
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(String(request.url), 'http://registry').pathname);
    const answer = answers.get(path);
    request.resume();
    if (!answer) {
      unknown.add(`${request.method} ${path}`);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error": "not found"}');
      return;
    }
    response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  for (const tarball of tarballs) {
    const { name, bytes, path, document } = describePackage(tarball, address);
    answers.set(`/${name}`, { type: 'application/json', body: JSON.stringify(document) });
    answers.set(path, { type: 'application/octet-stream', body: bytes });
  }
  return { address, unknown, close: () => server.close() };
}

module.exports = { startRegistry };
