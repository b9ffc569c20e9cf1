'use strict';
// Requests of a caller that awaits each response (quick-requests.js), to a peer in another process.
const { Requests } = require('../../lib/channel/requests.js');
const { closing, crossings, errorWith, newPath, peer, success } = require('./support.js');

describe('a request that is polled for at once', () => {
  const quick = jest.spyOn(Requests.prototype, 'takeQuickNumber');
  /** @type {any} */ let channel;
  /** @type {any} */ let responder;

  beforeEach(async () => {
    const path = newPath();
    const server = await crossings.listen(path, { wait: 'spin' });
    responder = peer('respond', path);
    channel = closing(await server.accept());
    await server.close();
    for (let i = 0; i < 10; i++) await channel.request('x');
    quick.mockClear();
  });

  afterEach(async () => {
    await channel.close();
    expect(await responder.ended).toEqual(success);
  });

  afterAll(() => quick.mockRestore());

  test('gets its own response, its refusal, or what comes first', async () => {
    for (let i = 0; i < 300; i++) {
      expect(String(await channel.request(String(i)))).toBe(String(i));
      if (i % 10 === 0) await expect(channel.request('refuse')).rejects.toMatchObject({ message: 'no' });
      if (i % 10 === 3) {
        expect(String(await channel.request('message'))).toBe('message');
        expect(String(channel.tryReceive())).toBe('a message');
      }
      if (i % 10 === 6) {
        const later = channel.request('later');
        await channel.request(String(i));
        expect(String(await later)).toBe('at last');
      }
    }
    expect(quick.mock.calls.length).toBeGreaterThan(0);
  });

  test('does not keep the requests of one tick from being sent together', async () => {
    for (let i = 0; i < 20; i++) {
      const numbers = Array.from({ length: 100 }, (_, j) => String(i + j));
      const responses = await Promise.all(numbers.map((text) => channel.request(text)));
      expect(responses.map(String)).toEqual(numbers);
      quick.mockClear();
      expect(String(await channel.request('alone'))).toBe('alone');
      expect(quick).not.toHaveBeenCalled(); // after many at a time, one alone must prove itself first
    }
  });

  test('can time out and be aborted, and its late response is ignored', async () => {
    for (let i = 0; i < 10; i++) {
      await expect(channel.request('never', { timeout: 1 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
      await expect(channel.request('later', { signal: AbortSignal.timeout(1) })).rejects.toMatchObject({
        name: 'TimeoutError',
      });
      for (let j = 0; j < 5; j++) expect(String(await channel.request(String(j)))).toBe(String(j));
    }
    expect(channel.tryReceive()).toBe(null);
  });
});
