'use strict';
// The cases of the abuse of a server: every call in every state, from every place, with every order of aborting.
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { native } = require('../../../lib/channel/native.js');
const { listen } = /** @type {any} */ (require('../../../lib/index.js'));
const { membersOf } = require('./calls.js');
const { waysOf } = require('./cases.js');
const { CAPACITY, greet, newPath } = require('./peer.js');
const { Outcomes, begin, fail, inTime, isClosed, makeCall } = require('./rule.js');
const { SERVER_CALLS } = require('./server-calls.js');

/**
 * @typedef {object} ServerScene
 * @property {any} server
 * @property {() => void} connect a good client comes
 * @property {() => void} visit a client comes that never says anything
 * @property {() => void} leave all clients end
 */

const ignored = () => {}; // the outcome of the call around the place: checked when that call is made by itself

/** A client that a state or a place has accepted is not the case's: nobody needs it. @param {Promise<any>} accepting */
const dropped = (accepting) => accepting.then((channel) => channel.close(), ignored);

/** @type {Record<string, (scene: ServerScene) => unknown>} */
const STATES = {
  open() {},
  'open with clients': (scene) => [scene.connect(), scene.connect()],
  'open with silent clients': (scene) => [scene.visit(), scene.visit()],
  'open with clients that left': (scene) => [scene.connect(), scene.visit(), scene.leave()],
  'open with accepts that wait': ({ server }) => [dropped(server.accept()), dropped(server.accept())],
  closed: ({ server }) => server.close(),
  'closed with clients': (scene) => [scene.connect(), scene.visit(), scene.server.close()],
  'closed with accepts that waited': ({ server }) => [dropped(server.accept()), server.close()],
};

/** @type {Record<string, (scene: ServerScene, inside: () => void) => void>} */
const PLACES = {
  outside: (_, inside) => inside(),
  'when a client is accepted'({ server, connect }, inside) {
    dropped(
      server.accept().then((/** @type {any} */ channel) => {
        inside();
        return channel;
      }),
    );
    connect();
  },
  'in a loop over the clients'({ server, connect }, inside) {
    const loop = async () => {
      for await (const channel of server) {
        inside();
        await channel.close();
        break;
      }
    };
    loop().catch(ignored);
    connect();
  },
  'in an abort listener of an accept'({ server }, inside) {
    const controller = new AbortController();
    controller.signal.addEventListener('abort', inside);
    dropped(server.accept({ signal: controller.signal }));
    controller.abort();
  },
  'when an accept fails because of close()'({ server }, inside) {
    server.accept().catch(inside);
    server.close();
  },
};

/** @param {{prototype: any}} type */
function allServerCases(type) {
  const members = membersOf(type).filter((member) => SERVER_CALLS.has(member));
  return Object.keys(PLACES).flatMap((place) =>
    Object.keys(STATES).flatMap((state) =>
      members.flatMap((member) => {
        const call = /** @type {import('./calls.js').Call} */ (SERVER_CALLS.get(member));
        return waysOf(call).map(({ how, ...way }) => {
          const name = `server ${String(member)}, ${how}, ${place}, ${state}`;
          return { name, place, state, member, call, ...way };
        });
      }),
    ),
  );
}

/** @param {ReturnType<typeof allServerCases>[number]} c */
async function runServerCase(c) {
  begin(c.name);
  const server = await listen(newPath(), { capacity: CAPACITY });
  /** @type {number[]} */
  const fds = [];
  /** @type {(() => void)[]} */
  const releases = [];
  const visit = () => {
    if (server.closed) return -1;
    fds.push(native.connect(server.path));
    return Number(fds.at(-1));
  };
  const scene = {
    server,
    visit,
    connect() {
      const fd = visit();
      if (fd >= 0) releases.push(greet(fd).release);
    },
    leave() {
      for (const fd of fds.splice(0)) native.closeFd(fd);
    },
  };
  const outcomes = new Outcomes({ closed: false, junk: c.junk === true }, ignored);
  const inside = new Promise((resolve) => {
    let entered = false;
    PLACES[c.place](scene, () => {
      if (entered) return;
      entered = true;
      STATES[c.state](scene);
      makeCall(c, server, outcomes);
      resolve(undefined);
    });
  });
  await inTime(inside, 'the callback'); // it has not been called
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  await pause(1);
  await inTime(server.close(), 'close()');
  await outcomes.settled();
  if (!isClosed(server)) fail('the server is not closed after close()');
  scene.leave();
  for (const release of releases) release();
  await nextTurn(); // for unhandled rejections
}

module.exports = { SERVER_CALLS, allServerCases, runServerCase };
