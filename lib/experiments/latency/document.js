'use strict';
// The table of document 004, whose median documents 000 and 004 give: round trips of 32 bytes, 1,000,000 of them.

const DOCUMENT = {
  number: '004',
  machine: 'Intel i7-12650H, DDR5-5600, Linux 6.19.11',
  conditions: 'cores 8 and 9 pinned, SCHED_FIFO priority 99, mlockall, no isolcpus',
  sizeBytes: 32,
  samples: 1_000_000,
  ns: { min: 51.3, p50: 56.5, p90: 101.2, p99: 112.4, 'p99.9': 122, 'p99.99': 467.3, max: 4938 },
  oneWayEstimateNs: 28.3,
  roundTripsPerSecond: 13_229_000,
  clockOverheadNs: 0.37,
};

module.exports = { DOCUMENT };
