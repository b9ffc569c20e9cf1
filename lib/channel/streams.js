'use strict';
// A channel as a Node stream or as web streams. Ending the writable side closes the channel once the readable side has
// ended as well. Destroying either side closes it at once.
const { Duplex } = require('node:stream');
const { ReadableStream, WritableStream } = require('node:stream/web');
const { isUint8Array } = require('node:util').types;
const { nextTick, setImmediate } = require('./clock.js');
const { CrossingsError } = require('./errors.js');
const { checkNames, invalidArgument } = require('./options.js');

const PIECE_BYTES = 64 * 1024; // as large as what a socket delivers: Node's http works through a chunk before it asks for a pause

const MAX_LAST_BYTES = 16384; // an alert of TLS takes about 30, and a server's session tickets 500 or, with the client's certificate, some thousands

/** @typedef {(signal?: AbortSignal) => Promise<IteratorResult<any, undefined>>} Next receives the next message, or the end */
/**
 * @typedef {(message: any, signal: AbortSignal, written?: () => void) => Promise<void> | undefined} Send
 *   Nothing if the message was sent at once. written: called as soon as the peer may receive it.
 */

/**
 * @param {import('../index.d.ts').Channel<any, any>} channel
 * @param {Next} next
 * @param {Send} send
 * @param {() => Promise<void>} nextTurn fulfilled in the next turn of the event loop
 * @param {{objectMode?: boolean}} [options]
 */
function toDuplex(channel, next, send, nextTurn, options = {}) {
  checkNames(options, ['objectMode']);
  const { objectMode = false } = options;
  if (typeof objectMode !== 'boolean') invalidArgument('objectMode', 'true or false', objectMode);
  const stop = new AbortController();
  const maxBytes = channel.maxMessageBytes;
  let isWritten = false; // the peer may have received what is being written, whose callback was not called yet
  /** @type {IteratorResult<any, undefined> | null} what has arrived meanwhile */ let held = null;
  /** @type {Uint8Array | null} what is left of a large message */ let rest = null;
  /** @type {{error: any} | null} why nothing more arrives, other than the end of the peer */ let failure = null;
  let isUnderLayer = false; // only known once the peer has closed
  let lastBytes = 0; // written since then
  const duplex = new Duplex({
    objectMode,
    autoDestroy: true,
    allowHalfOpen: false, // as a socket; what Node's tls makes of this stream takes it over
    // The next message is received only after the last one was taken: destroy() would discard it, for example when the peer has died.
    // But not 0: read() would not ask for the next one when it returns the last one.
    readableHighWaterMark: 1,
    read() {
      if (rest !== null) return void nextTurn().then(() => nextTick(pushPiece, rest)); // there may be thousands
      next(stop.signal).then(
        // Not in the promise's reaction: an error thrown by a listener would become an unhandled rejection.
        (result) => nextTick(deliver, result),
        failRead,
      );
    },
    write(chunk, encoding, done) {
      if (!objectMode && channel.state === 'peer-closed' && isLastWord(chunk.length)) return done();
      const bytes = !objectMode && typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
      sendRest(bytes, 0, done);
    },
    destroy(error, done) {
      stop.abort();
      rest = held = null; // the program may keep this stream
      channel.close().then(
        () => nextTick(done, error),
        (failure) => nextTick(done, failure),
      );
    },
  });

  const { read } = duplex;
  return Object.assign(duplex, {
    /** @param {number} [size] */
    read(size) {
      const { readableLength: before } = duplex;
      let isRead = false;
      try {
        // As at the end of a stream, read(n) returns what is left if that is less.
        const chunk = read.call(duplex, failure && before > 0 && Number(size) > before ? before : size);
        isRead = true;
        return chunk;
      } finally {
        const { readableLength: left } = duplex;
        if (!isRead && left < before) nextTick(flow); // a listener of 'data' has thrown, and Node leaves its loop over what has arrived
        if (failure && left === 0) nextTick(failIfEmpty); // what was read may be pushed back
      }
    },
    // A method of net.Socket. Node's http calls it after the last message of a connection; where there is none, it calls end(), which
    // closes only one direction.
    destroySoon,
  });

  function destroySoon() {
    if (duplex.writableFinished) return void duplex.destroy();
    duplex.once('finish', () => duplex.destroy());
    duplex.end();
  }

  function flow() {
    while (duplex.readableFlowing && duplex.read() !== null);
  }

  /**
   * Nothing more can be received. Something may be left to read that was received before: after unshift(), or after read(n), for which
   * Node raises the high-water mark. destroy() would discard it. Nor may the stream be ended by push(null) before that: after the last
   * byte, Node would tell those who wait for its end that it has ended well, before it emits 'end'.
   * @param {any} error
   */
  function failRead(error) {
    if (isOver(error)) return void duplex.destroy();
    failure = { error };
    nextTick(() => {
      if (!failIfEmpty()) duplex.emit('readable'); // to a reader that waits for more than there is
    });
  }

  function failIfEmpty() {
    if (duplex.readableLength === 0) duplex.destroy(failure?.error);
    return duplex.destroyed;
  }

  /** Has this side ended what was in progress, by destroy() or by close() of the channel? Then it has not failed. @param {any} error */
  function isOver(error) {
    return stop.signal.aborted || (channel.state === 'closed' && error?.code === 'ERR_CLOSED');
  }

  /** @param {any} error @param {(error: any) => void} done */
  function fail(error, done) {
    if (isOver(error)) duplex.destroy(); // without the error, which only the callback of write() gets
    nextTick(finish, done, error);
  }

  /**
   * Called within the write, or outside of any other code, as for a socket (unless a write has failed). Node's http writes in a tick of
   * its own what one of its messages got before: if the stream became empty between the two, nobody would tell the message that it may
   * go on.
   * @param {(error?: any) => void} done @param {any} [error]
   */
  function finish(done, error) {
    isWritten = false;
    const result = held;
    held = null;
    try {
      done(error);
    } finally {
      // In the next tick: this one may have written more, whose callbacks come first, too. But no later write keeps it back.
      if (result !== null) nextTick(push, result);
    }
  }

  /**
   * What has arrived may be the answer to what was written. Its callbacks come first, as with a socket: Node's http would use the
   * connection for two requests at a time if a response arrived before it knew that the request was written.
   * @param {IteratorResult<any, undefined>} result
   */
  function deliver(result) {
    if (isWritten) held = result;
    else push(result);
  }

  /** @param {IteratorResult<any, undefined>} result */
  function push(result) {
    const { done, value } = result;
    if (duplex.destroyed) return;
    if (done) pushEnd();
    else if (value === null || value === undefined) duplex.destroy(notStreamable(value));
    // In byte mode, skip empty messages: push() of an empty chunk would end the current read without data.
    else if (!objectMode && isEmpty(value)) duplex._read(0);
    else if (!objectMode && isLarge(value)) pushPiece(toBytes(value));
    else pushChunk(value);
  }

  /**
   * 'end' is due as soon as nothing is left, as with a socket, although nobody reads. pipe() does not while its target is full: if the
   * stream were destroyed then, Node would take it for ended, and nobody would end the target.
   */
  function pushEnd() {
    // After 'end', Node ends the writable side, and the stream closes: nothing can be written any more, and many programs wait for it, such
    // as Node's http. But http2 may be in the middle of a write, and a TLSSocket would discard at 'close' what its reader has not taken yet.
    // Both end this stream later, as they would a socket that is not half open.
    if (findLayer()) {
      duplex.allowHalfOpen = true;
      if (duplex.writableEnded) /** @type {any} */ (duplex)._readableState.autoDestroy = false;
    }
    duplex.push(null);
    duplex.read(0);
  }

  function findLayer() {
    isUnderLayer ||= duplex.listeners('end').some(isOfLayer);
    return isUnderLayer;
  }

  /**
   * The peer has closed. TLS still writes session tickets, and that it has ended, which nobody reads: an error would come instead of what
   * is left to read, or after its 'end'.
   * @param {number} bytes
   */
  function isLastWord(bytes) {
    lastBytes += bytes;
    return lastBytes <= MAX_LAST_BYTES && findLayer();
  }

  /** @param {Uint8Array | null} bytes */
  function pushPiece(bytes) {
    if (bytes === null || duplex.destroyed) return;
    rest = bytes.length > PIECE_BYTES ? bytes.subarray(PIECE_BYTES) : null;
    // With memory of its own, which may be transferred, and which does not keep the rest.
    const piece = Buffer.allocUnsafeSlow(Math.min(bytes.length, PIECE_BYTES));
    piece.set(bytes.subarray(0, piece.length));
    pushChunk(piece);
  }

  /** @param {any} chunk */
  function pushChunk(chunk) {
    const { readableFlowing, readableLength } = duplex;
    let isPushed = false;
    try {
      duplex.push(chunk);
      isPushed = true;
    } finally {
      // A listener has thrown. If the program goes on after 'uncaughtException', so does the stream, as a socket does.
      if (!isPushed) nextTick(() => duplex.read(0));
    }
    // After setEncoding(), a chunk that is only a part of a character adds nothing. Without a buffer to fill, a stream that does not
    // flow would not read on.
    if (duplex.readableEncoding && !readableFlowing && duplex.readableLength === readableLength) duplex.read(0);
  }

  /**
   * Sends what is left of a chunk, in messages that the ring can hold, and calls back.
   * @param {any} chunk @param {number} from @param {(error?: any) => void} done
   */
  function sendRest(chunk, from, done) {
    const size = objectMode ? 1 : chunk.length;
    for (let at = from; at < size; at += maxBytes) {
      const next = at + maxBytes;
      const isLast = next >= size;
      let sent;
      try {
        sent = send(objectMode ? chunk : chunk.subarray(at, next), stop.signal, () => {
          isWritten = isLast;
        });
      } catch (error) {
        return fail(error, done);
      }
      if (sent === undefined) continue;
      const goOn = isLast ? () => finish(done) : () => sendRest(chunk, next, done);
      return goOnAfter(sent, goOn, done);
    }
    finish(done); // Node calls what was passed to write() in the next tick
  }

  /** @param {Promise<void>} sent @param {() => void} goOn outside of any other code @param {(error: any) => void} done */
  function goOnAfter(sent, goOn, done) {
    sent.then(
      () => setImmediate(goOn),
      (error) => fail(error, done),
    );
  }
}

/**
 * Is this a listener of JSStreamSocket, through which Node's tls and http2 read a stream that is no socket? It is internal, and nothing else
 * of it can be seen. Without a match, the stream closes at its end.
 * @param {Function} listener
 */
const isOfLayer = (listener) => String(listener).includes('emitEOF');

/** @param {unknown} value */
const isEmpty = (value) => value === '' || (isUint8Array(value) && value.length === 0);

/** @param {any} value */
const isLarge = (value) => (typeof value === 'string' || isUint8Array(value)) && value.length > PIECE_BYTES;

/** @param {Uint8Array | string} value */
const toBytes = (value) => (typeof value === 'string' ? Buffer.from(value) : value);

/** @param {null | undefined} value */
function notStreamable(value) {
  return new CrossingsError(
    'ERR_INVALID_ARGUMENT',
    `Received ${value}, which a Node stream cannot carry. Use receive(), for await or toWebStreams() instead.`,
  );
}

/**
 * @param {import('../index.d.ts').Channel<any, any>} channel
 * @param {Next} next
 */
function toWebStreams(channel, next) {
  const readable = new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => channel.close(),
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream({
    // abort() waits for the write that is in progress, so it ends it.
    write: (message, /** @type {any} */ { signal }) => channel.send(message, { signal }),
    close: () => channel.close(),
    abort: () => channel.close(),
  });
  return /** @type {any} */ ({ readable, writable }); // the types of the globals, of which these are the classes
}

module.exports = { toDuplex, toWebStreams };
