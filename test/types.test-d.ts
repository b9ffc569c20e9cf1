// The shipped types, checked by `npm run types`: this file is never run. Each line marked as an error must be one.
import {
  Channel,
  CrossingsError,
  channelPair,
  connect,
  listen,
  openChannel,
  Port,
  Server,
  structured,
} from '../lib/index.js';

async function asInTheReadme(): Promise<void> {
  const server = await listen('/tmp/feed.sock', {
    capacity: 1 << 16,
    wait: 'sleep',
    timeout: Number.POSITIVE_INFINITY,
    authenticate: true,
  });
  for await (const channel of server) {
    for await (const message of channel) message.readUInt8(0);
    for await (const message of channel.messages({ reuse: true })) message.readUInt8(0);
    for await (const batch of channel.batches({ max: 100, reuse: true })) batch[0]?.readUInt8(0);
    const { looks, looksAnswered, looking }: { looks: number; looksAnswered: number; looking: boolean } =
      channel.stats();
    if (looking && looksAnswered > looks) throw new Error();
  }
  await using channel = await connect('/tmp/feed.sock', { signal: AbortSignal.timeout(10) });
  const sent: boolean =
    channel.trySend('text') || channel.trySend(new Float32Array(4)) || channel.trySend(new ArrayBuffer(4));
  await channel.send(Buffer.alloc(4), { signal: AbortSignal.timeout(1) });
  const message: Buffer | null = await channel.receive();
  const authenticated: boolean = channel.authenticated;
  const size: number = channel.tryReceiveInto(new Uint8Array(64), 8);
  const seen: boolean = channel.tryRead((cursor) => cursor.getFloat64(0, true));
  const answer: Buffer = await channel.request('x', { timeout: 100 });
  channel.onRequest(async (request) => request.subarray(1));
  const { readable, writable } = channel.toWebStreams();
  console.log(
    authenticated,
    sent,
    message,
    size,
    seen,
    answer,
    readable,
    writable,
    channel.stats().doorbellsRung,
    channel.peer.uid,
  );
  if (new Error() instanceof CrossingsError || !(server instanceof Server)) await server.close();
  if (channel instanceof Channel && !(channelPair({ maxMessageBytes: 2 ** 20, maxRequests: 10 }).port instanceof Port))
    await channel.waitForRoom(100, { signal: AbortSignal.timeout(1) });
  channel.onRequest(() => 'x', { concurrency: 5 });
  // @ts-expect-error: channels are made by functions
  new Channel();
}

async function withValues(): Promise<void> {
  const { channel, port } = channelPair<{ x: number }, string>({
    encode: ({ x }) => String(x),
    decode: (bytes) => bytes.toString(),
  });
  const typed: Channel<{ x: number }, string> = await channel;
  typed.trySend({ x: 1 });
  const text: string | null = typed.tryReceive();
  const any = await openChannel(port.take(), structured);
  console.log(text, any);
  // @ts-expect-error: a number is no { x: number }
  typed.trySend(1);
}

async function mistakes(channel: Channel): Promise<void> {
  // @ts-expect-error: a number is no message
  channel.trySend(42);
  // @ts-expect-error: there is no such option
  await connect('/tmp/x', { capasity: 65536 });
  // @ts-expect-error: nor such a way to wait
  await listen('/tmp/x', { wait: 'forever' });
  // @ts-expect-error: it may be null
  (await channel.receive()).length;
  // @ts-expect-error: a cursor cannot write
  channel.tryRead((cursor) => cursor.setUint8(0, 1));
}

export { asInTheReadme, mistakes, withValues };
