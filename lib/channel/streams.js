'use strict';
// A channel as a Node stream or as web streams. Ending the writable side closes the channel once the readable side has
// ended as well. Destroying either side closes it at once.
const { Duplex } = require('node:stream');
const { invalidArgument, refuseUnknown } = require('./options.js');

/**
 * @param {import('../index.js').Channel<any, any>} channel
 * @param {{objectMode?: boolean}} [options]
 */
function toDuplex(channel, options = {}) {
  const { objectMode = false, ...others } = options;
  if (typeof objectMode !== 'boolean') invalidArgument('objectMode', 'true or false', objectMode);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) refuseUnknown(unknown, ['objectMode']);
  const stop = new AbortController();
  const maxBytes = channel.maxMessageBytes;
  return new Duplex({
    objectMode,
    autoDestroy: true,
    read() {
      channel.receive({ signal: stop.signal }).then(
        // In byte mode, skip empty messages: push() of an empty chunk would end the current read without data.
        (message) => (!objectMode && message?.length === 0 ? this._read(0) : this.push(message)),
        (error) => this.destroy(stop.signal.aborted ? undefined : error),
      );
    },
    write(chunk, encoding, done) {
      const bytes = !objectMode && typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
      sendAll(bytes).then(() => done(), done);
    },
    destroy(error, done) {
      stop.abort();
      channel.close().then(() => done(error), done);
    },
  });

  /** @param {any} chunk */
  async function sendAll(chunk) {
    if (objectMode) return channel.send(chunk, { signal: stop.signal });
    for (let from = 0; from < chunk.length; from += maxBytes) {
      await channel.send(chunk.subarray(from, from + maxBytes), { signal: stop.signal });
    }
  }
}

/** @param {import('../index.js').Channel<any, any>} channel */
function toWebStreams(channel) {
  const readable = new ReadableStream(
    {
      async pull(controller) {
        const message = await channel.receive();
        if (message === null) controller.close();
        else controller.enqueue(message);
      },
      cancel: () => channel.close(),
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream({
    write: (message) => channel.send(message),
    close: () => channel.close(),
    abort: () => channel.close(),
  });
  return { readable, writable };
}

module.exports = { toDuplex, toWebStreams };
