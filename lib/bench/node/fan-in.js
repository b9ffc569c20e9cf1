'use strict';
// Fan-in: eight processes send to one. node fan-in.js {"transport": "ring" | "send", "messages": …, "sizeBytes": …}.
// The nine processes are not pinned, and each sender awaits each send. Prints the total rate at which messages arrive, as one
// line of JSON.
const { fork, spawn } = require('node:child_process');
const { channelPair, openChannel } = require('../../index.js');
const { startNodeOrExit } = require('../../measure/start.js');

const SENDERS = 8;
const { transport, messages, sizeBytes, role = 'receiver' } = JSON.parse(process.argv[2]);
const text = '.'.repeat(sizeBytes);
const share = messages / SENDERS;

/** @param {object} task */
const argumentsOf = (task) => [__filename, JSON.stringify({ transport, messages, sizeBytes, ...task })];

/** @type {Record<string, {start: (arrived: () => void) => Promise<{go: () => void, end: () => void}>, send: () => Promise<void>}>} */
const transports = {
  ring: {
    async start(arrived) {
      const { channel, port } = channelPair();
      const words = argumentsOf({ role: 'sender' });
      startNodeOrExit(() => spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit', port.fd] }));
      port.close();
      const opened = await channel;
      const receive = async () => {
        for await (const message of opened) if (message.length === sizeBytes) arrived();
      };
      receive();
      return { go: () => opened.send('go'), end: () => opened.close() };
    },
    async send() {
      const channel = await openChannel(3);
      await channel.receive();
      const message = Buffer.from(text);
      for (let i = 0; i < share; i++) await channel.send(message);
      await channel.receive(); // waits until the receiver closes the channel
    },
  },
  send: {
    async start(arrived) {
      const [script, task] = argumentsOf({ role: 'sender' });
      const child = startNodeOrExit(() => fork(script, [task]));
      await new Promise((resolve) => child.once('message', resolve));
      child.on('message', arrived);
      return { go: () => child.send('go'), end: () => child.kill() };
    },
    async send() {
      const send = (/** @type {string} */ message) => new Promise((resolve) => process.send?.(message, resolve));
      const go = new Promise((resolve) => process.once('message', resolve));
      await send('ready');
      await go;
      for (let i = 0; i < share; i++) await send(text);
    },
  },
};

async function receive() {
  let left = share * SENDERS;
  /** @type {(value?: any) => void} */
  let finish = () => {};
  const done = new Promise((resolve) => {
    finish = resolve;
  });
  const arrived = () => {
    if (--left === 0) finish();
  };
  const senders = await Promise.all(Array.from({ length: SENDERS }, () => transports[transport].start(arrived)));
  const began = process.hrtime.bigint();
  for (const { go } of senders) go();
  await done;
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  process.stdout.write(`${JSON.stringify({ type: 'fan-in', messagesPerSecond: (share * SENDERS) / seconds })}\n`);
  for (const { end } of senders) end();
}

(role === 'sender' ? transports[transport].send() : receive()).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
