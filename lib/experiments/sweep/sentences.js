'use strict';
// What a sweep says beside its three answers: how the bytes arrived, and what the kernel granted.
const { byteCount, significant } = require('../../terminal/numbers.js');

/** @typedef {import('./curves.js').Curve} Curve */
/** @typedef {import('./samples.js').Point} Point */

/** The size that most reads of a point returned. @param {Point} point */
const usualRead = ({ reads }) => reads.sizes[0];

/**
 * Where a curve's plateau comes from: from some size on, read() returns the same size however large the buffer is.
 * @param {Curve} curve
 */
function plateauOf({ points }) {
  const last = points[points.length - 1];
  const { bytes, count } = usualRead(last);
  if (bytes >= last.sizeBytes || count < last.reads.count / 2) return null;
  const capped = points.filter((point) => point.sizeBytes > bytes && usualRead(point).bytes === bytes);
  return { fromBytes: capped[0].sizeBytes, bytes, count };
}

/** The plateaus with the kernel's default buffers, in the first mode of the sweep. @param {Curve[]} curves */
function explainReads(curves) {
  const found = curves
    .filter(({ mode, buffers, mechanism }) => mode === curves[0].mode && buffers === 'default' && mechanism !== 'ring')
    .flatMap((curve) => {
      const plateau = plateauOf(curve);
      return plateau
        ? [`${curve.mechanism} from ${byteCount(plateau.fromBytes)} (${byteCount(plateau.bytes)} per read)`]
        : [];
    });
  if (found.length === 0) return [];
  return [
    `With the kernel's default buffers, reads stop growing at some size: ${found.join('; ')}. ` +
      'Beyond it, larger buffers touch more memory for the same number of system calls.',
  ];
}

/**
 * The matched buffers that are smaller than asked for. Linux doubles the size asked of a socket, for its own records.
 * @param {Point[]} points
 */
function explainGranted(points) {
  const short = points.filter(({ buffers, mechanism, sizeBytes, granted }) => {
    if (buffers !== 'matched' || mechanism === 'ring') return false;
    const wanted = mechanism === 'pipe' ? sizeBytes : 2 * sizeBytes;
    return Math.min(granted.sendBytes, granted.receiveBytes) < wanted;
  });
  const mechanisms = [...new Set(short.map(({ mechanism }) => mechanism))];
  return mechanisms.map((mechanism) => {
    const own = short.filter((point) => point.mechanism === mechanism);
    const most = Math.max(...own.map(({ granted }) => Math.min(granted.sendBytes, granted.receiveBytes)));
    const least = Math.min(...own.map(({ sizeBytes }) => sizeBytes));
    return (
      `The kernel granted ${mechanism} at most ${byteCount(most)}, so the "matched" kernel buffers are smaller than requested ` +
      `from a buffer size of ${byteCount(least)}.`
    );
  });
}

/** @param {number | null} bytes */
const cacheText = (bytes) => (bytes === null ? 'unknown' : byteCount(bytes));

/** @param {import('./caches.js').CpuCaches} caches */
function explainCaches({ l1d, l2, l3 }) {
  if (l1d === null && l2 === null && l3 === null) return [];
  return [
    'The document explains the fall by a cache too small for the buffers: its machine has 256 KiB of L2 and no L3. ' +
      `On this machine, L1d is ${cacheText(l1d)}, L2 ${cacheText(l2)} and L3 ${cacheText(l3)}.`,
  ];
}

/** @param {any[] | null} counters */
function explainCounters(counters) {
  if (!counters) return [];
  const [first, last] = [counters[0], counters[counters.length - 1]];
  const most = counters.reduce((a, b) => (b.cacheMissesPerKiB > a.cacheMissesPerKiB ? b : a));
  return [
    `Cache misses per KiB moved, counted in hardware: ${significant(first.cacheMissesPerKiB)} with a buffer of ` +
      `${byteCount(first.sizeBytes)}, ${significant(last.cacheMissesPerKiB)} with ${byteCount(last.sizeBytes)}, and at most ` +
      `${significant(most.cacheMissesPerKiB)}, with ${byteCount(most.sizeBytes)}.`,
  ];
}

/** The verdict over the three questions. @param {import('./curves.js').Answer[]} answers */
function verdictOf(answers) {
  const verdicts = answers.map(({ verdict }) => verdict).filter((verdict) => verdict !== 'unknown');
  if (verdicts.length === 0) return 'unknown';
  if (verdicts.length === answers.length && verdicts.every((verdict) => verdict === 'held')) return 'held';
  return verdicts.every((verdict) => verdict === 'failed') ? 'failed' : 'partly';
}

const LEADS = { held: 'Yes', partly: 'In part', failed: 'No', unknown: 'Undecided' };

/** @param {import('./curves.js').Answer} answer */
const answerText = ({ question, text, verdict }) => `${question} ${LEADS[verdict]}. ${text}`;

/**
 * @param {object} parts
 * @param {Curve[]} parts.curves
 * @param {Point[]} parts.points
 * @param {import('./curves.js').Answer[]} parts.answers
 * @param {any[] | null} parts.counters
 * @param {import('./caches.js').CpuCaches} parts.cpuCaches
 */
function explain({ curves, points, answers, counters, cpuCaches }) {
  return [
    ...answers.map(answerText),
    ...explainReads(curves),
    ...explainCaches(cpuCaches),
    ...explainGranted(points),
    ...explainCounters(counters),
  ];
}

module.exports = { explain, plateauOf, verdictOf };
