'use strict';
// Where a server listens: a Unix socket's file, or a named pipe on Windows.
const { createHash, randomBytes } = require('node:crypto');
const { tmpdir } = require('node:os');
const { basename, dirname, join, resolve } = require('node:path');
const { invalidArgument, readPath, shown } = require('../channel/options.js');
const { CrossingsError } = require('../channel/errors.js');

const startFolder = currentFolder();
const isWindows = process.platform === 'win32';
const PIPE = /^\\\\[.?]\\pipe\\./i; // \\.\pipe\name
const MAX_PIPE_LENGTH = 256;
const MAX_FILE_BYTES = process.platform === 'linux' ? 107 : 103; // what fits into a Unix socket address
const MIN_RANDOM_NAME = 9; // a dot and 8 hexadecimal digits
const SOCKET_NAME = 's'; // in its folder
const MAX_LOCKS = 9; // that processes have left behind when they were killed
const LOCK_DIGITS = 9; // so that the name of a lock is as long as the shortest folder with SOCKET_NAME
const FIRST_TICKET = 2 ** 52; // every ticket of channelPair() over shared memory is smaller
const TICKET_BYTES = 6;

/** The current folder, or the root if it was removed. */
function currentFolder() {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** @param {unknown} path @returns {string} */
function readEndpoint(path) {
  if (isWindows) return readPipe(path);
  const where = readPath(path);
  if (PIPE.test(where)) return invalidArgument('path', `the path of a Unix socket on ${process.platform}`, path);
  return fitting(where);
}

/** @param {unknown} path @returns {string} */
function readPipe(path) {
  const expected = 'the name of a pipe on Windows, such as \\\\.\\pipe\\name';
  if (typeof path !== 'string' || !PIPE.test(path) || path.includes('\0'))
    return invalidArgument('path', expected, path);
  if (path.length > MAX_PIPE_LENGTH)
    invalidArgument('path', `at most ${MAX_PIPE_LENGTH} characters, the limit for a pipe's name`, path);
  return path;
}

/** @param {string} path */
function fitting(path) {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_FILE_BYTES) return path;
  throw new CrossingsError(
    'ERR_INVALID_ARGUMENT',
    `path must be at most ${MAX_FILE_BYTES} bytes, the limit for a Unix socket on ${process.platform}; ${shown(path)} has ${bytes}.`,
  );
}

/** A name in the same folder that no file has: it is random. @param {string} path */
const unusedName = (path) => join(dirname(path), `.${randomBytes(8).toString('hex')}`);

/**
 * The same, for a folder in which a socket can be bound: with SOCKET_NAME, its path must not be too long. Closing the server removes
 * that path once more, so no other file must ever get it.
 * @param {string} path
 */
function neighbor(path) {
  const folder = dirname(path);
  const left = MAX_FILE_BYTES - Buffer.byteLength(join(folder, 'x', SOCKET_NAME)) + 1;
  if (left >= MIN_RANDOM_NAME) return join(folder, basename(unusedName(path)).slice(0, left));
  const most = MAX_FILE_BYTES - MIN_RANDOM_NAME - SOCKET_NAME.length - 2;
  throw new CrossingsError(
    'ERR_INVALID_ARGUMENT',
    `The folder of path must be at most ${most} bytes, for a server with transport: 'socket' on ${process.platform}; ${shown(folder)} has ${Buffer.byteLength(folder)}.`,
  );
}

/**
 * The name of a lock beside the path; see files.js. It fits where neighbor() does. Some file systems ignore the case of names.
 * @param {string} path @param {number} level 1 to MAX_LOCKS
 */
function lockOf(path, level) {
  const digest = createHash('sha256').update(basename(path).toLowerCase()).digest('hex');
  return join(dirname(path), `.${digest.slice(0, LOCK_DIGITS)}${level}`);
}

/** A random number that names a channelPair(). */
const newTicket = () => FIRST_TICKET + randomBytes(TICKET_BYTES).readUIntBE(0, TICKET_BYTES);

/** Where the channelPair() with this ticket waits for its other end. @param {number} ticket */
function endpointOf(ticket) {
  const name = `crossings-${(ticket - FIRST_TICKET).toString(36)}`;
  if (isWindows) return `\\\\.\\pipe\\${name}`;
  const path = resolve(startFolder, tmpdir(), name); // also after a change of directory
  return Buffer.byteLength(path) <= MAX_FILE_BYTES ? path : join('/tmp', name);
}

module.exports = {
  FIRST_TICKET,
  MAX_FILE_BYTES,
  MAX_LOCKS,
  SOCKET_NAME,
  endpointOf,
  isWindows,
  lockOf,
  neighbor,
  newTicket,
  readEndpoint,
};
