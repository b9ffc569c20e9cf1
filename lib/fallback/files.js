'use strict';
// The file of a Unix socket. Only this user may connect, unless others are allowed; the file that a dead server left behind is
// replaced; no other process's file is ever removed. A socket is bound under a secret name and then linked to its path,
// because only a link fails if the path has been taken in the meantime.
const { chmodSync, linkSync, lstatSync, renameSync, rmSync, statSync, unlinkSync } = require('node:fs');
const { dirname, resolve } = require('node:path');
const { isMainThread } = require('node:worker_threads');
const { CrossingsError } = require('../channel/errors.js');
const { systemError, tryConnecting } = require('./sockets.js');
const { isWindows, neighbor, unusedName } = require('./paths.js');

const ATTEMPTS = 10; // while other processes replace the file, too

/** @param {string} path @returns {import('node:fs').Stats | undefined} */
function statOf(path) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw systemError(/** @type {NodeJS.ErrnoException} */ (error), `listen at ${path}`);
  }
}

/** @param {import('node:fs').Stats | undefined} a @param {import('node:fs').Stats | undefined} b */
const isSame = (a, b) => a !== undefined && a.ino === b?.ino && a.dev === b.dev;

/**
 * The same, of a file that nobody may have open: another file may have its number by now. (The number of a socket's file is not used
 * again as long as the socket is open.)
 * @param {import('node:fs').Stats} a @param {import('node:fs').Stats | undefined} b
 */
const isUnchanged = (a, b) => isSame(a, b) && a.mtimeMs === b?.mtimeMs;

/** @param {string} path @returns {never} */
function inUse(path) {
  throw new CrossingsError('ERR_ADDRESS_IN_USE', `Address already in use: ${path}.`);
}

/**
 * Bind a server and listen.
 * @param {import('node:net').Server} server
 * @param {string} path that does not exist, or a pipe
 * @param {boolean} others may other users connect?
 * @param {string} [shown] the path in a message of failure
 * @returns {Promise<void>}
 */
async function bind(server, path, others, shown = path) {
  const mode = others ? 0o666 : 0o600;
  // The file has its mode from the start. A worker thread cannot set the mask, and changes the mode right afterwards.
  const mask = isMainThread && !isWindows ? process.umask(0o777 & ~mode) : undefined;
  const bound = new Promise((resolve, reject) => {
    server.once('listening', () => resolve(undefined)).once('error', reject);
  });
  try {
    try {
      server.listen({ path, exclusive: true, readableAll: isWindows && others, writableAll: isWindows && others });
    } finally {
      if (mask !== undefined) process.umask(mask);
    }
    await bound;
    if (!isWindows) chmodSync(path, mode);
  } catch (error) {
    const failure = /** @type {NodeJS.ErrnoException} */ (error);
    if (failure.code === 'EADDRINUSE') inUse(shown);
    failure.message = failure.message.replace(path, shown);
    throw systemError(failure, `listen at ${shown}`);
  }
}

/**
 * Listen at a path.
 * @param {import('node:net').Server} server
 * @param {string} path
 * @param {boolean} others may other users connect?
 * @returns {Promise<() => void>} removes the file, unless another server has replaced it
 */
async function listenAt(server, path, others) {
  if (isWindows) {
    await bind(server, path, others);
    return () => {}; // a pipe goes with its server
  }
  const bound = neighbor(path);
  const absolute = resolve(path); // perhaps too long to be bound, but it outlives a change of directory
  try {
    statSync(dirname(bound)); // because bind() reports a folder that does not exist as "permission denied"
  } catch (error) {
    throw systemError(/** @type {NodeJS.ErrnoException} */ (error), `listen at ${path}`);
  }
  await clearStale(path);
  await bind(server, bound, others, path);
  try {
    for (let attempt = 0; !link(bound, path); attempt++) {
      if (attempt === ATTEMPTS) inUse(path);
      await clearStale(path);
    }
    const mine = statOf(bound);
    return () => {
      try {
        if (isSame(mine, statOf(absolute))) unlinkSync(absolute);
      } catch {
        // Its folder can no longer be searched or written to.
      }
    };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(bound, { force: true }); // closing the server has removed it
  }
}

/** @param {string} from @param {string} to @returns {boolean} false if `to` exists */
function link(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    const failure = /** @type {NodeJS.ErrnoException} */ (error);
    if (failure.code === 'EEXIST') return false;
    throw systemError(failure, `listen at ${to}`);
  }
}

/** Remove the file that a dead server left behind. Throws if a server is listening there, or if it is no socket. @param {string} path */
async function clearStale(path) {
  const found = statOf(path);
  if (found === undefined) return;
  if (!found.isSocket()) throw new CrossingsError('ERR_ADDRESS_IN_USE', `${path} exists and is not a socket.`);
  const answer = await tryConnecting(path).catch((error) => {
    if (error.code === 'ERR_PROTOCOL') return inUse(path); // a server over shared memory
    throw error;
  });
  if (typeof answer !== 'string') answer.destroy();
  if (answer !== 'no listener') inUse(path);
  // Another process may have replaced the file since. So take whatever is there now, and look at what was taken.
  const taken = unusedName(path);
  try {
    renameSync(path, taken);
  } catch (error) {
    const failure = /** @type {NodeJS.ErrnoException} */ (error);
    if (failure.code === 'ENOENT') return;
    throw systemError(failure, `replace ${path}`);
  }
  try {
    if (!isUnchanged(found, statOf(taken))) link(taken, path);
  } finally {
    unlinkSync(taken);
  }
}

module.exports = { bind, listenAt };
