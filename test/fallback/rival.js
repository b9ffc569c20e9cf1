'use strict';
// A thread of takeover.test.js: listens at each path that it is sent, and stops before each call that looks at a file or changes a name.
const fs = require('node:fs');
const { parentPort: port, workerData } = require('node:worker_threads');

const parent = /** @type {import('node:worker_threads').MessagePort} */ (port);
const word = new Int32Array(workerData); // [how often the thread may continue, does it stop at all?]
const calls = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (fs));

for (const name of ['linkSync', 'lstatSync', 'renameSync', 'rmSync', 'unlinkSync']) {
  const original = /** @type {Function} */ (calls[name]);
  calls[name] = (/** @type {unknown[]} */ ...args) => {
    if (Atomics.load(word, 1) === 1) {
      const seen = Atomics.load(word, 0);
      parent.postMessage({ call: name, file: args[0] });
      Atomics.wait(word, 0, seen);
    }
    return original(...args);
  };
}

const { listen } = require('../../lib/index.js'); // which keeps the functions that it finds

/** @type {import('../../lib/index.js').Server | undefined} */ let server;
parent.on('message', async (path) => {
  if (path === null) {
    await server?.close();
    server = undefined;
    return parent.postMessage('closed');
  }
  try {
    server = await listen(path, { transport: 'socket' });
    parent.postMessage('listening');
    for await (const channel of server) await channel.close();
  } catch (error) {
    parent.postMessage(/** @type {any} */ (error).code ?? String(error));
  }
});
