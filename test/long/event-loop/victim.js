'use strict';
// Receives floods while a timer runs: node victim.js {"scenarios": […], "watchMs": …, "capacity": …, "path": …}. Prints one line
// of JSON for each scenario: the timer's ticks, its largest lateness, and how much processor time it all took; the
// messages that arrived, and the fewest on one channel.
const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { listen } = /** @type {any} */ (require('../../../lib/index.js'));

const TIMER_MS = 1;
const CAPACITY = 1 << 20;
const ANSWERS = 'echoes of messages and answers to requests';
const MANY_FACTOR = 4; // many channels are watched for longer, so that each gets many turns
const { scenarios, watchMs, fullCapacity, path } = JSON.parse(process.argv[2]);

/** Errors of the channel are how these loops end. @param {any} error */
function ended(error) {
  if (!/^ERR_/.test(error?.code)) throw error;
}

/** Every way of receiving. Each runs until the channel ends. @type {Record<string, (channel: any) => any>} */
const WAYS = {
  nothing() {},
  // The channel has the option decode then: see run().
  'for await, decoded': (channel) => WAYS['for await'](channel),
  'batches, decoded': (channel) => WAYS.batches(channel),
  async receive(channel) {
    while ((await channel.receive()) !== null);
  },
  'a hundred receives at once': (channel) => Promise.all(Array.from({ length: 100 }, () => WAYS.receive(channel))),
  async 'receive with a signal'(channel) {
    const { signal } = new AbortController();
    while ((await channel.receive({ signal })) !== null);
  },
  'for await, unreferenced': (channel) => WAYS['for await'](channel.unref()),
  async 'for await'(channel) {
    for await (const message of channel) if (message === undefined) throw new Error('no message');
  },
  async batches(channel) {
    for await (const batch of channel.batches()) if (batch.length === 0) throw new Error('an empty batch');
  },
  onRequest: (channel) => channel.onRequest((/** @type {any} */ message) => message),
  'slow onRequest': (channel) =>
    channel.onRequest(async (/** @type {any} */ message) => {
      await pause(1);
      return message;
    }),
  'receive and onRequest'(channel) {
    WAYS.onRequest(channel);
    return WAYS.receive(channel);
  },
  async request(channel) {
    for (;;) await channel.request('question');
  },
  async send(channel) {
    for (;;) await channel.send('message');
  },
  'a hundred sends at once': (channel) => Promise.all(Array.from({ length: 100 }, () => WAYS.send(channel))),
  async 'send and receive'(channel) {
    for (;;) {
      await channel.send('message');
      await channel.receive();
    }
  },
  'a hundred requests at once': (channel) => Promise.all(Array.from({ length: 100 }, () => WAYS.request(channel))),
  stream: (channel) => consume(channel.toDuplex()),
  'object stream': (channel) => consume(channel.toDuplex({ objectMode: true })),
  async 'web stream'(channel) {
    const reader = channel.toWebStreams().readable.getReader();
    while (!(await reader.read()).done);
  },
  async tryReceive(channel) {
    for (;;) {
      for (let tries = 0; tries < 100; tries++) channel.tryReceive();
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
};

/** @param {import('node:stream').Duplex} stream */
function consume(stream) {
  stream.on('data', () => {});
  return new Promise((resolve, reject) => stream.on('error', reject).on('close', resolve));
}

/** Runs a timer again and again for a time. @param {number} ms */
async function watchTimer(ms) {
  const began = performance.now();
  const cpu = process.cpuUsage();
  let ticks = 0;
  let worst = 0;
  let worstCpu = 0;
  for (let now = began; now - began < ms; ) {
    const before = now;
    const used = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, TIMER_MS));
    now = performance.now();
    ticks++;
    worst = Math.max(worst, now - before - TIMER_MS);
    const { user, system } = process.cpuUsage(used);
    worstCpu = Math.max(worstCpu, (user + system) / 1000);
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    ticks,
    wallMs: performance.now() - began,
    cpuMs: (user + system) / 1000,
    worstMs: worst,
    worstCpuMs: worstCpu,
  };
}

/**
 * Channels to a peer of their own.
 * @param {{attack: string, channels: number, capacity: number}} task
 * @param {any} options
 */
async function openChannels(task, options) {
  const server = await listen(path, { capacity: CAPACITY, ...options });
  const attacker = spawn(process.execPath, [join(__dirname, 'attacker.js'), JSON.stringify({ ...task, path })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => attacker.once('exit', resolve));
  const ready = new Promise((resolve) => attacker.stdout.once('data', resolve));
  const channels = await Promise.all(Array.from({ length: task.channels }, () => server.accept()));
  await ready;
  await server.close();
  const close = async () => {
    attacker.kill('SIGKILL');
    for (const channel of channels) await channel.close();
    await exited;
  };
  return { channels, exited, close };
}

/** One request after the other, to a peer that answers at once. @param {any} options */
async function quietChannel(options) {
  const { channels, close } = await openChannels({ attack: ANSWERS, channels: 1, capacity: CAPACITY }, options);
  const counted = { answers: 0 };
  const ask = async () => {
    for (;;) {
      await channels[0].request('question');
      counted.answers++;
    }
  };
  ask().catch(ended);
  return { counted, close };
}

/** @param {import('./scenarios.js').Scenario} scenario */
async function run({ attack, channels: count, way, options, fills, gone }) {
  const beside = attack.includes('beside a quiet channel') ? await quietChannel(options) : undefined;
  const decode = way.includes('decoded') ? (/** @type {Buffer} */ bytes) => bytes : undefined;
  const task = { attack, channels: count, capacity: fills ? fullCapacity : CAPACITY };
  const { channels, exited, close } = await openChannels(task, { decode, ...(beside ? {} : options) });
  if (gone) await exited;
  for (const channel of channels) {
    try {
      Promise.resolve(WAYS[way](channel)).catch(ended);
    } catch (error) {
      ended(error);
    }
  }
  const before = beside?.counted.answers ?? 0;
  const result = await watchTimer(watchMs * (count > 1 ? MANY_FACTOR : 1));
  const received = channels.map((channel) => channel.stats().messagesReceived);
  const answers = beside ? beside.counted.answers - before : null;
  await close();
  await beside?.close();
  return { ...result, answers, received: received.reduce((sum, each) => sum + each), least: Math.min(...received) };
}

async function main() {
  const idle = await watchTimer(watchMs);
  process.stdout.write(`${JSON.stringify({ idle })}\n`);
  for (const scenario of scenarios) process.stdout.write(`${JSON.stringify(await run(scenario))}\n`);
}

main();
