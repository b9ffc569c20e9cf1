'use strict';
// The file of a Unix socket. Only this user may connect, unless others are allowed; the file that a dead server left behind is
// replaced; no other server's file is removed. A socket is bound in a secret place and then linked to its path, because only a
// link fails if the path has been taken in the meantime.
//
// Several servers may find the same dead file. A server that has looked at a file and then removes it must know that the file is still
// the same, so only one may do both at a time: the one whose socket is also linked to the name of a lock. Node has no flock(), and a
// lock of this kind has the same property: it ends with its process, because then its socket is dead, too. A dead lock is removed like
// a dead file, under a lock of its own, and so on. Therefore no name of a living socket is removed by another process: whoever removes
// it would need the lock together with another process, so the name of a living lock was removed before, by a process that had the
// next lock together with another one, and so on. The first of these removals cannot have happened.
const { chmodSync, existsSync, linkSync, lstatSync, mkdirSync, rmSync, rmdirSync, unlinkSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { now } = require('../channel/clock.js');
const { CrossingsError } = require('../channel/errors.js');
const { pause } = require('../channel/pause.js');
const { refuseDescriptors, systemError, tryConnecting } = require('./sockets.js');
const { MAX_LOCKS, SOCKET_NAME, isWindows, lockOf, neighbor } = require('./paths.js');

const LOCK_MS = 1000; // a server waits at most, while other processes replace the file, too
const RETRY_MS = 5;

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
const isUnchanged = (a, b) => isSame(a, b) && a.ctimeMs === b?.ctimeMs;

/** @param {string} path @returns {never} */
function inUse(path) {
  throw new CrossingsError('ERR_ADDRESS_IN_USE', `Address already in use: ${path}.`);
}

/** What removes the files that this process has made here. @type {Set<() => void>} */
const removals = new Set();

const removeAll = () => {
  for (const removal of removals) removal();
};

/** Call `removal` if the process exits before forget(). @param {() => void} removal */
function removeAtExit(removal) {
  if (removals.size === 0) process.on('exit', removeAll);
  removals.add(removal);
}

/** @param {() => void} removal */
function forget(removal) {
  if (removals.delete(removal) && removals.size === 0) process.off('exit', removeAll);
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
    // A server that is closed in the same tick never says that it listens.
    server.once('close', () => reject(new CrossingsError('ERR_CLOSED', 'The server was closed.')));
  });
  listening.catch(() => {}); // if something else fails first
  const removeFolder = () => {
    remove(unlinkSync, bound);
    remove(rmdirSync, folder);
  };
  try {
    if (!isWindows) {
      removeAtExit(removeFolder);
      makeOwnFolder(folder);
    }
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
    if (!isWindows) removeFolder();
    forget(removeFolder);
  }
}

/**
 * chmod() follows links. Whoever can write to the folder around it could put one in its place, so it is used only if the umask has
 * taken away rights of this user.
 * @param {string} folder
 */
function makeOwnFolder(folder) {
  mkdirSync(folder, { mode: 0o700 });
  if ((lstatSync(folder).mode & 0o700) !== 0o700) chmodSync(folder, 0o700);
}

/**
 * Removes one file or an empty folder: nothing else is there, and a link in its place may lead to the files of others.
 * @param {(path: string) => void} call @param {string} path
 */
function remove(call, path) {
  try {
    call(path);
  } catch {
    // It does not exist, or Node's permission model forbids it. Why listening has failed matters more.
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
  if (!isWindows) await findDead(path); // which throws if there is a server
  const removeFile = () => {
    forget(removeFile);
    try {
      if (isSame(mine, statOf(absolute))) unlinkSync(absolute);
    } catch {
      // Its folder can no longer be searched or written to.
    }
  };
  await bind(server, path, others, async (bound) => {
    if (isWindows) return; // a pipe goes with its server
    mine = statOf(bound);
    removeAtExit(removeFile);
    const until = now() + LOCK_MS;
    let isMine = await takeName(bound, path);
    while (!isMine && now() < until) {
      await pause(RETRY_MS);
      isMine = await takeName(bound, path);
    }
    const locks = Array.from({ length: MAX_LOCKS }, (_, i) => lockOf(path, i + 1));
    if (!isMine && locks.some(isStrangers)) isMine = await takeName(bound, path, 0, true);
    if (!isMine) inUse(path);
  }).catch((error) => {
    removeFile();
    throw error;
  });
  return removeFile;
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

/**
 * The file of a dead server, if there is one. Throws if a server is listening there, or if it is no socket.
 * @param {string} path
 */
async function findDead(path) {
  const found = statOf(path);
  if (found === undefined) return;
  if (!found.isSocket()) throw new CrossingsError('ERR_ADDRESS_IN_USE', `${path} exists and is not a socket.`);
  const answer = await tryConnecting(path).catch((error) => {
    if (error.code === 'ERR_PROTOCOL') return inUse(path); // a server over shared memory
    throw error;
  });
  if (typeof answer !== 'string') answer.destroy();
  return answer === 'no listener' ? found : inUse(path);
}

/**
 * Link a bound socket to its path, or to a lock, in the place of a dead socket. Throws if a living one has the path.
 * @param {string} bound @param {string} path
 * @param {number} [level] 0: the path; n: the lock without which no dead socket may be removed from the name at level n - 1
 * @param {boolean} [unlocked] without a lock
 * @returns {Promise<boolean>} false: another process is taking it
 */
async function takeName(bound, path, level = 0, unlocked = false) {
  const name = level === 0 ? path : lockOf(path, level);
  if (link(bound, name)) return true;
  const dead = await findDead(name);
  if (dead === undefined || level === MAX_LOCKS) return false;
  if (!unlocked && !(await takeName(bound, path, level + 1).catch(() => false))) return false;
  // The lock is held in this turn only. A socket that was dead is still dead, if its file is the same.
  try {
    if (isUnchanged(dead, statOf(name))) unlinkSync(name);
    return link(bound, name);
  } catch (error) {
    if (error instanceof CrossingsError) throw error;
    throw systemError(/** @type {NodeJS.ErrnoException} */ (error), `replace ${path}`);
  } finally {
    if (!unlocked) rmSync(lockOf(path, level + 1), { force: true });
  }
}

/**
 * Is this the lock of another user? Such a user could hold it for ever. A server of this user is about to listen.
 * @param {string} lock
 */
function isStrangers(lock) {
  const holder = statOf(lock);
  return holder !== undefined && holder.uid !== process.geteuid?.();
}

module.exports = { bind, listenAt };
