'use strict';
// The second question of document 001: are pipes faster than sockets?
const { holm, wilcoxonSignedRank } = require('../../measure/rank-tests.js');
const { significant } = require('../../terminal/numbers.js');
const { pText, SIGNIFICANT } = require('./curves.js');

/** @typedef {import('./curves.js').Curve} Curve */
/** @typedef {import('./curves.js').Answer} Answer */

const OTHERS = ['socketpair', 'uds', 'tcp'];
const DOCUMENT_PERCENT = 63; // "pipes outperform sockets by 63% on average across all configurations"

/** @param {number[]} values */
const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/**
 * The medians of two curves at the sizes that both have, as [size, pipe, socket].
 * @param {Curve} pipe
 * @param {Curve} socket
 * @returns {[number, number, number][]}
 */
function pairUp(pipe, socket) {
  return pipe.points.flatMap(({ sizeBytes, bytesPerSecond }) => {
    const other = socket.points.find((point) => point.sizeBytes === sizeBytes);
    return other ? [[sizeBytes, bytesPerSecond.median, other.bytesPerSecond.median]] : [];
  });
}

/**
 * The paired test over the buffer sizes. It ranks the logarithms of the ratios, so that every size counts alike however
 * fast it is.
 * @param {[number, number, number][]} pairs
 */
function comparePairs(pairs) {
  const { p } = wilcoxonSignedRank(
    pairs.map(([, pipe]) => Math.log(pipe)),
    pairs.map(([, , socket]) => Math.log(socket)),
  );
  const ratios = pairs.map(([, pipe, socket]) => pipe / socket);
  return {
    p,
    pairs: pairs.length,
    pipeFasterAt: ratios.filter((ratio) => ratio > 1).length,
    /** The mean of the differences in per cent, as the document gives it, and the geometric mean of the ratios. */
    meanPercent: (mean(ratios) - 1) * 100,
    typicalPercent: (Math.exp(mean(ratios.map(Math.log))) - 1) * 100,
  };
}

/** @typedef {ReturnType<typeof comparePairs>} Comparison */

/** @param {Curve[]} curves */
function comparisonsOf(curves) {
  const pipes = curves.filter(({ mechanism }) => mechanism === 'pipe');
  const found = pipes.flatMap((pipe) =>
    curves
      .filter(({ mechanism, mode, buffers }) => {
        return OTHERS.includes(mechanism) && mode === pipe.mode && buffers === pipe.buffers;
      })
      .map((socket) => {
        const { mode, buffers, mechanism } = socket;
        return { against: mechanism, mode, buffers, ...comparePairs(pairUp(pipe, socket)) };
      }),
  );
  const adjusted = holm(found.map(({ p }) => p));
  return found.map((comparison, i) => ({ ...comparison, p: adjusted[i] }));
}

/** 63.2 -> "63 % faster". @param {number} percent */
const fasterText = (percent) => `${significant(Math.abs(percent), 2)} % ${percent < 0 ? 'slower' : 'faster'}`;

/** @param {Comparison[]} comparisons with socket pairs */
function configurationsText(comparisons) {
  const ahead = comparisons.filter(({ p, typicalPercent }) => p < SIGNIFICANT && typicalPercent > 0).length;
  const behind = comparisons.filter(({ p, typicalPercent }) => p < SIGNIFICANT && typicalPercent < 0).length;
  return `Of ${comparisons.length} ${comparisons.length === 1 ? 'configuration' : 'configurations'}, pipes are detectably faster in ${ahead} and slower in ${behind}.`;
}

/** @param {Comparison} overall @param {Comparison[]} each @returns {Answer['verdict']} */
function verdictOf(overall, each) {
  if (overall.p >= SIGNIFICANT) return 'unknown';
  if (overall.typicalPercent < 0) return 'failed';
  return each.every(({ p, typicalPercent }) => p < SIGNIFICANT && typicalPercent > 0) ? 'held' : 'partly';
}

const QUESTION = 'Are pipes faster than sockets between local processes and threads?';
const TEST =
  'paired Wilcoxon signed-rank test over the buffer sizes, on the logarithms of the medians; Holm over the configurations; ' +
  'p is that of pipes against socket pairs in all configurations together';

/**
 * @param {Curve[]} curves
 * @returns {Answer & {overall: Comparison | null, comparisons: ReturnType<typeof comparisonsOf>}}
 */
function answerPipesAndSockets(curves) {
  const base = { name: 'pipes-and-sockets', question: QUESTION, test: TEST };
  const comparisons = comparisonsOf(curves);
  const pairs = curves
    .filter(({ mechanism }) => mechanism === 'pipe')
    .flatMap((pipe) => {
      const socket = curves.find(
        ({ mechanism, mode, buffers }) => mechanism === 'socketpair' && mode === pipe.mode && buffers === pipe.buffers,
      );
      return socket ? pairUp(pipe, socket) : [];
    });
  if (pairs.length === 0) {
    const text = 'This needs pipe and socketpair in the same sweep.';
    return { ...base, text, p: null, verdict: 'unknown', overall: null, comparisons };
  }
  const overall = comparePairs(pairs);
  const matching = comparisons.filter(({ against }) => against === 'socketpair');
  const detected = overall.p < SIGNIFICANT;
  const lead = detected
    ? `The difference is detectable (${pText(overall.p)}).`
    : `No difference between pipes and socket pairs is detectable (${pText(overall.p)}).`;
  const text =
    `${lead} Pipes are ${fasterText(overall.typicalPercent)} than socket pairs in the geometric mean over ${overall.pairs} pairs, ` +
    'one for each size and configuration. ' +
    `In the arithmetic mean, which a few large ratios dominate, they are ${fasterText(overall.meanPercent)}; the document reports ` +
    `${DOCUMENT_PERCENT} %. ${configurationsText(matching)}` +
    (detected ? '' : lowPower(overall.pairs));
  return { ...base, text, p: overall.p, verdict: verdictOf(overall, matching), overall, comparisons };
}

/** @param {number} pairs */
function lowPower(pairs) {
  const smallest = 2 ** (1 - pairs);
  if (smallest < SIGNIFICANT) return '';
  return ` With ${pairs} pairs the smallest possible p-value is ${significant(smallest, 2)}, so nothing could be detected.`;
}

module.exports = { answerPipesAndSockets };
