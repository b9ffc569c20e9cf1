// One side of a pair of runtimes: `listen PATH` or `connect PATH`. The side that connects sends messages, which the side that
// listens sends back, and then both ask each other. Each reports what worked, and how each channel ended, one line each.
import { connect, listen } from 'crossings';

const [role, path] = process.argv.slice(2);
const MESSAGES = 500;
const contentOf = (index) => `${index} `.repeat(1 + (index % 97));

async function sendAll(channel) {
  for (let index = 0; index < MESSAGES; index++) await channel.send(contentOf(index));
}

const answerTo = (message) => `answer to ${message}`;

async function ask(channel) {
  const answer = String(await channel.request('a question'));
  if (answer !== 'answer to a question') throw new Error(`the answer is "${answer}"`);
  console.log('request');
}

/** The side that connects: messages there and back, then requests in both directions. */
async function talk(channel) {
  channel.onRequest(answerTo);
  const sent = sendAll(channel);
  for (let index = 0; index < MESSAGES; index++) {
    const message = String(await channel.receive());
    if (message !== contentOf(index)) throw new Error(`message ${index} came back as "${message.slice(0, 40)}"`);
  }
  await sent;
  console.log('messages');
  await ask(channel);
}

/** The side that listens. */
async function answer(channel) {
  channel.onRequest(answerTo);
  for (let index = 0; index < MESSAGES; index++) await channel.send(await channel.receive());
  await ask(channel);
}

async function reportEnd(channel) {
  console.log(`ended: ${await channel.closed}`);
  await channel.close();
}

if (role === 'connect') {
  const channel = await connect(path);
  await talk(channel);
  await reportEnd(channel);
} else {
  const server = await listen(path);
  console.log('listening');
  for await (const channel of server) {
    await answer(channel);
    await reportEnd(channel);
  }
}
