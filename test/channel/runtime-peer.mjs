// One of two processes that talk to each other, in any runtime: runtime-peer.mjs ROLE PATH. Prints "ok" when all went well, and
// then "ended" and the state of the channel once its peer has gone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

const { channelPair, connect, listen } = createRequire(import.meta.url)('../../lib/index.js');
const [role, path] = process.argv.slice(2);

const SIZES = [0, 1, 7, 8, 9, 55, 56, 57, 63, 64, 65, 500, 1024, 4097, 70_000, 200_001];
const ROUNDS = 150;

const bytesOf = (/** @type {number} */ number) => Buffer.alloc(SIZES[number % SIZES.length], number % 251);

/** Each side sends all messages and receives the peer's, both at once. @param {any} channel */
async function exchange(channel) {
  const sent = (async () => {
    for (let i = 0; i < ROUNDS; i++) await channel.send(bytesOf(i));
  })();
  for (let i = 0; i < ROUNDS; i++) {
    const message = await channel.receive();
    if (!bytesOf(i).equals(message)) throw new Error(`message ${i} has ${message.length} bytes that were not sent`);
  }
  await sent;
}

/** @param {any} channel */
async function talk(channel) {
  channel.onRequest(async (/** @type {Buffer} */ request) => {
    if (String(request) === 'fail') throw new Error('as asked');
    return Buffer.concat([request, request]);
  });
  await exchange(channel);
  for (const size of [1, 100, 50_000]) {
    const request = Buffer.alloc(size, 7);
    const response = await channel.request(request);
    if (!Buffer.concat([request, request]).equals(response))
      throw new Error(`wrong response of ${response.length} bytes`);
  }
  const refused = await channel.request('fail').catch((/** @type {Error} */ error) => error.message);
  if (!refused.includes('as asked')) throw new Error(`wrong refusal: ${refused}`);
  console.log('ok');
  console.log('ended', await channel.closed);
  await channel.close();
}

const roles = {
  async listen() {
    const server = await listen(path);
    const channel = await server.accept();
    await server.close();
    await talk(channel);
  },

  async connect() {
    await talk(await connect(path));
  },

  /** Workers that end while they wait; then a channel to one that answers. None leaves memory mapped. */
  async workers() {
    const source = `
      const { workerData, parentPort } = require('node:worker_threads');
      const { openChannel } = require(workerData.library);
      openChannel(workerData.ticket).then(async (channel) => {
        parentPort.postMessage('open');
        for await (const message of channel) await channel.send(message);
      });`;
    const library = createRequire(import.meta.url).resolve('../../lib/index.js');
    for (const terminates of [true, true, false]) {
      const { channel, port } = channelPair();
      const worker = new Worker(source, { eval: true, workerData: { library, ticket: port.take() } });
      await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
      const here = await channel;
      if (terminates) {
        const ended = here.receive().catch((/** @type {any} */ error) => error.code); // keeps the process alive
        await worker.terminate();
        console.log(await ended);
      } else {
        await exchange(here);
        console.log('ok');
        const ended = new Promise((resolve) => worker.once('exit', resolve));
        await here.close();
        await ended;
      }
      await here.close();
    }
    const mapped = () => readFileSync('/proc/self/maps', 'latin1').match(/memfd:crossings/g)?.length ?? 0;
    // A thread unmaps them.
    for (let tries = 0; tries < 500 && mapped() > 0; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    console.log(mapped(), 'mapped');
  },

  /** Ends by itself, with an unreferenced server and a closed one. */
  async exit() {
    const server = await listen(path);
    server.unref();
    const channel = await connect(path);
    const other = await server.accept();
    channel.unref();
    other.unref();
    channel.receive();
    other.receive().catch(() => {});
    console.log('ok');
  },

  /** Over sockets: its last statement is close(), and more is on its way then than the kernel takes at once. */
  async send() {
    const channel = await connect(path, { transport: 'socket' });
    // Nothing waits for this function: an await at the top level would keep some runtimes alive.
    const sendAll = async () => {
      for (let i = 0; i < 900; i++) await channel.send(Buffer.alloc(1000, i));
      await channel.close();
      console.log('closed');
    };
    sendAll();
  },
};

await /** @type {any} */ (roles)[role]();
