'use strict';
// The places that a call can be made from: outside any callback, and inside each kind of callback that a channel has.

/**
 * @typedef {object} Scene
 * @property {any} channel
 * @property {any} peer
 * @property {{encode?: Function, decode?: Function}} hooks called by the options encode and decode
 * @property {(text: string) => void} delivered notes a message that was delivered
 *
 * @typedef {object} Place
 * @property {string} name
 * @property {boolean} [coded] does the channel need the options encode and decode?
 * @property {boolean} [accepted] does the channel come from a server?
 * @property {boolean} [own] is it the user's own code, so that what it throws never reaches the channel?
 * @property {(scene: Scene, inside: () => void) => void} enter arranges that `inside` is called from that place, soon
 */

const ignored = () => {}; // the outcome of the call around the place: checked when that call is made by itself

/** Runs a call that may throw because of what happens inside it. @param {() => any} call */
function attempt(call) {
  try {
    call()?.catch?.(ignored);
  } catch {
    ignored();
  }
}

/** Calls `inside` once, however often the returned function is called. @param {() => void} inside */
function once(inside) {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    inside();
  };
}

/** @type {Place[]} */
const PLACES = [
  { name: 'outside', own: true, enter: (_, inside) => inside() },
  { name: 'when a server has accepted', own: true, accepted: true, enter: (_, inside) => inside() },
  {
    name: 'in an onRequest handler',
    enter({ channel, peer }, inside) {
      channel.onRequest(() => {
        inside();
        return 'response';
      });
      peer.request(7);
    },
  },
  {
    name: 'in the then() of what a handler returns',
    enter({ channel, peer }, inside) {
      channel.onRequest(() => ({
        // biome-ignore lint/suspicious/noThenProperty: a handler may return any thenable
        then(/** @type {(value: string) => void} */ resolve) {
          inside();
          resolve('response');
        },
      }));
      peer.request(8);
    },
  },
  {
    name: 'in a tryRead callback',
    enter({ channel, peer, delivered }, inside) {
      peer.send(2);
      attempt(() =>
        channel.tryRead((/** @type {any} */ cursor) => {
          delivered(cursor.toString());
          inside();
          attempt(() => cursor.toString()); // the memory may be gone
        }),
      );
    },
  },
  {
    name: 'in decode, during tryReceive',
    coded: true,
    enter(scene, inside) {
      scene.hooks.decode = once(inside);
      scene.peer.send(2);
      attempt(() => scene.delivered(String(scene.channel.tryReceive())));
    },
  },
  {
    name: 'in decode, during receive',
    coded: true,
    enter(scene, inside) {
      scene.hooks.decode = once(inside);
      scene.channel.receive().then((/** @type {Buffer} */ message) => scene.delivered(String(message)), ignored);
      scene.peer.send(2);
    },
  },
  {
    name: 'in decode, during batches',
    coded: true,
    enter(scene, inside) {
      scene.hooks.decode = once(inside);
      scene.peer.send(3);
      const next = scene.channel.batches().next();
      next.then((/** @type {any} */ { value }) => {
        for (const each of value ?? []) scene.delivered(String(each));
      }, ignored);
    },
  },
  {
    name: 'in decode of a response',
    coded: true,
    enter(scene, inside) {
      scene.hooks.decode = once(inside);
      attempt(() => scene.channel.request('question'));
      setImmediate(() => scene.peer.serve());
    },
  },
  {
    name: 'in encode, during trySend',
    coded: true,
    enter(scene, inside) {
      scene.hooks.encode = once(inside);
      attempt(() => scene.channel.trySend('encoded'));
    },
  },
  {
    name: 'in encode, during send',
    coded: true,
    enter(scene, inside) {
      scene.hooks.encode = once(inside);
      attempt(() => scene.channel.send('encoded'));
    },
  },
  {
    name: 'in encode of a response',
    coded: true,
    enter(scene, inside) {
      scene.hooks.encode = once(inside);
      scene.channel.onRequest(() => 'response');
      scene.peer.request(9);
    },
  },
  {
    name: 'in a getter of the options',
    enter({ channel }, inside) {
      const getter = once(inside);
      const options = {
        get signal() {
          getter();
          return undefined;
        },
      };
      attempt(() => channel.receive(options));
    },
  },
  {
    name: "in an abort listener of a receive's signal",
    enter({ channel }, inside) {
      const controller = new AbortController();
      controller.signal.addEventListener('abort', inside);
      attempt(() => channel.receive({ signal: controller.signal }));
      controller.abort();
    },
  },
  {
    name: "in an abort listener of a request's signal, added after it",
    enter({ channel }, inside) {
      const controller = new AbortController();
      attempt(() => channel.request('question', { signal: controller.signal }));
      controller.signal.addEventListener('abort', inside);
      controller.abort();
    },
  },
  {
    name: 'in the data listener of a stream',
    enter({ channel, peer, delivered }, inside) {
      const stream = channel.toDuplex({ objectMode: true });
      const listener = once(inside);
      stream.on('error', ignored);
      stream.on('data', (/** @type {any} */ message) => {
        delivered(String(message));
        listener();
      });
      peer.send(1);
    },
  },
  {
    name: 'after a web stream has read',
    own: true,
    enter({ channel, peer, delivered }, inside) {
      const reader = channel.toWebStreams().readable.getReader();
      reader.read().then((/** @type {any} */ { value }) => {
        delivered(String(value));
        inside();
      }, inside);
      peer.send(1);
    },
  },
  {
    name: 'when a receive is fulfilled',
    own: true,
    enter({ channel, peer, delivered }, inside) {
      channel.receive().then((/** @type {Buffer} */ message) => {
        delivered(String(message));
        inside();
      }, inside);
      peer.send(1);
    },
  },
  {
    name: 'when a send that waited is fulfilled',
    own: true,
    enter({ channel, peer }, inside) {
      while (channel.trySend(Buffer.alloc(5000)));
      channel.send(Buffer.alloc(60_000)).then(inside, inside);
      setImmediate(() => peer.serve());
    },
  },
  {
    name: 'in a loop over the messages',
    own: true,
    enter({ channel, peer, delivered }, inside) {
      const loop = async () => {
        for await (const message of channel) {
          delivered(String(message));
          inside();
          break;
        }
      };
      loop().catch(ignored);
      peer.send(1);
    },
  },
];

module.exports = { PLACES };
