'use strict';
// The channel in other runtimes than this Node, and in this one without what they lack: each talks to each. Bun and Deno run
// where `npm run test:matrix` has downloaded them, in CI with every other and elsewhere with Node.
const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { RUNTIMES, ownNode } = require('../matrix/runtimes.js');
const { onlyInCi } = require('../in-ci.js');
const { listen } = require('../../lib/index.js');
const { closing, library, newPath, watch } = require('./support.js');

const PROGRAM = join(__dirname, 'runtime-peer.mjs');

/** @typedef {{name: string, command: string[], lacks: string, obstacle: string}} Tried */

/** @param {string} lacks @returns {Tried} */
const crippled = (lacks) => ({ name: `node (${lacks})`, command: ownNode.start, lacks, obstacle: '' });

/** @type {Tried[]} */
const others = ['bun', 'deno'].map((name) => {
  const runtime = /** @type {import('../matrix/runtimes.js').Runtime} */ (RUNTIMES.find((each) => each.name === name));
  return { name, command: [...runtime.start, ...runtime.run], lacks: '', obstacle: runtime.obstacle(false) };
});

const node = { name: 'node', command: ownNode.start, lacks: '', obstacle: '' };
const noThread = crippled('no-uv-poll');
const noReads = crippled('no-uv-poll,no-read-only-atomics'); // as Bun
const noBuffers = crippled('refuse-external-buffers'); // as Electron

/** @param {Tried} runtime @param {string} role @param {string} path */
function start({ command: [program, ...before], lacks }, role, path) {
  const env = { ...process.env, CROSSINGS_RUNTIME: lacks };
  return watch(spawn(program, [...before, PROGRAM, role, path], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

/** Starts a test, unless a runtime is missing. @param {string} name @param {Tried[]} runtimes @param {() => Promise<void>} run */
function tryTest(name, runtimes, run) {
  const missing = runtimes.map((each) => each.obstacle).find(Boolean);
  const foreign =
    runtimes.some((each) => others.includes(each)) && !(runtimes[0] === node && others.includes(runtimes[1]));
  const obstacle = missing || (foreign && onlyInCi);
  (obstacle ? test.skip : test)(`${name}${obstacle ? ` (skipped: ${obstacle})` : ''}`, run, 60_000);
}

/** @type {[Tried, Tried][]} */
const pairs = [
  [node, noThread],
  [noReads, node],
  [noBuffers, noBuffers],
  [noBuffers, node],
  ...others.flatMap(
    (each) =>
      /** @type {[Tried, Tried][]} */ ([
        [each, each],
        [node, each],
        [each, node],
        [each, noBuffers],
      ]),
  ),
  [others[0], others[1]],
  [others[1], others[0]],
];

describe.each(pairs.map((pair) => ({ pair, names: pair.map(({ name }) => name).join(' and ') })))(
  '$names',
  ({ pair }) => {
    tryTest('exchange messages of all sizes and requests, and each notices the death of the other', pair, async () => {
      const [listening, connecting] = pair;
      for (const killed of ['listener', 'connector']) {
        const path = newPath();
        const listener = start(listening, 'listen', path);
        const connector = start(connecting, 'connect', path);
        await Promise.all([listener.ready, connector.ready]);
        const [dying, living] = killed === 'listener' ? [listener, connector] : [connector, listener];
        dying.child.kill('SIGKILL');
        expect(await living.ended).toEqual({ status: 0, signal: null, output: 'ok\nended peer-died\n' });
        expect((await dying.ended).output).toBe('ok\n');
      }
    });
  },
);

describe.each([noThread, noReads, noBuffers, ...others].map((runtime) => ({ runtime, name: runtime.name })))(
  '$name',
  ({ runtime }) => {
    tryTest('talks to its workers, and survives those that are terminated', [runtime], async () => {
      const { ended } = start(runtime, 'workers', newPath());
      expect(await ended).toEqual({ status: 0, signal: null, output: 'ERR_PEER_DIED\nERR_PEER_DIED\nok\n0 mapped\n' });
    });

    tryTest('ends when only unreferenced channels and servers are left', [runtime], async () => {
      expect(await start(runtime, 'exit', newPath()).ended).toEqual({ status: 0, signal: null, output: 'ok\n' });
    });
  },
);

describe.each([node, ...others].map((runtime) => ({ runtime, name: runtime.name })))('$name', ({ runtime }) => {
  tryTest(
    'over sockets, a program whose last statement is close() ends after all was sent',
    [node, runtime],
    async () => {
      const path = newPath();
      const server = closing(await listen(path, { transport: 'socket' }));
      const { ended } = start(runtime, 'send', path);
      const channel = closing(await server.accept());
      let count = 0;
      for await (const message of channel) expect(message[0]).toBe(count++ & 255);
      expect(count).toBe(900);
      expect(await ended).toEqual({ status: 0, signal: null, output: 'closed\n' });
    },
  );
});

test('a runtime without external buffers and without room for copies says so, and no server waits in it', async () => {
  const script = `
    globalThis.ArrayBuffer = class extends ArrayBuffer {
      constructor(bytes) {
        if (bytes > 2 ** 20) throw new RangeError('Array buffer allocation failed');
        super(bytes);
      }
    };
    const { connect, listen } = require(${library});
    (async () => {
      await listen(${JSON.stringify(newPath())}).catch((error) => console.log(error.code, error.message));
      const path = ${JSON.stringify(newPath())};
      const server = await listen(path, { capacity: 65536 });
      await connect(path).catch((error) => console.log(error.code));
      await server.close();
    })();`;
  const env = { ...process.env, CROSSINGS_RUNTIME: 'refuse-external-buffers' };
  const { ended } = watch(spawn(process.execPath, ['-e', script], { env }));
  expect(await ended).toMatchObject({
    status: 0,
    output: expect.stringMatching(
      /^ERR_NO_EXTERNAL_BUFFERS This JavaScript runtime cannot use mapped memory, and a copy of 2101248 bytes could not be allocated\. .*\nERR_NO_EXTERNAL_BUFFERS\n$/,
    ),
  });
});

// Where an immediate would keep 'beforeExit' coming (Bun), a timer begins the next turn. There was one more of them in each turn, and each
// pass over the timers took longer than the one before.
test('where turns are begun by timers, at most one of them waits', async () => {
  const script = `
    const timers = require('node:timers');
    const { setTimeout: start } = timers;
    let waiting = 0, most = 0;
    timers.setTimeout = function setTimeout(call, ms) {
      most = Math.max(most, ++waiting);
      return start(() => { waiting--; call(); }, ms);
    };
    Function.prototype.toString = () => '[native code]'; // the library takes it for Node's own
    const { channelPair, openChannel } = require(${library});
    const { channel, port } = channelPair({ wait: 'spin' });
    const opening = openChannel(port.take());
    Promise.all([channel, opening]).then(([a, b]) => {
      waiting = most = 0;
      a.receive();
      let turns = 0;
      setImmediate(function next() {
        if (++turns < 1000) return setImmediate(next);
        console.log(most);
        process.exit();
      });
    });`;
  const { ended } = watch(
    spawn(process.execPath, ['-e', script], { env: { ...process.env, CROSSINGS_RUNTIME: 'no-idle-immediates' } }),
  );
  expect(await ended).toEqual({ status: 0, signal: null, output: '1\n' });
});
