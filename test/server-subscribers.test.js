'use strict';
// A client that stops reading the events of a run is disconnected before its events fill the server's memory; the others get all.
jest.mock('../lib/bench/runner.js', () => ({
  ...jest.requireActual('../lib/bench/runner.js'),
  /** Reports 32 MiB of progress, then waits until it is canceled. @param {any} _options @param {any} control */
  async runBench(_options, { signal, onProgress }) {
    for (let number = 0; number < 512; number++) {
      onProgress({ fraction: number / 512, doing: String(number).padEnd(64 << 10, '.') });
      await new Promise((resolve) => setTimeout(resolve, 2));
      signal.throwIfAborted();
    }
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
}));
const { startLabHere } = require('./lab.js');
const { holdConnections } = require('./lab-client.js');
const { MAX_UNSENT_BYTES } = require('../server/subscribers.js');
const { until } = require('./support.js');

test('a reader that stalls is cut off, and one that reads gets every event', async () => {
  const lab = await startLabHere();
  const { id } = (await lab.ask('/api/runs', { method: 'POST', body: { effort: 'quick' } })).body;
  const request = `GET /api/runs/${id}/events HTTP/1.1\r\nHost: ${lab.host}\r\nX-Crossings-Token: ${lab.token}\r\n\r\n`;
  const stalled = await holdConnections(lab.port, 20, request);
  const good = lab.events(id);
  const last = async () => (await lab.ask(`/api/runs/${id}`)).body.progress.fraction;
  while ((await last()) < 511 / 512) await new Promise((resolve) => setTimeout(resolve, 20));
  await lab.ask(`/api/runs/${id}`, { method: 'DELETE' });

  const received = await Promise.all(
    stalled.sockets.map(async (socket) => {
      let bytes = 0;
      let ended = '';
      socket.setEncoding('latin1').on('data', (text) => {
        bytes += text.length;
        ended = (ended + text).slice(-200);
      });
      socket.resume();
      await until(() => socket.destroyed || socket.readableEnded || ended.includes('event:cancelled'));
      return { bytes, all: ended.includes('event:cancelled') };
    }),
  );
  stalled.drop();
  expect(MAX_UNSENT_BYTES).toBeLessThan(1 << 20);
  expect(received.filter(({ all }) => all)).toEqual([]);
  for (const { bytes } of received) expect(bytes).toBeLessThan(24 << 20); // the system buffers some megabytes of a connection

  const numbers = (await good).flatMap(({ event, data }) =>
    event === 'progress' ? [Number.parseInt(data.doing, 10)] : [],
  );
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 512 - numbers.length + index));
  expect(numbers.length).toBeGreaterThan(100);
  expect((await good).at(-1)?.event).toBe('cancelled');
  await lab.close();
});
