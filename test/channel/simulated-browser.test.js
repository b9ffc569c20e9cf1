'use strict';
// Simulated browsers (jsdom, happy-dom) replace globals, before the package is loaded or after.
const { library, newPath, runScript, success } = require('./support.js');

/** Globals as happy-dom has them: the state of a signal is a plain field. */
const REPLACE = `
  class Signal extends EventTarget { aborted = false; reason = undefined; }
  class Controller {
    signal = new Signal();
    abort(reason = new Error('aborted')) {
      Object.assign(this.signal, { aborted: true, reason });
      this.signal.dispatchEvent(new Event('abort'));
    }
  }
  Object.assign(globalThis, { AbortController: Controller, AbortSignal: Signal, ReadableStream: undefined, WritableStream: undefined });`;

const USE = (/** @type {object} */ options) => `
  const options = ${JSON.stringify(options)};
  const server = await listen(${JSON.stringify(newPath())}, options);
  const [a, b] = await Promise.all([connect(server.path, options), server.accept()]);
  const controller = new AbortController();
  const waiting = b.receive({ signal: controller.signal });
  controller.abort(new Error('by its user'));
  await waiting.then(() => { throw new Error('not aborted'); }, ({ message }) => {
    if (message !== 'by its user') throw new Error(message);
  });
  const { readable, writable } = b.toWebStreams();
  await writable.getWriter().write('back'); // with a signal of the runtime's own
  if (String(await a.receive()) !== 'back') throw new Error('another message');
  const duplex = a.toDuplex().resume();
  duplex.write('hello');
  const { value } = await readable.getReader().read();
  if (String(value) !== 'hello') throw new Error(value);
  duplex.destroy();
  await server.close();`;

describe.each([
  ['shared memory', {}],
  ['sockets', { transport: 'socket' }],
])('over %s, the package works if the globals were replaced', (_, options) => {
  test('before it was loaded', async () => {
    const script = `${REPLACE}
      const { connect, listen } = require(${library});
      (async () => { ${USE(options)} })();`;
    expect(await runScript(script).ended).toEqual(success);
  });

  test('after it was loaded', async () => {
    const script = `const { connect, listen } = require(${library});
      const { signal } = new AbortController(); // the runtime's own
      ${REPLACE}
      (async () => {
        ${USE(options)}
        await connect(${JSON.stringify(newPath())}, { ...options, signal, timeout: 10 }).catch(({ code }) => {
          if (code !== 'ERR_TIMEOUT') throw new Error(code);
        });
      })();`;
    expect(await runScript(script).ended).toEqual(success);
  });
});
