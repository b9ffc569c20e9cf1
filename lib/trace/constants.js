'use strict';
// The names of the Linux kernel's numbers. Those that differ between architectures come from Node; the rest are the
// same on x86-64 and arm64.
const { constants } = require('node:fs');
const os = require('node:os');

/** @typedef {[number, string][]} Names */

/** @type {Names} */
const OPEN = [
  [constants.O_CREAT, 'O_CREAT'],
  [constants.O_EXCL, 'O_EXCL'],
  [constants.O_TRUNC, 'O_TRUNC'],
  [constants.O_APPEND, 'O_APPEND'],
  [constants.O_NONBLOCK, 'O_NONBLOCK'],
  [constants.O_DIRECTORY, 'O_DIRECTORY'],
  [constants.O_NOFOLLOW, 'O_NOFOLLOW'],
  [0o2000000, 'O_CLOEXEC'],
];
const ACCESS = ['O_RDONLY', 'O_WRONLY', 'O_RDWR'];

/** @type {Names} */
const PROT = [
  [1, 'PROT_READ'],
  [2, 'PROT_WRITE'],
  [4, 'PROT_EXEC'],
];
/** @type {Names} */
const MAP = [
  [0x10, 'MAP_FIXED'],
  [0x20, 'MAP_ANONYMOUS'],
  [0x4000, 'MAP_NORESERVE'],
  [0x8000, 'MAP_POPULATE'],
];
/** @type {Names} */
const MSG = [
  [0x1, 'MSG_OOB'],
  [0x2, 'MSG_PEEK'],
  [0x8, 'MSG_CTRUNC'],
  [0x20, 'MSG_TRUNC'],
  [0x40, 'MSG_DONTWAIT'],
  [0x80, 'MSG_EOR'],
  [0x100, 'MSG_WAITALL'],
  [0x4000, 'MSG_NOSIGNAL'],
  [0x40000000, 'MSG_CMSG_CLOEXEC'],
];
/** @type {Names} */
const POLL = [
  [0x1, 'POLLIN'],
  [0x2, 'POLLPRI'],
  [0x4, 'POLLOUT'],
  [0x8, 'POLLERR'],
  [0x10, 'POLLHUP'],
  [0x20, 'POLLNVAL'],
  [0x2000, 'POLLRDHUP'],
];
/** @type {Names} */
const CLONE = [
  [0x100, 'CLONE_VM'],
  [0x200000, 'CLONE_CHILD_CLEARTID'],
  [0x1000000, 'CLONE_CHILD_SETTID'],
];
/** @type {Names} */
const MEMFD = [
  [1, 'MFD_CLOEXEC'],
  [2, 'MFD_ALLOW_SEALING'],
];
/** @type {Names} */
const SEALS = [
  [1, 'F_SEAL_SEAL'],
  [2, 'F_SEAL_SHRINK'],
  [4, 'F_SEAL_GROW'],
  [8, 'F_SEAL_WRITE'],
  [16, 'F_SEAL_FUTURE_WRITE'],
];
/** @type {Names} */
const AT = [
  [0x100, 'AT_SYMLINK_NOFOLLOW'],
  [0x200, 'AT_REMOVEDIR'],
  [0x1000, 'AT_EMPTY_PATH'],
];
/** @type {Names} */
const SOCKET_FLAGS = [
  [0x800, 'SOCK_NONBLOCK'],
  [0x80000, 'SOCK_CLOEXEC'],
];
/** @type {Record<number, string>} */
const FAMILIES = { 1: 'AF_UNIX', 2: 'AF_INET', 10: 'AF_INET6' };
/** @type {Record<number, string>} */
const SOCKET_TYPES = { 1: 'SOCK_STREAM', 2: 'SOCK_DGRAM', 5: 'SOCK_SEQPACKET' };
/** @type {Record<number, string>} */
const SEALING = { 1033: 'F_ADD_SEALS', 1034: 'F_GET_SEALS' };
const F_GET_SEALS = 1034;
/** @type {Record<number, string>} */
const LOCKING = { 5: 'F_GETLK', 6: 'F_SETLK', 7: 'F_SETLKW' };
/** @type {Record<number, string>} */
const FCNTL = {
  0: 'F_DUPFD',
  1: 'F_GETFD',
  2: 'F_SETFD',
  3: 'F_GETFL',
  4: 'F_SETFL',
  1030: 'F_DUPFD_CLOEXEC',
  1031: 'F_SETPIPE_SZ',
  1032: 'F_GETPIPE_SZ',
};
/** @type {Record<number, string>} */
const FUTEX = {
  0: 'FUTEX_WAIT',
  1: 'FUTEX_WAKE',
  9: 'FUTEX_WAIT_BITSET',
  10: 'FUTEX_WAKE_BITSET',
};
/** @type {Map<number, string>} */
const FILE_TYPES = new Map([
  [0o140000, 'S_IFSOCK'],
  [0o100000, 'S_IFREG'],
  [0o40000, 'S_IFDIR'],
  [0o10000, 'S_IFIFO'],
]);

/** Results that make the kernel restart the call. @type {Record<number, string>} */
const RESTARTS = {
  512: 'ERESTARTSYS',
  513: 'ERESTARTNOINTR',
  514: 'ERESTARTNOHAND',
  516: 'ERESTART_RESTARTBLOCK',
};

/** @type {Map<number, string>} */
const errorNames = new Map();
for (const [name, number] of Object.entries(os.constants.errno)) {
  if (!errorNames.has(number)) errorNames.set(number, name); // the first of two: EAGAIN, not EWOULDBLOCK
}
/** @type {Map<number, string>} */
const signalNames = new Map();
for (const [name, number] of Object.entries(os.constants.signals)) {
  if (!signalNames.has(number)) signalNames.set(number, name);
}

/**
 * A set of flags as strace prints it. Unnamed bits follow as a number.
 * @param {number} value
 * @param {Names} names
 * @param {string} [none] the text for no flags
 */
function flags(value, names, none = '0') {
  const parts = [];
  let rest = value;
  for (const [bits, name] of names) {
    if (bits && (rest & bits) === bits) {
      parts.push(name);
      rest &= ~bits;
    }
  }
  if (rest) parts.push(`0x${(rest >>> 0).toString(16)}`);
  return parts.join('|') || none;
}

module.exports = {
  ACCESS,
  AT,
  CLONE,
  FAMILIES,
  FCNTL,
  F_GET_SEALS,
  LOCKING,
  FILE_TYPES,
  FUTEX,
  MAP,
  MEMFD,
  MSG,
  OPEN,
  POLL,
  PROT,
  RESTARTS,
  SEALING,
  SEALS,
  SOCKET_FLAGS,
  SOCKET_TYPES,
  errorNames,
  flags,
  signalNames,
};
