'use strict';
// Values in memory as strace prints them: strings, socket addresses, messages with descriptors in them.
const c = require('./constants.js');

const SUN_PATH_BYTES = 108; // the longest name of a Unix socket
const SHOWN_BYTES = 80; // of a buffer; no message of the demos is longer
const ESCAPES = new Map([
  [9, '\\t'],
  [10, '\\n'],
  [11, '\\v'],
  [12, '\\f'],
  [13, '\\r'],
  [34, '\\"'],
  [92, '\\\\'],
]);

/**
 * Bytes as a C string.
 * @param {Buffer} bytes the recorded ones
 * @param {number} length their number in memory
 * @param {number} [most] the number of bytes to show
 */
function quoted(bytes, length, most = SHOWN_BYTES) {
  const shown = bytes.subarray(0, most);
  let text = '';
  for (const [i, byte] of shown.entries()) {
    const escaped = ESCAPES.get(byte);
    if (escaped) text += escaped;
    else if (byte >= 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
    else text += octal(byte, shown[i + 1]);
  }
  return `"${text}"${length > shown.length ? '...' : ''}`;
}

/**
 * A name as one line of text: a program chooses it, and control characters would change the terminal or the direction of the text.
 * @param {string} name
 */
const printable = (name) => name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');

/** The shortest octal escape that a following digit cannot extend. @param {number} byte @param {number} [next] */
function octal(byte, next = 0) {
  const digits = byte.toString(8);
  const digitFollows = next >= 0x30 && next <= 0x37;
  return `\\${digitFollows ? digits.padStart(3, '0') : digits}`;
}

/** An IPv6 address as inet_ntop(3) prints it, by the parser of addresses in URLs. @param {Buffer} bytes */
function groupsOf(bytes) {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** The address of a socket, as a key: "/tmp/x.sock" or "127.0.0.1:4711". @param {Buffer} raw */
function addressKey(raw) {
  const family = raw.length >= 2 ? raw.readUInt16LE(0) : 0;
  if (family === 10 && raw.length >= 24) return `[${groupsOf(raw.subarray(8, 24))}]:${raw.readUInt16BE(2)}`;
  if (family === 1) {
    if (raw[2] === 0 && raw.length > 3) return `@${raw.toString('latin1', 3)}`; // an abstract name
    const end = raw.indexOf(0, 2);
    return raw.toString('latin1', 2, end < 0 ? raw.length : end);
  }
  if (family === 2 && raw.length >= 8) return `${[...raw.subarray(4, 8)].join('.')}:${raw.readUInt16BE(2)}`;
  return raw.toString('hex');
}

/** A socket address. @param {Buffer} raw */
function address(raw) {
  const family = raw.length >= 2 ? raw.readUInt16LE(0) : 0;
  const key = addressKey(raw);
  if (family === 1) {
    const name = Buffer.from(key, 'latin1');
    return `{sa_family=AF_UNIX, sun_path=${quoted(name, name.length, SUN_PATH_BYTES)}}`;
  }
  if (family === 2 && raw.length >= 8) {
    const [host, port] = key.split(':');
    return `{sa_family=AF_INET, sin_port=htons(${port}), sin_addr=inet_addr("${host}")}`;
  }
  if (family === 10 && raw.length >= 24) {
    const [, host, port] = /^\[(.*)\]:(\d+)$/.exec(key) ?? [];
    return `{sa_family=AF_INET6, sin6_port=htons(${port}), sin6_addr=inet_pton("${host}")}`;
  }
  return `{sa_family=${c.FAMILIES[family] ?? family}, ...}`;
}

/**
 * A struct msghdr.
 * @param {{data?: string, dataBytes: number, pieces: number, controlBytes: number, flags: number, rights: {fd: number, target: string}[]}} raw
 */
function message({ data = '', dataBytes, pieces, controlBytes, flags, rights }) {
  const fds = rights.map(({ fd, target }) => `${fd}<${printable(target)}>`).join(', ');
  const length = 16 + 4 * rights.length;
  const control = rights.length
    ? `msg_control=[{cmsg_len=${length}, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[${fds}]}], `
    : '';
  const bytes = Buffer.from(data, 'hex').subarray(0, dataBytes);
  const piece = `{iov_base=${quoted(bytes, dataBytes)}, iov_len=${dataBytes}}`;
  return (
    `{msg_name=NULL, msg_namelen=0, msg_iov=[${piece}], msg_iovlen=${pieces}, ${control}` +
    `msg_controllen=${controlBytes}, msg_flags=${c.flags(flags, c.MSG)}}`
  );
}

/** The demo's message in 64 bytes, or null. @param {Buffer} bytes */
function payloadOf(bytes) {
  if (bytes.length !== 64) return null;
  const end = bytes.indexOf(0, 16);
  return {
    sequence: bytes.readInt32LE(0),
    type: bytes.readInt32LE(4),
    value: bytes.readDoubleLE(8),
    text: bytes.toString('latin1', 16, Math.min(end < 0 ? 56 : end, 56)),
    done: bytes.readInt32LE(56) !== 0,
  };
}

module.exports = { address, addressKey, message, payloadOf, printable, quoted };
