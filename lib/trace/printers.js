'use strict';
// How the arguments of calls are printed that need nothing but their types: a word for each argument.
//
// d: a number. u: a size. x: flags. o: a mode. p: an address. f: a descriptor. s: a signal. t: a string. w: a list of
// strings. a: the address of a socket. b: bytes that the call filled in, as many as its result. B: bytes to write, as
// many as the next argument says. v: a vector of buffers. T: a time. P: memory protection. E: what epoll_wait() returned. S: the status of a file.
// O: an operation of epoll_ctl().

const c = require('./constants.js');
const { quoted } = require('./values.js');

/** @typedef {InstanceType<typeof import('./decode.js').Arguments>} Arguments */

/** @type {Record<string, string>} */
const TYPES = {
  access: 't d',
  alarm: 'u',
  arch_prctl: 'x p',
  capget: 'p p',
  chdir: 't',
  chmod: 't o',
  clock_getres: 'd p',
  clock_gettime: 'd p',
  clock_nanosleep: 'd x T p',
  clone3: 'p u',
  close_range: 'u u x',
  copy_file_range: 'f p f p u x',
  creat: 't o',
  dup: 'f',
  dup2: 'f d',
  dup3: 'f d x',
  epoll_create: 'd',
  epoll_create1: 'x',
  epoll_ctl: 'f O f p',
  epoll_pwait: 'f E d d p u',
  epoll_wait: 'f E d d',
  eventfd: 'u',
  eventfd2: 'u x',
  execve: 't w p',
  execveat: 'f t w p x',
  exit: 'd',
  faccessat: 'f t d',
  faccessat2: 'f t d x',
  fadvise64: 'f u u d',
  fallocate: 'f x u u',
  fchdir: 'f',
  fchmod: 'f o',
  fdatasync: 'f',
  flock: 'f x',
  fork: '',
  fstatfs: 'f p',
  fsync: 'f',
  getcwd: 'b u',
  getdents64: 'f p u',
  getegid: '',
  geteuid: '',
  getgid: '',
  getpeername: 'f a p',
  getpgid: 'd',
  getpgrp: '',
  getpid: '',
  getrusage: 'd p',
  getsid: 'd',
  gettid: '',
  getuid: '',
  inotify_init1: 'x',
  io_uring_enter: 'f u u x p u',
  io_uring_setup: 'u p',
  ioctl: 'f x p',
  kill: 'd s',
  lseek: 'f i d',
  lstat: 't S',
  madvise: 'p u d',
  mkdir: 't o',
  mkdirat: 'f t o',
  mprotect: 'p u P',
  mremap: 'p u u x p',
  msync: 'p u x',
  nanosleep: 'T p',
  pause: '',
  pidfd_open: 'd x',
  pidfd_send_signal: 'f s p x',
  pread64: 'f b u u',
  preadv: 'f v d u',
  prlimit64: 'd d p p',
  pselect6: 'd p p p p p',
  ptrace: 'd d p p',
  pwrite64: 'f B u u',
  pwritev: 'f v d u',
  readlink: 't b u',
  readlinkat: 'f t b u',
  readv: 'f v d',
  rename: 't t',
  renameat2: 'f t f t x',
  restart_syscall: '',
  rmdir: 't',
  rseq: 'p u x x',
  rt_sigaction: 's p p u',
  rt_sigprocmask: 'd p p u',
  rt_sigreturn: '',
  rt_sigsuspend: 'p u',
  rt_sigtimedwait: 'p p p u',
  sched_getaffinity: 'd u p',
  sched_setaffinity: 'd u p',
  sched_yield: '',
  select: 'd p p p p',
  sendfile: 'f f p u',
  set_tid_address: 'p',
  setitimer: 'd p p',
  setpgid: 'd d',
  setrlimit: 'd p',
  setsid: '',
  shutdown: 'f d',
  sigaltstack: 'p p',
  signalfd4: 'd p u x',
  splice: 'f p f p u x',
  stat: 't S',
  statfs: 't p',
  statx: 'f t x x p',
  symlink: 't t',
  sysinfo: 'p',
  tgkill: 'd d s',
  timer_settime: 'd x p p',
  timerfd_create: 'd x',
  timerfd_settime: 'f x p p',
  tkill: 'd s',
  truncate: 't u',
  umask: 'o',
  uname: 'p',
  vfork: '',
  waitid: 'd d p x p',
  writev: 'f v d',
};

/** @type {Record<number, string>} */
const EPOLL_OPERATIONS = { 1: 'EPOLL_CTL_ADD', 2: 'EPOLL_CTL_DEL', 3: 'EPOLL_CTL_MOD' };

/** The events that epoll_wait() returned. @param {string} hex */
function epollEvents(hex) {
  const bytes = Buffer.from(hex, 'hex');
  const size = process.arch === 'x64' ? 12 : 16; // packed on x86-64
  const list = [];
  for (let at = 0; at + size <= bytes.length; at += size) {
    const events = c.flags(bytes.readUInt32LE(at), c.POLL).replaceAll('POLL', 'EPOLL');
    list.push(`{events=${events}, data=${bytes.readBigUInt64LE(at + size - 8)}}`);
  }
  return `[${list.join(', ')}]`;
}

/** A struct timespec. @param {string} hex */
function time(hex) {
  const bytes = Buffer.from(hex, 'hex');
  if (bytes.length < 16) return '...';
  return `{tv_sec=${bytes.readBigInt64LE(0)}, tv_nsec=${bytes.readBigInt64LE(8)}}`;
}

/** @param {string[]} words */
const listed = (words) => `[${words.map((word) => quoted(Buffer.from(word), Buffer.byteLength(word))).join(', ')}]`;

/** @type {Record<string, (a: Arguments, i: number) => string>} */
const PRINTERS = {
  d: (a, i) => String(a.int(i)),
  i: (a, i) => String(BigInt.asIntN(64, BigInt(a.call.args[i]))),
  u: (a, i) => String(BigInt(a.call.args[i])),
  x: (a, i) => (a.size(i) === 0 ? '0' : a.call.args[i]),
  o: (a, i) => a.mode(i),
  p: (a, i) => a.pointer(i),
  f: (a, i) => a.fd(i),
  s: (a, i) => c.signalNames.get(a.int(i)) ?? String(a.int(i)),
  t: (a, i) => a.text(i),
  w: (a, i) => a.behind(i, listed),
  a: (a, i) => a.address(i),
  b: (a, i) => a.bytes(i, Math.max(0, Number(a.call.result))),
  B: (a, i) => a.bytes(i, a.size(i + 1)),
  v: (a, i) =>
    a.behind(i, ({ data, dataBytes }) =>
      data === undefined ? a.pointer(i) : `[${quoted(Buffer.from(data, 'hex'), dataBytes)}]`,
    ),
  T: (a, i) => a.behind(i, time),
  P: (a, i) => c.flags(a.int(i), c.PROT, 'PROT_NONE'),
  E: (a, i) => a.behind(i, epollEvents),
  S: (a, i) =>
    a.behind(i, ({ mode, size }) => {
      const type = c.FILE_TYPES.get(mode & 0o170000) ?? String(mode & 0o170000);
      return `{st_mode=${type}|0${(mode & 0o7777).toString(8)}, st_size=${size}, ...}`;
    }),
  O: (a, i) => EPOLL_OPERATIONS[a.int(i)] ?? String(a.int(i)),
};

/** The arguments of a call by their types; undefined if the types are not known. @param {Arguments} a */
function printTyped(a) {
  const types = TYPES[a.call.name];
  if (types === undefined) return undefined;
  return types
    .split(' ')
    .filter(Boolean)
    .map((type, i) => PRINTERS[type](a, i));
}

module.exports = { printTyped };
