// A program of a user: a channel to a child process. The arguments are the command that runs a program here.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { channelPair, openChannel } from 'crossings';

if (process.env.CROSSINGS_CHILD) {
  const there = await openChannel(3);
  there.onRequest((message) => message);
  await there.closed;
  await there.close();
} else {
  const [command, ...args] = process.argv.slice(2);
  const { channel, port } = channelPair();
  const child = spawn(command, [...args, fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 'inherit', 'inherit', port.fd],
    env: { ...process.env, CROSSINGS_CHILD: '1' },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  port.close();
  const here = await channel;
  console.log(String(await here.request('a message')));
  await here.close();
  const code = await ended;
  if (code !== 0) throw new Error(`the child exited with ${code}`);
}
