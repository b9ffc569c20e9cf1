// Two processes exchange a message and its answer, with this checkout and whatever binary it has for this platform. For CI, on
// machines where nothing else of the checkout runs:
//   node test/tools/exchange.mjs [shared-memory|socket]
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, listen } from '../../lib/index.mjs';

const [, script, transport, path] = process.argv;
const options = /** @type {{}} */ (transport ? { transport } : {});

async function answer() {
  const folder = mkdtempSync(join(tmpdir(), 'exchange-'));
  const endpoint = process.platform === 'win32' ? `\\\\.\\pipe\\exchange-${process.pid}` : join(folder, 'socket');
  const server = await listen(endpoint, options);
  const ended = new AbortController();
  const child = fork(script, [transport ?? '', server.path]);
  const status = new Promise((resolve) => child.once('exit', resolve));
  status.then((code) => ended.abort(new Error(`The other process ended with status ${code}.`)));
  const channel = await server.accept({ signal: ended.signal });
  channel.onRequest((message) => `${message} answered`);
  process.exitCode = (await status) ?? 1;
  await channel.close();
  await server.close();
  rmSync(folder, { recursive: true });
}

async function ask() {
  const channel = await connect(path, options);
  const response = String(await channel.request('request'));
  await channel.close();
  console.log(`${process.platform}-${process.arch}, Node ${process.versions.node}: ${response}`);
  process.exitCode = response === 'request answered' ? 0 : 1;
}

await (path ? ask() : answer());
