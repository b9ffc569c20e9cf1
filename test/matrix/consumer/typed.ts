// A program of a user in TypeScript, compiled as a CommonJS module, as an ES module and for a bundler.
import { type Channel, type ChannelOptions, CrossingsError, connect, listen, structured } from 'crossings';

const path = process.argv[2];
const options: ChannelOptions = { capacity: 1 << 16, timeout: 10_000 };

async function serve(): Promise<void> {
  const server = await listen<{ question: string }, { answer: string }>(path, { ...options, ...structured });
  const channel = await server.accept();
  channel.onRequest(async () => ({ question: 'a message' }));
  await channel.closed;
  await server.close();
}

async function main(): Promise<void> {
  const served = serve();
  const channel: Channel<unknown, { question: string }> = await connect(path, { ...options, ...structured });
  const { question } = await channel.request({ answer: 'none yet' });
  console.log(question);
  await channel.close();
  await served;
}

main().catch((error: unknown) => {
  console.error(error instanceof CrossingsError ? `${error.code}: ${error.message}` : error);
  process.exitCode = 1;
});
