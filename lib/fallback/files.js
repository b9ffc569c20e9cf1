'use strict';
// The file of a Unix socket. Only this user may connect, unless others are allowed; the file that a dead server left behind is
// replaced; no other process's file is ever removed. A socket is bound in a secret place and then linked to its path, because only a
// link fails if the path has been taken in the meantime.
const { chmodSync, existsSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync, unlinkSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { CrossingsError } = require('../channel/errors.js');
const { refuseDescriptors, systemError, tryConnecting } = require('./sockets.js');
const { SOCKET_NAME, isWindows, neighbor, unusedName } = require('./paths.js');

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
 * Let a server listen. Where sockets are files, it is bound in a folder of its own, which no other user can search, because its mode
 * can be set only afterwards (the umask is that of the whole process, and would change the files of other threads, too).
 * @param {import('node:net').Server} server
 * @param {string} path a pipe, or where the socket shall be
 * @param {boolean} others may other users connect?
 * @param {(bound: string) => unknown} publish gives the socket its path
 * @returns {Promise<void>}
 */
async function bind(server, path, others, publish) {
  const folder = isWindows ? path : neighbor(path);
  const bound = isWindows ? path : join(folder, SOCKET_NAME);
  const listening = new Promise((resolve, reject) => {
    server.once('listening', () => resolve(undefined)).once('error', reject);
  });
  listening.catch(() => {}); // if something else fails first
  try {
    if (!isWindows) mkdirSync(folder);
    if (!isWindows) chmodSync(folder, 0o700);
    server.listen({ path: bound, exclusive: true, readableAll: isWindows && others, writableAll: isWindows && others });
    if (isWindows || !existsSync(bound)) await listening; // Node binds at once
    refuseDescriptors(server);
    if (!isWindows) chmodSync(bound, others ? 0o666 : 0o600);
    await publish(bound);
    await listening;
  } catch (error) {
    server.close();
    if (error instanceof CrossingsError) throw error;
    const failure = /** @type {NodeJS.ErrnoException} */ (error);
    if (failure.code === 'EADDRINUSE') inUse(path);
    failure.message = failure.message.replace(bound, path).replace(folder, path);
    throw systemError(failure, `listen at ${path}`);
  } finally {
    try {
      if (!isWindows) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Node's permission model forbids it. Why listening has failed matters more.
    }
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
  /** @type {import('node:fs').Stats | undefined} */ let mine;
  const absolute = isWindows ? path : resolve(path); // perhaps too long to be bound, but it outlives a change of directory
  if (!isWindows) await clearStale(path);
  await bind(server, path, others, async (bound) => {
    if (isWindows) return; // a pipe goes with its server
    for (let attempt = 0; !link(bound, path); attempt++) {
      if (attempt === ATTEMPTS) inUse(path);
      await clearStale(path);
    }
    mine = statOf(bound);
  });
  return () => {
    try {
      if (isSame(mine, statOf(absolute))) unlinkSync(absolute);
    } catch {
      // Its folder can no longer be searched or written to.
    }
  };
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
