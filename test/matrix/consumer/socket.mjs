// A program of a user that chooses the transport without shared memory.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, listen } from 'crossings';

const options = { transport: 'socket' };
const path = join(tmpdir(), `transport-${process.pid}.sock`);
const server = await listen(path, options);
const [here, there] = await Promise.all([connect(path, options), server.accept()]);
there.onRequest((message) => message);
console.log(String(await here.request('a message')));
await Promise.all([here.close(), there.close()]);
await server.close();
