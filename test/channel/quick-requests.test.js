'use strict';
// Requests of a caller that awaits each response (quick-requests.js), to a peer in another process.
const { setImmediate: nextTurn } = require('node:timers/promises');
const vm = require('node:vm');
const { Requests } = require('../../lib/channel/requests.js');
const { closing, crossings, errorWith, newPath, pause, peer, success } = require('./support.js');

describe('a request that is polled for at once', () => {
  const quick = jest.spyOn(Requests.prototype, 'beginQuick');
  /** @type {any} */ let channel;
  /** @type {any} */ let responder;
  let ending = success; // of the responder
  let asked = 0;
  let isCounted = true;

  /** @param {any} message @param {any} [options] */
  function request(message, options) {
    asked++;
    return channel.request(message, options);
  }

  /** Opens the channel, whose last requests were alone. @param {object} [options] */
  async function open(options = {}) {
    const path = newPath();
    const server = await crossings.listen(path, { wait: 'spin', ...options });
    responder = peer('respond', path);
    channel = closing(await server.accept());
    await server.close();
    asked = 0;
    for (let i = 0; i < 10; i++) await request('x');
    quick.mockClear();
  }

  beforeEach(() => {
    ending = success;
    isCounted = true;
  });

  afterEach(async () => {
    // Each request was handled once. One that is at work for ever does not keep this one from being handled.
    if (channel.state === 'open' && isCounted) expect(Number(await request('count'))).toBe(asked);
    await channel.close();
    expect(await responder.ended).toEqual(ending);
  });

  afterAll(() => quick.mockRestore());

  test('gets its own response, its refusal, or what comes first', async () => {
    await open();
    for (let i = 0; i < 300; i++) {
      expect(String(await request(String(i)))).toBe(String(i));
      if (i % 10 === 0) await expect(request('refuse')).rejects.toMatchObject({ message: 'no' });
      if (i % 10 === 3) {
        expect(String(await request('message'))).toBe('message');
        expect(String(channel.tryReceive())).toBe('a message');
      }
      if (i % 10 === 6) {
        const later = request('later');
        await request(String(i));
        expect(String(await later)).toBe('at last');
      }
    }
    expect(quick.mock.calls.length).toBeGreaterThan(0);
  });

  test('does not keep the requests of one tick from being sent together', async () => {
    await open();
    for (let i = 0; i < 20; i++) {
      const numbers = Array.from({ length: 100 }, (_, j) => String(i + j));
      const responses = await Promise.all(numbers.map((text) => request(text)));
      expect(responses.map(String)).toEqual(numbers);
      quick.mockClear();
      expect(String(await request('alone'))).toBe('alone');
      expect(quick).not.toHaveBeenCalled(); // after many at a time, one alone must prove itself first
    }
  });

  test('can time out and be aborted, and its late response is ignored', async () => {
    await open();
    for (let i = 0; i < 10; i++) {
      await expect(request('never', { timeout: 1 })).rejects.toEqual(errorWith('ERR_TIMEOUT'));
      await expect(request('later', { signal: AbortSignal.timeout(1) })).rejects.toMatchObject({
        name: 'TimeoutError',
      });
      for (let j = 0; j < 5; j++) expect(String(await request(String(j)))).toBe(String(j));
    }
    expect(channel.tryReceive()).toBe(null);
  });

  // The read position was not announced: the responder waited forever for the room of frames that had been read.
  test.each([1, 20])('leaves the responder all of its room, after %i more', async (count) => {
    await open();
    for (let i = 1; i < count; i++) await request('x');
    await request('room');
    await responder.ready;
    ending = { ...success, output: 'ready\n' };
  });

  // The request was not counted until its response came: the responder took the next one for one too many.
  test('counts as open if a vm timeout ends it', async () => {
    await open({ capacity: 65536, spinMicros: 100_000 });
    const late = Buffer.alloc(40_000); // two of them exceed the window
    late.write('never');
    const seen = vm.createContext({ ask: () => request(late).catch(() => {}) });
    for (let i = 0; i < 2; i++) {
      expect(String(await request('x'))).toBe('x');
      await nextTurn(); // in a turn that is spent, no request polls
      expect(() => vm.runInContext('ask(); for (;;);', seen, { timeout: 20 })).toThrow('timed out');
    }
    channel.trySend('anything'); // wakes the responder, if it sleeps
    await pause(50);
    expect(channel.state).toBe('open');
    isCounted = false; // behind a request that waits for room in the window, no other is sent
  });

  test('is none of several that are sent to several channels at a time', async () => {
    await open();
    const [one, oneResponder] = [channel, responder];
    await open();
    for (let i = 0; i < 20; i++) {
      const responses = await Promise.all([one.request('1'), request('2')]);
      expect(responses.map(String)).toEqual(['1', '2']);
    }
    expect(quick).not.toHaveBeenCalled();
    await one.close();
    expect(await oneResponder.ended).toEqual(success);
  });
});
