'use strict';
// Limits on connections. A connection is a stranger's until a request on it carries the access token, then a member's. Each group
// has a limit, and one connection more drops another of the same group: strangers cannot keep members out, nor each other.

/** @typedef {import('node:net').Socket} Socket */
/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const MAX_STRANGERS = 512; // a client is safe if fewer arrive between its connection and its first request
const MAX_MEMBERS = 640;
const MAX_BODY_BYTES = 16 << 10; // of a request
const MAX_HEADERS = 200; // many different names take long, and Node 20 obeys those beyond the limit without showing them
const MAX_TARGET = 2048; // characters; to parse a longer one may take tens of milliseconds
const MAX_UNREAD_BYTES = 64 << 20; // of all answers to members; one answer has at most a few MiB
const MAX_BYTES_BETWEEN = 128 << 10; // that a client sends from one request to the next: its head, its body, and no more
const SLICE_BYTES = 2048; // parsed before looking whether the connection is still wanted
const IDLE_MS = 120_000; // longer than any request takes to be answered; streams of events are exempt

/** Options of node:http: how long a client may take to send a request, and how large its head may be. */
const HTTP_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16 << 10,
};

const TOO_LARGE_HEAD =
  'The head of the request has more than 16 KiB. Other servers on 127.0.0.1 may have set large cookies, which the browser sends to every ' +
  'port of this address. Delete them, or open the lab with "localhost" instead of "127.0.0.1" in its address.\n';
/** Answers to what is no valid request, by the code of the error; 400 to any other. @type {Record<string, [string, string?]>} */
const INVALID = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', TOO_LARGE_HEAD],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout'],
};

/** The oldest of those with the most bytes that their client has not read. @param {Set<Socket>} sockets */
function laziest(sockets) {
  const [first, ...others] = sockets;
  return others.reduce((worst, socket) => (socket.writableLength > worst.writableLength ? socket : worst), first);
}

/** What their clients have not read yet. @param {Set<Socket>} sockets */
function unreadBytes(sockets) {
  let bytes = 0;
  for (const socket of sockets) bytes += socket.writableLength;
  return bytes;
}

/**
 * Let node:http parse what arrives in slices, and nothing after the connection has been closed. A packet of 64 KiB can hold 1500
 * requests or 10,000 pieces of a body, and node:http parses a packet to its end, even if the first of them closes the connection.
 * @param {Socket} socket of a 'connection' event, whose listener of node:http has been called
 * @param {(bytes: number) => void} onSlice called before each
 */
function parseInSlices(socket, onSlice) {
  const [parse, ...others] = socket.listeners('data');
  if (parse === undefined || others.length > 0) return; // another version of Node; it works without this
  socket.removeListener('data', /** @type {(chunk: Buffer) => void} */ (parse));
  socket.on('data', (/** @type {Buffer} */ chunk) => {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      const slice = chunk.subarray(at, at + SLICE_BYTES);
      if (!socket.destroyed) onSlice(slice.length);
      if (socket.destroyed) return;
      parse.call(socket, slice);
    }
  });
}

/** Answer with a status, and close the connection without reading on. @param {Response} response @param {number} status */
function refuse(response, status) {
  const { socket } = response;
  response.writeHead(status, { connection: 'close' }).end();
  socket?.destroy();
  return false;
}

class Connections {
  /** @type {Set<Socket>} oldest first */ #strangers = new Set();
  /** @type {Set<Socket>} oldest first */ #members = new Set();
  /** Those with a request that has not been answered. @type {WeakSet<Socket>} */ #busy = new WeakSet();
  /** Bytes that have arrived since the last request. @type {WeakMap<Socket, number>} */ #between = new WeakMap();
  #server;

  /** @param {import('node:http').Server} server */
  constructor(server) {
    this.#server = server;
    server.setTimeout(IDLE_MS);
    server.maxHeadersCount = MAX_HEADERS;
    server.on('connection', (socket) => {
      parseInSlices(socket, (bytes) => this.#arrived(socket, bytes));
      this.#add(socket);
    });
    server.on('clientError', (/** @type {NodeJS.ErrnoException} */ { code = '' }, /** @type {Socket} */ socket) => {
      const [status, text = ''] = INVALID[code] ?? ['400 Bad Request'];
      const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\n\r\n`;
      if (socket.writable && !this.#busy.has(socket)) socket.write(head + text);
      socket.destroy();
    });
    // An unknown expectation. Node would refuse it, and the next ones in the same packet, without asking.
    server.on('checkExpectation', (request, response) => {
      if (this.accepts(request, response)) refuse(response, 417);
    });
  }

  /** Empty lines, and what follows a request to switch the protocol, lead to no request. @param {Socket} socket @param {number} bytes */
  #arrived(socket, bytes) {
    const between = (this.#between.get(socket) ?? 0) + bytes;
    this.#between.set(socket, between);
    if (between > MAX_BYTES_BETWEEN) socket.destroy();
  }

  /** @param {Socket} socket */
  #add(socket) {
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#members.delete(socket);
    });
    if (this.#strangers.size > MAX_STRANGERS) this.#drop(this.#strangers, [...this.#strangers][0]);
  }

  /** Many answers can be made between two requests, so this is done after each of them. */
  #limitUnread() {
    while (unreadBytes(this.#members) > MAX_UNREAD_BYTES) this.#drop(this.#members, laziest(this.#members));
  }

  /** The client on this connection has the access token, and asks for an answer. @param {Socket} socket */
  admit(socket) {
    if (!this.#strangers.delete(socket)) return;
    if (this.#members.size >= MAX_MEMBERS) this.#server.closeIdleConnections();
    for (const member of this.#members) if (member.destroyed) this.#members.delete(member);
    if (this.#members.size >= MAX_MEMBERS) this.#drop(this.#members, laziest(this.#members));
    this.#members.add(socket);
  }

  /** @param {Set<Socket>} group @param {Socket} socket */
  #drop(group, socket) {
    group.delete(socket); // now, since its close event comes later
    socket.destroy();
  }

  /**
   * Whether to answer a request. Only the path of a resource here is a valid target, because the lab is not a proxy. A
   * client that does not wait for an answer before it sends its next request is disconnected: browsers wait, and a thousand
   * requests in one packet would keep all others waiting. Nor may a body come in chunks: a million of one byte each would do so, too.
   * @param {Request} request
   * @param {Response} response
   */
  accepts(request, response) {
    const { socket } = request;
    if (socket.destroyed) return false;
    if (this.#busy.has(socket)) {
      socket.destroy();
      return false;
    }
    this.#busy.add(socket);
    this.#between.set(socket, 0);
    response.once('close', () => this.#busy.delete(socket));
    response.once('prefinish', () => this.#limitUnread());
    if (request.rawHeaders.length >= 2 * MAX_HEADERS) return refuse(response, 431);
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (encoding !== undefined) return refuse(response, 411);
    if (Number(length) > MAX_BODY_BYTES) response.setHeader('connection', 'close'); // it gets its answer, and is not read on
    const { url = '' } = request;
    if (url.length > MAX_TARGET) return refuse(response, 414);
    return url.startsWith('/') || refuse(response, 400);
  }
}

/** A stream of events may be silent for longer than other answers. @param {Socket} socket */
const allowSilence = (socket) => socket.setTimeout(0);

/** @param {Socket} socket */
const forbidSilence = (socket) => socket.setTimeout(IDLE_MS);

module.exports = {
  Connections,
  HTTP_LIMITS,
  IDLE_MS,
  MAX_BODY_BYTES,
  MAX_HEADERS,
  MAX_STRANGERS,
  MAX_MEMBERS,
  MAX_UNREAD_BYTES,
  allowSilence,
  forbidSilence,
};
