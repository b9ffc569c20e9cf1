'use strict';
// What the table in cycles says, in sentences, and whether the document's table holds on this machine.
const { compareMedians, median, medianInterval } = require('../../measure/statistics.js');
const { crossingCount, significant } = require('../../terminal/numbers.js');
const { DOCUMENT } = require('./document.js');

/** @typedef {import('./run.js').Row} Row */
/** @typedef {{source: 'tsc' | 'stated' | null, GHz: number | null, coreGHz: number | null}} Cycle */
/** @typedef {{rows: Row[], cycle: Cycle, missing: string[], sizeBytes: number, pinnedCores: number[] | null, clock: any}} Measured */

const RING_CYCLES = 150; // the document's
const PIPE_CYCLES = 610;
const AUTH_CYCLES = 25;
const MIN_SAMPLES = 6; // with fewer, a median has no 95 % confidence interval

/** @param {Row[]} rows @param {string} name */
const find = (rows, name) => rows.find((row) => row.name === name);

/** "1,234 cycles (537 ns)", or only the time. @param {{cycles: number | null, ns: number}} figure */
function amount({ cycles, ns }) {
  return cycles === null ? `${significant(ns)} ns` : `${significant(cycles)} cycles (${significant(ns)} ns)`;
}

/** @param {import('../figure.js').Figure | null} figure @param {string} unit */
function rangeOf(figure, unit) {
  if (!figure || figure.low === null || figure.high === null) return '';
  return `, with a 95 % interval of ${significant(figure.low)} to ${significant(figure.high)} ${unit}`;
}

/** @param {Measured} measured */
function explainCycle({ cycle: { source, GHz, coreGHz } }) {
  const core =
    coreGHz === null
      ? ''
      : `The core itself ran at ${significant(coreGHz)} GHz during the run (measured with a chain of additions)`;
  if (source === 'tsc') {
    const own =
      coreGHz === null || GHz === null ? '' : ` ${core}, so one tick is ${significant(coreGHz / GHz)} core cycles.`;
    return (
      `A cycle here is a tick of the time-stamp counter, which runs at ${significant(GHz, 4)} GHz regardless of the core's ` +
      `speed.${own}`
    );
  }
  const own = core ? ` ${core}.` : '';
  if (source === 'stated') {
    return (
      'This machine has no steady time-stamp counter, so times are converted to cycles at the frequency that the system ' +
      `reports, ${significant(GHz)} GHz.${own}`
    );
  }
  return `This machine has no steady time-stamp counter and reports no frequency, so there are times but no cycles.${own}`;
}

/** @param {Measured} measured */
function explainDocument({ sizeBytes }) {
  const ns = significant(RING_CYCLES / DOCUMENT.boostGHz);
  const other =
    sizeBytes === DOCUMENT.sizeBytes
      ? ''
      : ` It measured messages of ${DOCUMENT.sizeBytes} bytes; with ${sizeBytes}, this run cannot decide whether its table holds.`;
  return (
    `The document measured on another machine (${DOCUMENT.machine}) and does not say which cycles it counted. ` +
    `At ${DOCUMENT.boostGHz} GHz, its ${RING_CYCLES} cycles are ${ns} ns.${other}`
  );
}

/** @param {Measured} measured */
function explainRing({ rows, clock, cycle }) {
  const ring = find(rows, 'ring');
  if (!ring) return null;
  const times = ring.overCall
    ? ` That is ${significant(ring.overCall.median)} times a function call; in the document it is ${significant(ring.document?.overCall)} times.`
    : '';
  const reading = { ns: clock.overheadNs, cycles: cycle.GHz === null ? null : clock.overheadNs * cycle.GHz };
  return (
    `The ring's round trip takes ${amount(ring)}${rangeOf(ring.interval ?? ring.intervalNs, ring.interval ? 'cycles' : 'ns')}.` +
    `${times} Each round trip includes one clock reading of ${amount(reading)}; the function call, timed in batches, does not.`
  );
}

/** Can the document's ring be true between two cores? @param {Measured} measured */
function explainFloor({ rows, pinnedCores }) {
  const line = find(rows, 'cache-line');
  if (!line)
    return 'Both processes share one core here, so the cache-line floor between two cores could not be measured.';
  const where = pinnedCores ? 'these two cores' : 'two cores';
  const bound = `A bare cache line takes ${amount(line)} from one of ${where} to the other and back`;
  if (line.cycles === null) return `${bound}. No exchange between them can be faster.`;
  if (line.cycles > RING_CYCLES) {
    return (
      `${bound}, and no exchange between them can be faster. The document's ${RING_CYCLES} cycles are ` +
      `${significant((RING_CYCLES / line.cycles) * 100, 2)} % of this floor, so they cannot be right on this machine. They would need ` +
      'two cores that are closer, two hardware threads of one core, or a loop that does not wait for the other process; the ' +
      'document does not show its loop.'
    );
  }
  return `${bound}, which leaves room for the document's ${RING_CYCLES} cycles.`;
}

/** @param {Measured} measured */
function explainPipe({ rows }) {
  const pipe = find(rows, 'pipe');
  const syscall = find(rows, 'syscall');
  if (!pipe || !syscall || pipe.crossings === null) return null;
  const calls = crossingCount(pipe.crossings);
  const least = { ns: syscall.ns * pipe.crossings, cycles: syscall.cycles && syscall.cycles * pipe.crossings };
  const over =
    pipe.cycles === null ? '' : `, ${significant(pipe.cycles / PIPE_CYCLES)} times the document's ${PIPE_CYCLES}`;
  const compared =
    least.cycles === null || least.cycles <= PIPE_CYCLES
      ? ''
      : `, more than the document's ${PIPE_CYCLES} cycles for the whole round trip`;
  return (
    `A pipe's round trip takes ${amount(pipe)}${over}. It makes ${calls} system calls. As many of the cheapest system call ` +
    `take ${amount(least)} here${compared}. The document itself puts one crossing with its context switch at about ` +
    `${significant(DOCUMENT.privilegeTransitionCycles, 4)} cycles, so its figure for the pipe contradicts its own text.`
  );
}

/** @param {Measured} measured */
function explainAuthentication({ rows, cycle }) {
  const ring = find(rows, 'ring');
  const auth = find(rows, 'ring-auth');
  if (!ring || !auth) return null;
  const pairs = auth.samplesNs.map((ns, round) => (ns - ring.samplesNs[round]) * (cycle.GHz ?? 1));
  const unit = cycle.GHz === null ? 'ns' : 'cycles';
  const interval = medianInterval(pairs);
  if (interval && interval[0] <= 0 && interval[1] >= 0) {
    return `Authenticating the frames makes no detectable difference to the ring's round trip. In the document it adds ${AUTH_CYCLES} cycles.`;
  }
  const range = interval ? ` (${significant(interval[0])} to ${significant(interval[1])})` : '';
  return (
    `Authenticating the frames adds ${significant(median(pairs))} ${unit}${range} to the round trip: two tags are computed and ` +
    `two verified. In the document it adds ${AUTH_CYCLES} cycles, with tags computed at compile time.`
  );
}

/** The rows that the document has, in its order. @param {Row[]} rows */
const documentRows = (rows) =>
  rows.filter(({ document }) => document).sort((a, b) => Number(a.document?.cycles) - Number(b.document?.cycles));

/** Pairs of neighbors in the document's order, and how they compare here. @param {Row[]} rows */
function neighbors(rows) {
  const sorted = documentRows(rows);
  return sorted.slice(1).map((slower, index) => ({
    faster: sorted[index],
    slower,
    found: compareMedians(sorted[index].samplesNs, slower.samplesNs),
  }));
}

/** @param {Measured} measured */
function explainOrder({ rows }) {
  const pairs = neighbors(rows);
  if (pairs.some(({ faster }) => faster.samplesNs.length < MIN_SAMPLES)) {
    return `The order of the rows is not tested: that takes at least ${MIN_SAMPLES} samples of each.`;
  }
  const wrong = pairs.filter(({ found }) => found === 'higher');
  const unclear = pairs.filter(({ found }) => found === 'undetected');
  const list = documentRows(rows)
    .map(({ name }) => name)
    .join(', ');
  const lead =
    wrong.length === 0
      ? `Nothing here contradicts the document's order: ${list}.`
      : `The document's order (${list}) does not hold here: ` +
        `${wrong.map(({ faster, slower }) => `${faster.name} is slower than ${slower.name}`).join(', ')}.`;
  const open = unclear.map(({ faster, slower }) => `between ${faster.name} and ${slower.name}`).join(' or ');
  return open ? `${lead} No difference was detected ${open}.` : lead;
}

/** @param {Measured} measured */
function explainMissing({ missing }) {
  if (missing.length === 0) return null;
  return `Left out, because crossings-bench has no such mechanism: ${missing.join(', ')}.`;
}

/** @param {Measured} measured @returns {string[]} */
function explain(measured) {
  return [
    explainCycle(measured),
    explainDocument(measured),
    explainRing(measured),
    explainFloor(measured),
    explainPipe(measured),
    explainAuthentication(measured),
    explainOrder(measured),
    explainMissing(measured),
  ].filter((sentence) => sentence !== null);
}

/**
 * Two claims: a ring's round trip takes 150 cycles, and the rows come in the document's order.
 * @param {{rows: Row[], sizeBytes: number}} measured
 * @returns {'held' | 'partly' | 'failed' | 'unknown'}
 */
function judge({ rows, sizeBytes }) {
  const ring = find(rows, 'ring')?.interval;
  if (sizeBytes !== DOCUMENT.sizeBytes) return 'unknown';
  if (!ring || ring.low === null || ring.high === null) return 'unknown';
  if (ring.low <= RING_CYCLES && ring.high > RING_CYCLES) return 'unknown';
  const claims = [ring.high <= RING_CYCLES, neighbors(rows).every(({ found }) => found !== 'higher')];
  if (claims.every(Boolean)) return 'held';
  return claims.some(Boolean) ? 'partly' : 'failed';
}

module.exports = { explain, judge };
