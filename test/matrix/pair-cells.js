'use strict';
// One row: one runtime listens and another connects. They exchange messages and requests; then each in turn is killed, and the
// other must notice.
const { join } = require('node:path');
const { waitForOutput } = require('./runtime-cells.js');

/** @typedef {import('./sandbox.js').Sandbox} Sandbox */

const COLUMNS = /** @type {const} */ (['messages', 'requests', 'listener notices', 'connector notices']);

/**
 * @param {import('./table.js').Row} row
 * @param {Sandbox} listening @param {Sandbox} connecting
 */
async function fillPair(row, listening, connecting) {
  const socket = join(listening.home, `to-${connecting.runtime.name.replaceAll(' ', '-')}.sock`);
  const slower = listening.runtime.patience > connecting.runtime.patience ? listening : connecting;
  /** @type {ReturnType<Sandbox['start']>[]} */
  const started = [];
  const start = (/** @type {Sandbox} */ sandbox, /** @type {string} */ role) => {
    const process = sandbox.start(sandbox.program('peer.mjs', role, socket));
    started.push(process);
    return process;
  };
  const printed = (/** @type {(typeof started)[0]} */ process, /** @type {string} */ text, /** @type {string} */ who) =>
    waitForOutput(slower, process, text, `the ${who}`);

  try {
    const listener = start(listening, 'listen');
    const connector = start(connecting, 'connect');
    const exchanged = async () => {
      await printed(listener, 'listening\n', 'listener');
      await printed(connector, 'messages\n', 'connector');
    };
    if (!(await row.cell('messages', exchanged))) return;
    const asked = async () => {
      await printed(connector, 'request\n', 'connector');
      await printed(listener, 'request\n', 'listener');
    };
    if (!(await row.cell('requests', asked))) return;
    connector.stop();
    if (!(await row.cell('listener notices', () => printed(listener, 'ended: peer-died\n', 'listener')))) return;
    const second = start(connecting, 'connect');
    await row.cell('connector notices', async () => {
      await printed(second, 'request\n', 'second connector');
      listener.stop();
      await printed(second, 'ended: peer-died\n', 'second connector');
    });
  } finally {
    for (const { stop } of started) stop();
    await Promise.all(started.map(({ closed }) => closed.catch(() => {})));
  }
}

module.exports = { COLUMNS, fillPair };
