'use strict';
// What a request that polls for its response (quick-requests.js) may find, and when it must not poll. The peer acts in this
// thread, at the moment of the first look.
const { KIND } = require('../../lib/channel/layout.js');
const lookout = require('../../lib/channel/lookout.js');
const { Pacer } = require('../../lib/channel/pacer.js');
const { Requests } = require('../../lib/channel/requests.js');
const turn = require('../../lib/channel/turn.js');
const { closedByHook, rawPeer } = require('./raw-peer.js');
const { errorWith, pause } = require('./support.js');

/** @type {jest.SpyInstance} */ let quick;
/** @type {jest.SpyInstance} */ let take;
/** @type {jest.SpyInstance} */ let mayLook;
/** @type {Awaited<ReturnType<typeof rawPeer>>} */ let peer;
/** @type {any} */ let a;

/** @param {number} kind @param {number} number @param {string} text */
const send = (kind, number, text) => peer.send(kind, number, Buffer.from(text));

/** Respond to the request that is in the ring. @param {string} text */
const respond = (text) => send(KIND.RESPONSE, peer.read(), text);

/** A request whose peer does something at the first look. @param {() => void} then @param {string} [text] */
function request(then, text = 'x') {
  const look = jest.spyOn(Pacer.prototype, 'look');
  look.mockImplementationOnce((end) => {
    then();
    return end.isReady();
  });
  const response = a.request(text).then(String);
  look.mockRestore();
  return response;
}

/** An ordinary request, whose response comes later. After it, the next may poll. */
async function alone() {
  const response = a.request('alone');
  await pause(1);
  respond('late');
  expect(String(await response)).toBe('late');
  quick.mockClear();
}

/** Opens the channel. @param {object} [options] */
async function open(options = {}) {
  peer = await rawPeer({ wait: 'spin-then-sleep', ...options });
  a = peer.a;
  mayLook = jest.spyOn(Pacer.prototype, 'mayLook', 'get').mockReturnValue(true);
  take = jest.spyOn(turn, 'take').mockReturnValue(true);
  quick = jest.spyOn(Requests.prototype, 'beginQuick');
  await alone();
}

afterEach(async () => {
  jest.restoreAllMocks();
  await peer.close();
});

describe('finds', () => {
  beforeEach(() => open());
  afterEach(() => expect(quick).toHaveBeenCalledTimes(1));

  /** Read the request, send something first, then the response. @param {(number: number) => void} first */
  const before = (first) =>
    request(() => {
      const number = peer.read();
      first(number);
      send(KIND.RESPONSE, number, 'response');
    });

  test.each([
    ['its response', () => {}],
    ['a response that no request awaits', (/** @type {number} */ number) => send(KIND.RESPONSE, number + 77, 'other')],
    ['a refusal that no request awaits', (/** @type {number} */ number) => send(KIND.REFUSAL, number - 1, 'other')],
  ])('%s', async (_what, first) => {
    expect(await before(first)).toBe('response');
    expect(a.tryReceive()).toBe(null);
  });

  test('a message', async () => {
    expect(await before(() => send(KIND.MESSAGE, 0, 'message'))).toBe('response');
    expect(String(a.tryReceive())).toBe('message');
  });

  test('a request of the peer', async () => {
    expect(await before(() => send(KIND.REQUEST, 5, 'yours'))).toBe('response');
    a.onRequest(() => 'mine');
    await pause(1);
    expect(peer.read()).toBe(5); // the number of the response
  });

  test('its refusal', async () => {
    const refused = request(() => send(KIND.REFUSAL, peer.read(), 'no'));
    await expect(refused).rejects.toEqual(errorWith('ERR_REQUEST_FAILED'));
  });

  test('nothing, and awaits the response like any other', async () => {
    const response = request(() => {});
    await pause(1);
    respond('later');
    expect(await response).toBe('later');
  });

  test('two responses, and ignores the second', async () => {
    const response = request(() => {
      const number = peer.read();
      for (const text of ['first', 'second']) send(KIND.RESPONSE, number, text);
    });
    expect(await response).toBe('first');
    send(KIND.MESSAGE, 0, 'next');
    expect(String(a.tryReceive())).toBe('next');
  });

  test('an invalid frame', async () => {
    const failed = request(() => peer.sendInvalid());
    await expect(failed).rejects.toEqual(errorWith('ERR_PEER_CORRUPT'));
    expect(a.state).toBe('peer-corrupt');
  });
});

describe('does not poll', () => {
  beforeEach(() => open());
  afterEach(() => expect(quick).not.toHaveBeenCalled());

  /** An ordinary request: the response comes after the call has returned. */
  async function ask() {
    const response = request(() => {});
    await pause(1);
    respond('response');
    expect(await response).toBe('response');
  }

  test('while a receive is pending', async () => {
    const received = a.receive();
    await ask();
    send(KIND.MESSAGE, 0, 'message');
    expect(String(await received)).toBe('message');
  });

  test('behind a message that is not read yet', async () => {
    send(KIND.MESSAGE, 0, 'message');
    await ask();
    expect(String(a.tryReceive())).toBe('message');
  });

  test.each([
    ['from the ring', async () => {}],
    ['that a request has set aside', alone],
  ])('in the callback of tryRead() for a message %s', async (_where, setAside) => {
    send(KIND.MESSAGE, 0, 'message');
    await setAside();
    /** @type {Promise<void> | undefined} */ let asked;
    expect(
      a.tryRead(() => {
        asked = ask();
      }),
    ).toBe(true);
    await asked;
  });

  test('while messages are held back', async () => {
    a.cork();
    const response = request(() => {});
    expect(peer.read()).toBe(-1);
    a.uncork();
    respond('response');
    expect(await response).toBe('response');
  });

  test('while the peer has to be woken for the room that was made', async () => {
    send(KIND.MESSAGE, 0, 'message');
    a.tryReceive(); // makes room, which is not announced yet
    peer.claimToWaitForRoom();
    const { doorbellsRung } = a.stats();
    await ask();
    expect(a.stats().doorbellsRung).toBe(doorbellsRung + 1);
  });

  test('if encode() has closed the channel', async () => {
    await peer.close();
    await open({
      encode: (/** @type {string} */ text) => {
        if (text === 'close') a.close();
        return Buffer.from(text);
      },
    });
    await expect(a.request('close')).rejects.toEqual(errorWith('ERR_CLOSED'));
  });

  test('while a call on another channel waits', async () => {
    const isEmpty = jest.spyOn(lookout, 'isEmpty').mockReturnValue(false);
    const asked = ask();
    isEmpty.mockRestore();
    await asked;
  });

  test('if polling has not paid recently', async () => {
    mayLook.mockReturnValue(false);
    await ask();
  });

  test('when the time of the turn is spent', async () => {
    take.mockReturnValueOnce(false);
    await ask();
  });
});

test('after a number of requests that poll, one has to be alone again', async () => {
  await open();
  for (let i = 0; i < 20; i++) {
    const response = request(() => respond('response'));
    if (quick.mock.calls.length === i) break;
    await response;
  }
  expect(quick).toHaveBeenCalledTimes(16);
  await pause(1);
  respond('late');
  await pause(1);
  await request(() => respond('response'));
  expect(quick).toHaveBeenCalledTimes(17);
});

test('after a request whose call was ended while it polled, none polls until its response has come', async () => {
  await open();
  const ended = request(() => {
    throw new Error('ended');
  });
  await expect(ended).rejects.toThrow('ended');
  const number = peer.read();
  await alone();
  for (const calls of [0, 1]) {
    const response = request(() => respond('response'));
    await pause(1);
    if (calls === 0) respond('response');
    expect(await response).toBe('response');
    expect(quick).toHaveBeenCalledTimes(calls);
    send(KIND.RESPONSE, number, 'too late');
    expect(a.tryReceive()).toBe(null);
    await pause(1); // it is dropped in a microtask
  }
});

test('a request that finds no room does not count as open', async () => {
  await open();
  let sent = 0;
  while (a.trySend('m'.repeat(1000))) sent++;
  const response = a.request('x'.repeat(2000));
  expect(quick).toHaveBeenCalledTimes(1);
  await pause(1);
  for (let i = 0; i < sent; i++) peer.read(); // makes room
  await pause(1);
  respond('response');
  expect(String(await response)).toBe('response');
  await alone();
  await request(() => respond('response'));
  expect(quick).toHaveBeenCalledTimes(1);
});

test('a request is rejected if a hook closes the channel while its promise is made', async () => {
  await open();
  await expect(closedByHook(a, () => a.request('x'))).rejects.toEqual(errorWith('ERR_CLOSED'));
  expect(quick).toHaveBeenCalledTimes(1);
});
