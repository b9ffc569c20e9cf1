'use strict';
// The table of document 002 and the rows of ours. The document measured 64-byte messages, median of the round trip.

const DOCUMENT = {
  number: '002',
  machine: 'Intel i7-13700K, 5.4 GHz boost',
  sizeBytes: 64,
  boostGHz: 5.4,
  privilegeTransitionCycles: 1000, // "crossing from Ring 3 to Ring 0 and back"
};

/**
 * A row: a mechanism of crossings-bench, or something measured beside them.
 * @typedef {{name: string, kind: 'call' | 'floor' | 'mechanism', title: string, document: {cycles: number, name: string} | null}} RowPlan
 */

/** @type {RowPlan[]} */
const ROWS = [
  {
    name: 'function-call',
    kind: 'call',
    title: 'Function call',
    document: { cycles: 12, name: 'Direct function call (same process)' },
  },
  { name: 'cache-line', kind: 'floor', title: 'Cache line, there and back', document: null },
  { name: 'syscall', kind: 'floor', title: 'Cheapest system call', document: null },
  {
    name: 'ring',
    kind: 'mechanism',
    title: 'Ring in shared memory',
    document: { cycles: 150, name: 'KeuOS SPSC (data plane only)' },
  },
  {
    name: 'ring-auth',
    kind: 'mechanism',
    title: 'Ring, authenticated frames',
    document: { cycles: 175, name: 'KeuOS with proof verification' },
  },
  {
    name: 'pipe',
    kind: 'mechanism',
    title: 'Pipe',
    document: { cycles: 610, name: 'Linux pipe (2 processes)' },
  },
  {
    name: 'eventfd-signalfd',
    kind: 'mechanism',
    title: 'eventfd and signalfd',
    document: { cycles: 1040, name: 'Linux eventfd + signalfd' },
  },
  {
    name: 'dgram',
    kind: 'mechanism',
    title: 'Unix datagram socket',
    document: { cycles: 1280, name: 'Linux AF_UNIX SOCK_DGRAM' },
  },
  { name: 'uds', kind: 'mechanism', title: 'Unix stream socket', document: null },
  { name: 'tcp', kind: 'mechanism', title: 'TCP over loopback', document: null },
  { name: 'futex', kind: 'mechanism', title: 'Futex wake', document: null },
];

module.exports = { DOCUMENT, ROWS };
