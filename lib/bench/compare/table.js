'use strict';
// A comparison as the terminal shows it: one row for each question.
const { significant } = require('../../terminal/numbers.js');
const { plainTable } = require('../../terminal/table.js');
const { styleFor, wrap } = require('../../terminal/style.js');
const { nameOf, percent } = require('./sentences.js');

/** @typedef {import('./runs.js').Comparison} Comparison */

const WIDTH = 100; // columns of prose

/** @param {number} p */
const probability = (p) => (p < 0.0001 ? '< 0.0001' : p.toFixed(4));

/**
 * @param {string} name
 * @param {import('./verdicts.js').Answer | null} answer
 * @param {import('../../terminal/style.js').Style} style
 */
function row(name, answer, style) {
  if (!answer) return [];
  const { a, b, ratio, low, high, adjustedP, verdict } = answer;
  const shown = verdict === 'undetected' ? 'undetected' : style[verdict === 'faster' ? 'good' : 'bad'](verdict);
  const interval = `${significant(low)} to ${significant(high)}`;
  return [[name, significant(a), significant(b), significant(ratio), interval, probability(adjustedP), shown]];
}

/** @param {Comparison} comparison @param {import('../../terminal/style.js').Style} style */
function renderComparison({ mechanisms }, style) {
  const heads = ['', 'baseline', 'candidate', 'ratio', '95 % interval', 'p', 'verdict'];
  const rows = mechanisms.flatMap((compared) => [
    ...row(`${nameOf(compared)}, messages/s`, compared.throughput, style),
    ...row(`${nameOf(compared)}, round trip ns`, compared.roundTrip, style),
  ]);
  return plainTable(null, heads, rows, style);
}

/** @param {Comparison} comparison */
function describeRule({ rule }) {
  const tested = {
    rounds: 'Wilcoxon signed-rank test of the samples that both builds took in the same round',
    runs: 'Mann-Whitney rank test of the medians of whole runs',
    samples: 'Mann-Whitney rank test of the samples of each side',
  }[rule.unit];
  return (
    `Ratio: candidate to baseline, with its bootstrap interval. p: ${tested}, corrected for ${rule.questions} questions ` +
    `(Holm). A verdict requires p below ${rule.alpha} and an interval more than ${percent(rule.noise)} away from 1.`
  );
}

/** What differs first, then the table, then the verdicts. @param {Comparison} comparison */
function printComparison(comparison) {
  const style = styleFor(process.stdout);
  const verdicts = comparison.sentences.slice(comparison.differences.length);
  const warn = (/** @type {string} */ text) => style.bad(wrap(`! ${text}`, WIDTH, '  '));
  const paragraphs = [
    comparison.differences.map(warn).join('\n'),
    renderComparison(comparison, style),
    verdicts.map((sentence) => wrap(sentence, WIDTH, '  ')).join('\n'),
    style.dim(wrap(describeRule(comparison), WIDTH)),
    comparison.caution ? warn(comparison.caution) : '',
  ];
  process.stdout.write(`\n${paragraphs.filter(Boolean).join('\n\n')}\n\n`);
}

module.exports = { printComparison };
