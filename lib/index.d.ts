// Types of require('crossings'). docs/api.md explains each; lib/channel/ documents each where it is defined.
/// <reference types="node" />
import type { Duplex } from 'node:stream';

/** What can be sent, unless the option `encode` says otherwise: a string goes as its UTF-8, a view as its bytes. */
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
  | 'ERR_NOT_BUILT'
  | 'ERR_SYSTEM';

/** Its message is a plain sentence; its code is stable. */
export class CrossingsError extends Error {
  constructor(code: string, message: string);
  readonly name: 'CrossingsError';
  code: ErrorCode | (string & {});
}

export interface ChannelOptions<In = Message, Out = Buffer> {
  /** Bytes of the outgoing ring: a power of two from 64 KiB to 1 GiB. Default 1 MiB. */
  capacity?: number;
  /** How to wait for the peer. Default 'spin-then-sleep'. */
  wait?: 'spin-then-sleep' | 'spin' | 'sleep';
  /** How long to look again and again before sleeping, microseconds. Default 50. */
  spinMicros?: number;
  /** Of connecting and of the handshake, milliseconds. Default 30000; Infinity: no limit. */
  timeout?: number;
  /** Stops connecting, or listening. */
  signal?: AbortSignal;
  /** Take a peer of another user, too. Default false. */
  allowOtherUsers?: boolean;
  /** Makes bytes of what is sent. */
  encode?: (value: In) => Uint8Array | string;
  /** Makes of received bytes what is received. */
  decode?: (bytes: Buffer) => Out;
  /** Map memory as SharedArrayBuffer where the runtime can. Default true. */
  sharedBuffers?: boolean;
}

export interface Waiting {
  signal?: AbortSignal;
}

/** A read-only look at a message where it lies; good until the function that it was given to returns. */
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
  /** Answers how many bytes were copied. */
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
}

export interface Channel<In = Message, Out = Buffer> extends AsyncIterable<Out> {
  /** The process at the other end, as the kernel knew it when the socket was connected. */
  readonly peer: { readonly uid: number; readonly pid: number };
  /** The largest message that send() takes, bytes. */
  readonly maxMessageBytes: number;
  readonly closed: boolean;

  /** False: there is no room now. */
  trySend(message: In): boolean;
  /** Waits for room. The bytes must not change until the promise is fulfilled. */
  send(message: In, options?: Waiting): Promise<void>;
  /** Null: nothing is there now. */
  tryReceive(): Out | null;
  /** Bytes copied; -1: nothing is there now. */
  tryReceiveInto(target: Uint8Array, offset?: number): number;
  /** False: nothing is there now. */
  tryRead(read: (message: Cursor) => void): boolean;
  /** Null: the peer has closed and everything was read. */
  receive(options?: Waiting): Promise<Out | null>;
  /** Blocks this thread. Null: the peer has closed and everything was read. */
  receiveSync(options?: { timeout?: number }): Out | null;
  [Symbol.asyncIterator](): AsyncIterableIterator<Out>;

  request(message: In, options?: Waiting & { timeout?: number }): Promise<Out>;
  onRequest(handler: ((message: Out) => In | Promise<In>) | null): void;

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

export interface Server<In = Message, Out = Buffer> extends AsyncIterable<Channel<In, Out>> {
  readonly path: string;
  readonly closed: boolean;
  /** Clients that were turned away, and why the last one was. */
  readonly refusals: { count: number; last: unknown };
  accept(options?: Waiting): Promise<Channel<In, Out>>;
  [Symbol.asyncIterator](): AsyncGenerator<Channel<In, Out>, void, void>;
  ref(): this;
  unref(): this;
  close(): Promise<void>;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The end of a pair that is handed to a child process or a worker. */
export interface Port {
  readonly fd: number;
  /** Give the descriptor away, to a worker of this process. */
  take(): number;
  /** Close this process's copy, once a child has been started with it. */
  close(): void;
}

/** Listen for clients at a path. */
export function listen<In = Message, Out = Buffer>(
  path: string,
  options?: ChannelOptions<In, Out>,
): Promise<Server<In, Out>>;
/** Connect to a listener, waiting for it to appear: start order does not matter. */
export function connect<In = Message, Out = Buffer>(
  path: string,
  options?: ChannelOptions<In, Out>,
): Promise<Channel<In, Out>>;
/** A channel whose other end is handed to a child process or a worker. */
export function channelPair<In = Message, Out = Buffer>(
  options?: ChannelOptions<In, Out>,
): { channel: Promise<Channel<In, Out>>; port: Port };
/** Make a channel of a descriptor that channelPair() made. */
export function openChannel<In = Message, Out = Buffer>(
  fd: number,
  options?: ChannelOptions<In, Out>,
): Promise<Channel<In, Out>>;

/** Options that send any value that the structured clone algorithm takes. */
export const structured: { readonly encode: (value: any) => Buffer; readonly decode: (bytes: Buffer) => any };
