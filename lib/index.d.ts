// Types of require('crossings'). docs/api.md explains each; lib/channel/ documents each where it is defined.
/// <reference types="node" />
import type { Duplex } from 'node:stream';

/** What can be sent, unless the option `encode` is set: a string as UTF-8, a view or buffer as its bytes. */
export type Message = string | ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

export type ErrorCode =
  | 'ERR_PEER_DIED'
  | 'ERR_PEER_CORRUPT'
  | 'ERR_PROTOCOL'
  | 'ERR_NOT_AUTHORIZED'
  | 'ERR_MESSAGE_TOO_LARGE'
  | 'ERR_TIMEOUT'
  | 'ERR_CLOSED'
  | 'ERR_REQUEST_FAILED'
  | 'ERR_ADDRESS_IN_USE'
  | 'ERR_INVALID_ARGUMENT'
  | 'ERR_LIMIT_EXCEEDED'
  | 'ERR_NO_EXTERNAL_BUFFERS'
  | 'ERR_NOT_BUILT'
  | 'ERR_UNSUPPORTED'
  | 'ERR_SYSTEM';

/** An error with a stable code. */
export class CrossingsError extends Error {
  constructor(code: string, message: string);
  readonly name: 'CrossingsError';
  code: ErrorCode | (string & {});
}

export interface ChannelOptions<In = Message, Out = Buffer> {
  /** Size of the outgoing ring in bytes: a power of two from 64 KiB to 1 GiB. Default 1 MiB. */
  capacity?: number;
  /** Choose a capacity of at least 1 MiB that is large enough for messages of this size. */
  maxMessageBytes?: number;
  /** Requests whose promises may be pending. Default 65536; Infinity: no limit. */
  maxRequests?: number;
  /**
   * 'shared-memory' (default), or 'socket': the same channels over Unix sockets or Windows named pipes, on every platform,
   * without the speed. Both sides must set the same. See docs/api.md.
   */
  transport?: 'shared-memory' | 'socket';
  /** How to wait for the peer. Default 'spin-then-sleep'. */
  wait?: 'spin-then-sleep' | 'spin' | 'sleep';
  /** Longest time that one wait looks at the ring before it sleeps, microseconds. Default 50. */
  spinMicros?: number;
  /** Limit for connecting and for the handshake, milliseconds. Default 30000; Infinity: no limit. */
  timeout?: number;
  /** Stops connecting, or listening. */
  signal?: AbortSignal | undefined;
  /** Accept a peer that runs as another user. Default false. */
  allowOtherUsers?: boolean;
  /** The largest ring that a peer may have, bytes. Default 256 MiB. */
  maxPeerCapacity?: number;
  /** For listen(): channels that one user may have open at the same time. Default 1024. */
  maxChannelsPerUser?: number;
  /** For listen(): the sum of the rings of one user's channels, both directions, bytes. Default 8 GiB. */
  maxBytesPerUser?: number;
  /** Turns a sent value into bytes. */
  encode?: (value: In) => Uint8Array | string;
  /** Turns received bytes into a value. */
  decode?: (bytes: Buffer) => Out;
  /** Sign each message, and check the tag of each message received. Both sides must set it, or neither. Default false. */
  authenticate?: boolean;
  /** Map memory as SharedArrayBuffer where the runtime supports it. Default true. */
  sharedBuffers?: boolean;
}

/** How a channel ended. Unless it is 'peer-corrupt' or 'closed', what the peer sent can still be read. */
export type ChannelEnd = 'peer-closed' | 'peer-died' | 'peer-corrupt' | 'closed';

export interface Waiting {
  signal?: AbortSignal | undefined;
}

/** A read-only view of a message in the peer's memory. It is valid until the callback returns or closes the channel. */
export interface Cursor {
  /** Bytes. */
  readonly length: number;
  getInt8(offset: number): number;
  getUint8(offset: number): number;
  getInt16(offset: number, littleEndian?: boolean): number;
  getUint16(offset: number, littleEndian?: boolean): number;
  getInt32(offset: number, littleEndian?: boolean): number;
  getUint32(offset: number, littleEndian?: boolean): number;
  getFloat32(offset: number, littleEndian?: boolean): number;
  getFloat64(offset: number, littleEndian?: boolean): number;
  getBigInt64(offset: number, littleEndian?: boolean): bigint;
  getBigUint64(offset: number, littleEndian?: boolean): bigint;
  /** Returns the number of bytes copied. */
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  toString(encoding?: BufferEncoding, start?: number, end?: number): string;
}

export interface ChannelStats {
  messagesSent: number;
  messagesReceived: number;
  bytesSent: number;
  bytesReceived: number;
  /** System calls made to wake the peer. */
  doorbellsRung: number;
  /** Times the peer woke this side. */
  doorbellsAnswered: number;
  /** Times this side went to sleep. */
  sleeps: number;
  /** Attempts to send that found no room. */
  fullTurns: number;
  /** Attempts to receive that found nothing. */
  emptyTurns: number;
  /** Waits that looked at the ring before they slept. */
  looks: number;
  /** Looks that were answered in time. */
  looksAnswered: number;
  /** Mean time until a look was answered, microseconds. */
  answerMicros: number;
  /** Would a wait look now? */
  looking: boolean;
}

/** A channel, from connect(), channelPair(), openChannel(), or a server's accept(). */
export class Channel<In = Message, Out = Buffer> implements AsyncIterable<Out> {
  private constructor();
  /** The process at the other end, as the kernel reported it when the socket was connected; -1 if it is not known. */
  readonly peer: { readonly uid: number; readonly pid: number };
  /** The largest message that send() takes, bytes. */
  readonly maxMessageBytes: number;
  /** Does each message carry a tag that its receiver checks? See the option authenticate. */
  readonly authenticated: boolean;
  /** The state now; 'closed' after close() on this side. */
  readonly state: 'open' | ChannelEnd;
  /** Fulfilled, never rejected, when the channel has ended, even if no call is pending. Does not keep the process alive. */
  readonly closed: Promise<ChannelEnd>;

  /** Returns false if there is no room now. */
  trySend(message: In): boolean;
  /** Waits for room. The bytes must not change until the promise is fulfilled. */
  send(message: In, options?: Waiting): Promise<void>;
  /** Waits until a message of this size would fit, without sending or reserving anything. */
  waitForRoom(sizeBytes?: number, options?: Waiting): Promise<void>;
  /** Returns null if there is no message now. */
  tryReceive(): Out | null;
  /** Returns the size of the message; -1 if there is none now. */
  tryReceiveInto(target: Uint8Array, offset?: number): number;
  /** Returns false if there is no message now. */
  tryRead(read: (message: Cursor) => void): boolean;
  /** Resolves to null once the peer has closed and everything was read. */
  receive(options?: Waiting): Promise<Out | null>;
  /** Blocks this thread. Returns null once the peer has closed and everything was read. */
  receiveSync(options?: { timeout?: number }): Out | null;
  [Symbol.asyncIterator](): AsyncIterableIterator<Out>;
  /** The same as the iterator above. With `reuse`, a message is valid only until the next one is requested: copy what you keep. */
  messages(options?: { reuse?: boolean }): AsyncIterableIterator<Out>;
  /**
   * Arrays of all available messages: at least one, at most `max` (default 1024). With `reuse`, the messages of an array
   * are valid only until the next array is requested: copy what you keep.
   */
  batches(options?: { max?: number; reuse?: boolean }): AsyncIterableIterator<Out[]>;

  request(message: In, options?: Waiting & { timeout?: number }): Promise<Out>;
  /** `concurrency`: calls of the handler whose promises may be pending (default 1024); further requests wait. */
  onRequest(handler: ((message: Out) => In | Promise<In>) | null, options?: { concurrency?: number }): void;

  /** Hold messages back until uncork(). */
  cork(): void;
  uncork(): void;

  toDuplex(options?: { objectMode?: boolean }): Duplex;
  toWebStreams(): { readable: ReadableStream<Out>; writable: WritableStream<In> };

  ref(): this;
  unref(): this;
  stats(): ChannelStats;
  close(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What listen() returns. */
export class Server<In = Message, Out = Buffer> implements AsyncIterable<Channel<In, Out>> {
  private constructor();
  readonly path: string;
  readonly closed: boolean;
  /** Clients that were refused, and the reason of the last refusal. */
  readonly refusals: { count: number; last: unknown };
  accept(options?: Waiting): Promise<Channel<In, Out>>;
  [Symbol.asyncIterator](): AsyncIterableIterator<Channel<In, Out>>;
  ref(): this;
  unref(): this;
  close(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The end of a channelPair() for a child process or a worker. */
export class Port {
  private constructor();
  readonly fd: number;
  /** A ticket with which one worker of this process can open the end. Withdrawn by close(), and when `channel` fails. */
  take(): number;
  /** Close this process's copy, once a child has been started with it; or withdraw the ticket. Done automatically once the channel is open or has failed. */
  close(): void;
}

/** Listen for clients on a Unix socket. */
export function listen<In = Message, Out = Buffer>(
  path: string,
  options?: ChannelOptions<In, Out>,
): Promise<Server<In, Out>>;
/** Connect to a server. Waits if it is not listening yet. */
export function connect<In = Message, Out = Buffer>(
  path: string,
  options?: ChannelOptions<In, Out>,
): Promise<Channel<In, Out>>;
/** A channel whose other end goes to a child process or a worker. */
export function channelPair<In = Message, Out = Buffer>(
  options?: ChannelOptions<In, Out>,
): { channel: Promise<Channel<In, Out>>; port: Port };
/** Open a channel on a descriptor that channelPair() made, or with a ticket of port.take(). */
export function openChannel<In = Message, Out = Buffer>(
  fd: number,
  options?: ChannelOptions<In, Out>,
): Promise<Channel<In, Out>>;

/** Can this process use shared memory? If not, see unsupportedReason and the option transport. */
export const supported: boolean;
/** Why it cannot, as a sentence; null if it can. */
export const unsupportedReason: string | null;

/** Options for sending any value that structured clone supports. Only for peers that you trust: see docs/api.md. */
export const structured: { readonly encode: (value: any) => Buffer; readonly decode: (bytes: Buffer) => any };
