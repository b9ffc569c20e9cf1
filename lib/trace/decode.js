'use strict';
// A call's raw arguments and result, formatted as strace -y prints them.
const c = require('./constants.js');
const { printTyped } = require('./printers.js');
const { quoted, address, message } = require('./values.js');

/**
 * @typedef {object} RawCall one system call as the tracer saw it: its "enter" and its "leave" joined
 * @property {number} pid
 * @property {string} name
 * @property {'setup' | 'message' | 'teardown'} phase
 * @property {number | null} message
 * @property {string | null} file
 * @property {number} line
 * @property {string | null} call the C function
 * @property {string[]} args six registers, as hexadecimal
 * @property {RawDescriptor[]} fds what the descriptors among them referred to at the entry
 * @property {Record<string, any>} in what arguments pointed to, by index: at the entry...
 * @property {Record<string, any>} out ...and at the exit
 * @property {RawDescriptor[]} made descriptors that it created
 * @property {number} t
 * @property {number | null} end null: it never returned
 * @property {string} result
 * @property {string} [error] its errno in words
 * @property {number} sleeps
 * @property {RawWord[]} words
 */
/** @typedef {{fd: number, target: string, device: number, inode: number}} RawDescriptor */
/** @typedef {{name: string, address: number, value: number}} RawWord */

/** A call's arguments, in the forms that printing needs. */
class Arguments {
  /** @param {RawCall} call */
  constructor(call) {
    this.call = call;
  }

  /** As a C int. @param {number} i */
  int(i) {
    return Number(BigInt.asIntN(32, BigInt(this.call.args[i])));
  }

  /** As an unsigned number. @param {number} i */
  size(i) {
    return Number(BigInt(this.call.args[i]));
  }

  /** A descriptor and its target: "3<pipe:[4711]>". @param {number} i */
  fd(i) {
    return this.descriptor(this.int(i));
  }

  /** @param {number} fd */
  descriptor(fd) {
    if (fd === -100) return 'AT_FDCWD';
    const known = [...this.call.fds, ...this.call.made].find((candidate) => candidate.fd === fd);
    return known ? `${fd}<${known.target}>` : String(fd);
  }

  /** @param {number} i */
  pointer(i) {
    const value = this.call.args[i];
    return value === '0x0' ? 'NULL' : value;
  }

  /**
   * What the argument points to, or the pointer if that is unknown or too short: a program passes any size.
   * @param {number} i
   * @param {(raw: any) => string} print
   */
  behind(i, print) {
    const raw = this.call.out[i] ?? this.call.in[i];
    try {
      return raw === undefined ? this.pointer(i) : print(raw);
    } catch (error) {
      if (/** @type {Error} */ (error).name === 'RangeError') return this.pointer(i);
      throw error;
    }
  }

  /** @param {number} i */
  text(i) {
    return this.behind(i, (raw) => quoted(Buffer.from(raw), raw.length));
  }

  /** @param {number} i @param {number} bytes in total, of which some were recorded */
  bytes(i, bytes) {
    return this.behind(i, (hex) => quoted(Buffer.from(hex, 'hex'), bytes));
  }

  /** @param {number} i */
  address(i) {
    return this.behind(i, (hex) => address(Buffer.from(hex, 'hex')));
  }

  /** The two descriptors that the call created. @param {number} i */
  pair(i) {
    return this.behind(i, (hex) => {
      const buffer = Buffer.from(hex, 'hex');
      return `[${[0, 4].map((at) => this.descriptor(buffer.readInt32LE(at))).join(', ')}]`;
    });
  }

  /** @param {number} i */
  number(i) {
    return this.behind(i, (hex) => `[${Buffer.from(hex, 'hex').readInt32LE(0)}]`);
  }

  /** @param {number} i */
  mode(i) {
    return `0${(this.int(i) & 0o7777).toString(8)}`;
  }
}

/** @param {number} type */
function socketType(type) {
  const flagged = c.flags(type & ~0xf, c.SOCKET_FLAGS, '');
  return [c.SOCKET_TYPES[type & 0xf] ?? String(type & 0xf), flagged].filter(Boolean).join('|');
}

/** @param {Arguments} a @param {number} at */
function openFlags(a, at) {
  const value = a.int(at);
  return [c.ACCESS[value & 3], c.flags(value & ~3, c.OPEN, '')].filter(Boolean).join('|');
}

/** @param {Arguments} a */
function mapFlags(a) {
  const value = a.int(3);
  const kind = (value & 3) === 1 ? 'MAP_SHARED' : 'MAP_PRIVATE';
  return [kind, c.flags(value & ~3, c.MAP, '')].filter(Boolean).join('|');
}

/** @param {Arguments} a */
function futex(a) {
  const value = a.int(1);
  const operation = value & 0x7f;
  const wait = operation === 0 || operation === 9;
  const flags = [
    c.FUTEX[operation] ?? String(operation),
    value & 128 ? 'FUTEX_PRIVATE_FLAG' : '',
    value & 256 ? 'FUTEX_CLOCK_REALTIME' : '',
  ];
  const head = [a.pointer(0), flags.filter(Boolean).join('|'), String(a.int(2))];
  if (wait) head.push(a.pointer(3));
  if (operation === 9) head.push(a.pointer(4), 'FUTEX_BITSET_MATCH_ANY');
  return head;
}

/** @param {Arguments} a */
function polled(a) {
  return a.behind(0, (hex) => {
    const buffer = Buffer.from(hex, 'hex');
    const list = [];
    for (let at = 0; at + 8 <= buffer.length; at += 8) {
      const seen = buffer.readInt16LE(at + 6);
      const events = `fd=${a.descriptor(buffer.readInt32LE(at))}, events=${c.flags(buffer.readInt16LE(at + 4), c.POLL)}`;
      list.push(`{${events}${seen ? `, revents=${c.flags(seen, c.POLL)}` : ''}}`);
    }
    return `[${list.join(', ')}]`;
  });
}

/** @param {Arguments} a @param {number} i */
function waitStatus(a, i) {
  return a.behind(i, (hex) => {
    const status = Buffer.from(hex, 'hex').readInt32LE(0);
    const signal = status & 0x7f;
    if (signal) return `[{WIFSIGNALED(s) && WTERMSIG(s) == ${c.signalNames.get(signal) ?? signal}}]`;
    return `[{WIFEXITED(s) && WEXITSTATUS(s) == ${(status >> 8) & 0xff}}]`;
  });
}

/** @param {Arguments} a @param {number} i */
function fileStatus(a, i) {
  return a.behind(i, ({ mode, size }) => {
    const type = c.FILE_TYPES.get(mode & 0o170000) ?? String(mode & 0o170000);
    return `{st_mode=${type}|0${(mode & 0o7777).toString(8)}, st_size=${size}, ...}`;
  });
}

/** @param {Arguments} a */
function socketOption(a) {
  const [level, name] = [a.int(1), a.int(2)];
  const names = {
    '1,2': ['SOL_SOCKET', 'SO_REUSEADDR'],
    '1,3': ['SOL_SOCKET', 'SO_TYPE'],
    '1,4': ['SOL_SOCKET', 'SO_ERROR'],
    '1,7': ['SOL_SOCKET', 'SO_SNDBUF'],
    '1,8': ['SOL_SOCKET', 'SO_RCVBUF'],
    '1,9': ['SOL_SOCKET', 'SO_KEEPALIVE'],
    '1,13': ['SOL_SOCKET', 'SO_LINGER'],
    '1,15': ['SOL_SOCKET', 'SO_REUSEPORT'],
    '1,16': ['SOL_SOCKET', 'SO_PASSCRED'],
    '1,17': ['SOL_SOCKET', 'SO_PEERCRED'],
    '1,20': ['SOL_SOCKET', 'SO_RCVTIMEO'],
    '1,21': ['SOL_SOCKET', 'SO_SNDTIMEO'],
    '1,39': ['SOL_SOCKET', 'SO_DOMAIN'],
    '1,42': ['SOL_SOCKET', 'SO_PEEK_OFF'],
    '1,76': ['SOL_SOCKET', 'SO_PASSPIDFD'],
    '1,83': ['SOL_SOCKET', 'SO_PASSRIGHTS'],
    '6,1': ['SOL_TCP', 'TCP_NODELAY'],
  };
  return names[/** @type {keyof typeof names} */ (`${level},${name}`)] ?? [String(level), String(name)];
}

/** @param {Arguments} a */
function sealing(a) {
  const command = a.int(1);
  const simple = c.FCNTL[command];
  if (simple) return [a.fd(0), simple, ...(simple.includes('_GET') ? [] : [String(a.int(2))])];
  const name = c.SEALING[command];
  if (name === 'F_ADD_SEALS') return [a.fd(0), name, c.flags(a.int(2), c.SEALS)];
  return [a.fd(0), name ?? c.LOCKING[command] ?? String(command), ...(name ? [] : [a.pointer(2)])];
}

/** @param {Arguments} a */
function prctl(a) {
  const signal = c.signalNames.get(a.int(1));
  return a.int(0) === 1 ? ['PR_SET_PDEATHSIG', signal ?? String(a.int(1))] : [0, 1, 2, 3, 4].map((i) => a.pointer(i));
}

/** @param {Arguments} a */
function clone(a) {
  const value = a.size(0);
  const signal = c.signalNames.get(value & 0xff);
  const flags = [c.flags(value & ~0xff, c.CLONE, ''), signal].filter(Boolean).join('|');
  return [`child_stack=${a.pointer(1)}`, `flags=${flags}`];
}

/** @type {Record<string, (a: Arguments) => string[]>} */
const PRINTERS = {
  read: (a) => [a.fd(0), a.bytes(1, Math.max(0, Number(a.call.result))), String(a.size(2))],
  write: (a) => [a.fd(0), a.bytes(1, a.size(2)), String(a.size(2))],
  close: (a) => [a.fd(0)],
  openat: (a) => [a.fd(0), a.text(1), openFlags(a, 2), ...(a.int(2) & 0o100 ? [a.mode(3)] : [])],
  open: (a) => [a.text(0), openFlags(a, 1), ...(a.int(1) & 0o100 ? [a.mode(2)] : [])],
  unlink: (a) => [a.text(0)],
  unlinkat: (a) => [a.fd(0), a.text(1), c.flags(a.int(2), c.AT)],
  link: (a) => [a.text(0), a.text(1)],
  linkat: (a) => [a.fd(0), a.text(1), a.fd(2), a.text(3), c.flags(a.int(4), c.AT)],
  fstat: (a) => [a.fd(0), fileStatus(a, 1)],
  newfstatat: (a) => [a.fd(0), a.text(1), fileStatus(a, 2), c.flags(a.int(3), c.AT)],
  ftruncate: (a) => [a.fd(0), String(a.size(1))],
  mmap: (a) => [
    a.pointer(0),
    String(a.size(1)),
    c.flags(a.int(2), c.PROT, 'PROT_NONE'),
    mapFlags(a),
    a.fd(4),
    hex(a, 5),
  ],
  munmap: (a) => [a.pointer(0), String(a.size(1))],
  brk: (a) => [a.pointer(0)],
  memfd_create: (a) => [a.text(0), c.flags(a.int(1), c.MEMFD)],
  fcntl: sealing,
  pipe: (a) => [a.pair(0)],
  pipe2: (a) => [a.pair(0), c.flags(a.int(1), c.OPEN)],
  socket: (a) => [c.FAMILIES[a.int(0)] ?? String(a.int(0)), socketType(a.int(1)), String(a.int(2))],
  socketpair: (a) => [c.FAMILIES[a.int(0)] ?? String(a.int(0)), socketType(a.int(1)), String(a.int(2)), a.pair(3)],
  bind: (a) => [a.fd(0), a.address(1), String(a.int(2))],
  listen: (a) => [a.fd(0), String(a.int(1))],
  accept: (a) => [a.fd(0), a.address(1), a.pointer(2)],
  accept4: (a) => [a.fd(0), a.address(1), a.pointer(2), c.flags(a.int(3), c.SOCKET_FLAGS)],
  connect: (a) => [a.fd(0), a.address(1), String(a.int(2))],
  getsockname: (a) => [a.fd(0), a.address(1), a.pointer(2)],
  setsockopt: (a) => [a.fd(0), ...socketOption(a), a.number(3), String(a.int(4))],
  getsockopt: (a) => [a.fd(0), ...socketOption(a), a.pointer(3), a.pointer(4)],
  sendto: (a) => [
    a.fd(0),
    a.bytes(1, a.size(2)),
    String(a.size(2)),
    c.flags(a.int(3), c.MSG),
    a.address(4),
    String(a.int(5)),
  ],
  recvfrom: (a) => [
    a.fd(0),
    a.bytes(1, Math.max(0, Number(a.call.result))),
    String(a.size(2)),
    c.flags(a.int(3), c.MSG),
    a.pointer(4),
    a.pointer(5),
  ],
  sendmsg: (a) => [a.fd(0), a.behind(1, (raw) => message(raw)), c.flags(a.int(2), c.MSG)],
  recvmsg: (a) => [
    a.fd(0),
    a.behind(1, (raw) => message({ ...raw, dataBytes: Number(a.call.result) })),
    c.flags(a.int(2), c.MSG),
  ],
  poll: (a) => [polled(a), String(a.int(1)), String(a.int(2))],
  ppoll: (a) => [polled(a), String(a.int(1)), a.pointer(2), a.pointer(3), String(a.int(4))],
  futex,
  clone,
  wait4: (a) => [String(a.int(0)), waitStatus(a, 1), String(a.int(2)), a.pointer(3)],
  exit_group: (a) => [String(a.int(0))],
  prctl,
  getppid: () => [],
  set_robust_list: (a) => [a.pointer(0), String(a.size(1))],
  getrandom: (a) => [
    a.bytes(0, Math.max(0, Number(a.call.result))),
    String(a.size(1)),
    a.int(2) & 1 ? 'GRND_NONBLOCK' : '0',
  ],
};

/** @param {Arguments} a @param {number} i */
const hex = (a, i) => (a.size(i) === 0 ? '0' : a.call.args[i]);

/** The arguments, as strace -y prints them. @param {RawCall} call */
function decodeArguments(call) {
  const print = PRINTERS[call.name];
  const a = new Arguments(call);
  return print?.(a) ?? printTyped(a) ?? call.args;
}

/**
 * The arguments that the call fills in, as they were before it: [index, text]. A buffer to read into is only an address
 * until the call returns.
 * @param {RawCall} call
 * @returns {[number, string][]}
 */
function argumentsBefore(call) {
  const before = decodeArguments({ ...call, out: {}, made: [], result: '0' });
  return decodeArguments(call).flatMap((text, i) => (text === before[i] ? [] : [[i, before[i]]]));
}

/** Calls whose result is an address. */
const ADDRESSES = new Set(['mmap', 'brk']);

/** @param {RawCall} call */
function decodeResult(call) {
  if (call.end === null) return '?';
  const value = BigInt(call.result);
  if (call.error) {
    const number = Number(-value);
    if (c.RESTARTS[number]) return `? ${c.RESTARTS[number]}`;
    return `-1 ${c.errorNames.get(number) ?? `errno ${number}`} (${call.error})`;
  }
  if (ADDRESSES.has(call.name)) return `0x${BigInt.asUintN(64, value).toString(16)}`;
  const made = call.made.find(({ fd }) => fd === Number(value));
  const several = call.name.startsWith('pipe') || call.name === 'socketpair';
  if (made && !several) return `${value}<${made.target}>`;
  if (call.name === 'poll' || call.name === 'ppoll') return String(value);
  if (call.name === 'fcntl' && Number(call.args[1]) === c.F_GET_SEALS) {
    return `0x${value.toString(16)} (seals ${c.flags(Number(value), c.SEALS)})`;
  }
  return String(value);
}

module.exports = { Arguments, argumentsBefore, decodeArguments, decodeResult };
