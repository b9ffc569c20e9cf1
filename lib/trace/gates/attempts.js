'use strict';
// What each attempt of crossings-gates means: the three gates of document 002, and the attempts by the names that the program
// prints (c-bench/gates/).

/** @typedef {{name: 'mmu' | 'alignment' | 'tag', title: string, refusedBy: string, claim: string, here: string}} Gate */

/** @type {Gate[]} */
const GATES = [
  {
    name: 'mmu',
    title: 'MMU gate',
    refusedBy: 'the kernel',
    claim: 'The page tables decide what a process can touch; no bug in the sender or the receiver changes that.',
    here: 'Each process seals its memory before it shares it. From then on, the kernel lets no other process write to it.',
  },
  {
    name: 'alignment',
    title: 'Alignment gate',
    refusedBy: 'the ring',
    claim: 'Positions are aligned and kept apart from the data, so a sender cannot break the ring’s invariants.',
    here: 'The reader computes every position itself. It reads its peer’s values (a read position, a size) once and checks them.',
  },
  {
    name: 'tag',
    title: 'Tag gate',
    refusedBy: 'the ring',
    claim: 'Each descriptor carries a SipHash-2-4 tag, computed with the key of its channel.',
    here: 'With the option authenticate, each frame carries one. The reader checks its own copy of the frame.',
  },
];

/** What is tried, as a phrase. The control is the same where nothing forbids it. @type {Record<string, string>} */
const TITLES = {
  'accept-unsealed': 'Pass memory without seals to the peer',
  mmap: 'Map the peer’s memory for writing',
  mprotect: 'Make the read-only mapping writable',
  store: 'Store a byte in the mapping',
  pwrite: 'Write through the descriptor',
  'reopen-pwrite': 'Open the memory again and write',
  'reopen-mmap': 'Open the memory again and map it for writing',
  read: 'Let the kernel read a file into the mapping',
  'proc-mem': 'Write to the mapping through /proc/self/mem',
  'punch-hole': 'Punch a hole in place of a page',
  grow: 'Make the memory larger',
  shrink: 'Truncate the memory under its owner',
  'add-seals': 'Add a seal to the peer’s memory',
  'unaligned-position': 'Report a read position that is not a multiple of 8',
  'position-ahead': 'Report having read more than was written',
  'position-behind': 'Move the read position backward',
  'frame-too-large': 'Publish a frame that is larger than the ring',
  'payload-changed': 'Flip a bit of the payload',
  'tag-changed': 'Flip a bit of the tag',
  'kind-changed': 'Flip a bit of the header',
  replayed: 'Replay a frame that was read before',
};

module.exports = { GATES, TITLES };
