'use strict';
// One side of a measurement between two Node processes: node side.js {"transport": …, "role": "first" | "other", …}.
// The first side starts the other one and prints its measurements as one line of JSON.
const { exchangeOf, transports, tripsPerReadingOf } = require('./transports.js');

/**
 * @typedef {object} Task
 * @property {string} transport
 * @property {'first' | 'other'} role
 * @property {number} sizeBytes
 * @property {number} trips round trips that are timed
 * @property {number} messages in the throughput pass
 * @property {string[]} prefix of the other side's command, for pinning
 */

/** @type {Task} */
const task = JSON.parse(process.argv[2]);
const transport = transports[task.transport];
const exchange = exchangeOf(transport);
const tripsPerReading = tripsPerReadingOf(transport);
const work = { ...task, text: transport.text === true, tripsPerReading };

/** @param {number[]} times nanoseconds @returns {[number, number][]} [nanoseconds, count] */
function distribution(times) {
  const counts = new Map();
  for (const ns of times) counts.set(Math.round(ns), (counts.get(Math.round(ns)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b);
}

async function first() {
  const { prefix, sizeBytes, messages } = task;
  const args = [JSON.stringify({ ...task, role: 'other' })];
  const end = await transport.start({ prefix, script: __filename, args, sizeBytes });
  const { times, streamNs } = await exchange.first(end, work);
  const messagesPerSecond = messages > 0 ? (messages / streamNs) * 1e9 : null;
  const sample = { type: 'sample', tripsPerReading, messagesPerSecond, values: distribution(times) };
  process.stdout.write(`${JSON.stringify(sample)}\n`);
  await end.close();
}

async function other() {
  await exchange.other(await transport.join(task.sizeBytes), work);
}

(task.role === 'first' ? first() : other()).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
