'use strict';
// The requests of a walk: twelve kinds, which the handler of the other end answers in twelve ways, and the check of each response.
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { bodyOf } = require('./messages.js');
const { ABORTED } = require('./end.js');

/** @typedef {InstanceType<typeof import('./end.js').End>} End */
/** @typedef {InstanceType<typeof import('./random.js').Choices>} Choices */

const NUMBER_AT = 0;
const RESPONSE_BYTES_AT = 4; // of the kind 'large'
const KIND_AT = 8;
const DEPTH_AT = 9; // how deep handlers may nest requests
const DELAY_AT = 10;
const ANSWERED_AT = 11; // 1 in a response that repeats the request
const HEADER_BYTES = 12;
const SMALL_BYTES = 80; // so small that all requests that are open at a time fit in the smallest ring
const RESPONSE_MARGIN_BYTES = 40;

class HandlerError extends TypeError {
  code = 'ERR_OF_THE_HANDLER';

  /** @param {Buffer} request */
  constructor(request) {
    super(`thrown for ${request.readUInt32LE(NUMBER_AT)}`);
    this.name = 'HandlerError';
  }
}

/** @param {Buffer} request @returns {Buffer} */
function repeat(request) {
  const response = Buffer.from(request);
  response[ANSWERED_AT] = 1;
  return response;
}

/** @param {Buffer} request */
const largeResponse = (request) =>
  bodyOf(request.readUInt32LE(RESPONSE_BYTES_AT), request.readUInt32LE(NUMBER_AT), request.length);

/** @param {Buffer} request */
const textResponse = (request) => `${request.readUInt32LE(NUMBER_AT)} had ${request.length} bytes`;

/** Answers after a request of its own. @param {End | undefined} end @param {Buffer} request */
async function askAndRepeat(end, request) {
  const depth = request[DEPTH_AT];
  if (end && depth > 0) await ask(end, end.random, depth - 1);
  return repeat(request);
}

/** What the handler returns for each kind. @type {Record<string, (request: Buffer, end: End) => any>} */
const HANDLERS = {
  repeated: (request) => repeat(request),
  async 'after microtasks'(request) {
    await null;
    await null;
    return repeat(request);
  },
  'after a time': (request) => pause(request[DELAY_AT] % 5).then(() => repeat(request)),
  'after a turn': (request) => nextTurn().then(() => repeat(request)),
  'after a request back': (request, end) => (request[DEPTH_AT] > 0 ? askAndRepeat(end, request) : repeat(request)),
  'after a request elsewhere': (request, end) => {
    const others = end.sendingEnds.filter((/** @type {End} */ other) => other.plan.nests);
    return askAndRepeat(others.length > 0 ? end.random.pick(others) : undefined, request);
  },
  refused(request) {
    throw new HandlerError(request);
  },
  'refused later': (request) => Promise.reject(new HandlerError(request)),
  'after messages'(request, end) {
    if (!end.hasSentLast) {
      end.trySend(end.random);
      if (end.random.chance(0.3)) end.send(end.random);
    }
    return repeat(request);
  },
  large: (request) => largeResponse(request),
  text: (request) => textResponse(request),
  'as a thenable': (request) => ({
    /** @param {(response: Buffer) => void} resolve */
    // biome-ignore lint/suspicious/noThenProperty: a handler may return one
    then(resolve) {
      resolve(repeat(request));
    },
  }),
};
const KINDS = Object.keys(HANDLERS);
const REFUSED = ['refused', 'refused later'];

/** @param {End} end @returns {(request: Buffer) => any} */
const handlerOf = (end) => (bytes) => {
  const request = Buffer.from(bytes);
  return HANDLERS[KINDS[request[KIND_AT]]](request, end);
};

/** @param {Buffer} request @param {string} kind */
function expectedResponse(request, kind) {
  if (kind === 'large') return largeResponse(request);
  return kind === 'text' ? Buffer.from(textResponse(request)) : repeat(request);
}

let asked = 0;

/** @param {End} end @param {Choices} random @param {number} depth @returns {Buffer} */
function drawRequest(end, random, depth) {
  const isSmall = end.plan.nests || random.chance(0.8);
  const most = end.mostBytesBothWays;
  const size = isSmall
    ? random.between(HEADER_BYTES, SMALL_BYTES)
    : Math.max(HEADER_BYTES, Math.min(end.drawSize(random), most - 4));
  const number = asked++;
  const request = bodyOf(size, end.stream, number);
  request.writeUInt32LE(number, NUMBER_AT);
  request.writeUInt32LE(
    random.between(12, random.chance(0.9) ? 2000 : most - RESPONSE_MARGIN_BYTES),
    RESPONSE_BYTES_AT,
  );
  request[KIND_AT] = random.below(KINDS.length);
  request[DEPTH_AT] = end.plan.nests ? depth : 0;
  request[DELAY_AT] = random.below(256);
  request[ANSWERED_AT] = 0;
  return request;
}

/** Checks why a request failed. @param {End} end @param {Buffer} request @param {any} error @param {{signal?: AbortSignal, timeout?: number}} options */
function checkError(end, request, error, { signal, timeout }) {
  const kind = KINDS[request[KIND_AT]];
  if (signal && error === ABORTED) return;
  if (timeout !== undefined && error?.code === 'ERR_TIMEOUT') return;
  const isRefused = error?.code === 'ERR_REQUEST_FAILED';
  if (isRefused && end.plan.togglesHandler && /no request handler/.test(error.message)) return;
  if (!isRefused || !REFUSED.includes(kind)) end.failWith(`the request "${kind}"`, error);
  const { message, code, name } = new HandlerError(request);
  if (error.message !== message) end.failWith(`the request "${kind}" must fail with "${message}"`, error);
  if (error.cause?.name !== name || error.cause?.code !== code)
    end.failWith(`the request "${kind}", cause`, error.cause);
  end.checked.responses++;
}

/**
 * Sends a request and checks its response. Does nothing once the last message of this end was sent.
 * @param {End} end @param {Choices} random @param {number} depth how deep handlers may nest requests
 * @param {{signal?: AbortSignal, timeout?: number}} [options]
 */
async function ask(end, random, depth, options) {
  if (end.hasSentLast) return;
  const request = drawRequest(end, random, depth);
  const kind = KINDS[request[KIND_AT]];
  end.asking++;
  try {
    const response = await end.track(end.channel.request(request, options), `request "${kind}"`);
    const expected = expectedResponse(request, kind);
    if (REFUSED.includes(kind)) end.fail(`the request "${kind}" has a response of ${response.length} bytes`);
    if (!response.equals(expected)) {
      const got = `${response.length} bytes, ${response.toString('hex', 0, 16)}`;
      end.fail(
        `the request "${kind}" of ${request.length} bytes has the wrong response: ${got}; expected ${expected.length} bytes, ${expected.toString('hex', 0, 16)}`,
      );
    }
    end.checked.responses++;
  } catch (error) {
    checkError(end, request, error, options ?? {});
  } finally {
    end.asking--;
  }
}

module.exports = { ask, handlerOf };
