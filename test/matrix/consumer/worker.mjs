// A program of a user: a channel to a worker.
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { channelPair, openChannel } from 'crossings';

if (isMainThread) {
  const { channel, port } = channelPair();
  const worker = new Worker(new URL(import.meta.url), { workerData: port.take() });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  const here = await channel;
  console.log(String(await here.request('a message')));
  await here.close();
  const code = await ended;
  if (code !== 0) throw new Error(`the worker exited with ${code}`);
} else {
  const there = await openChannel(workerData);
  there.onRequest((message) => message);
  await there.closed;
  await there.close();
}
