'use strict';
// The verdicts of a comparison in words. A difference that the samples cannot show is reported as not detectable.
const { crossingCount, duration, significant } = require('../../terminal/numbers.js');
const { ALPHA } = require('./verdicts.js');

/** @typedef {import('./runs.js').Comparison} Comparison */
/** @typedef {import('./runs.js').Compared} Compared */
/** @typedef {import('./verdicts.js').Answer} Answer */

const COUNT_DIFFERENCE = 0.25; // system calls; a mechanism that calls only when it must wait varies by less

/** @param {number} share */
const percent = (share) => `${significant(share * 100, 2)} %`;

/** @param {string[]} names */
const list = (names) =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** @param {{mechanism: string, sizeBytes?: number}} compared */
const nameOf = ({ mechanism, sizeBytes }) =>
  sizeBytes ? `${mechanism}, ${sizeBytes.toLocaleString('en-US')} bytes` : mechanism;

/** @param {Answer} answer */
const intervalOf = ({ low, high }) => `95 % interval of the ratio ${significant(low)} to ${significant(high)}`;

/** @param {Answer} answer about round trips */
function describeTrip(answer) {
  const { a, b, ratio, verdict } = answer;
  const much = ratio >= 2 ? `${significant(ratio)} times as long` : `${percent(Math.abs(ratio - 1))} ${verdict}`;
  return `round trip ${much} (${duration(a)} → ${duration(b)}; ${intervalOf(answer)})`;
}

/** @param {Answer} answer about messages per second */
function describeThroughput(answer) {
  const { ratio } = answer;
  const much =
    ratio >= 2
      ? `${significant(ratio)} times as high`
      : `${percent(Math.abs(ratio - 1))} ${ratio > 1 ? 'higher' : 'lower'}`;
  return `throughput ${much} (${intervalOf(answer)})`;
}

/** @param {Answer | null} answer @returns {answer is Answer} */
const isDetected = (answer) => answer !== null && answer.verdict !== 'undetected';

/** A difference that the rank test shows, but that identical programs may show too. @param {Answer | null} answer */
const isWithinNoise = (answer) => answer?.verdict === 'undetected' && answer.adjustedP < ALPHA;

/** @param {Compared[]} mechanisms */
function describeDetected(mechanisms) {
  return mechanisms.flatMap((compared) => {
    const parts = [
      isDetected(compared.roundTrip) ? describeTrip(compared.roundTrip) : '',
      isDetected(compared.throughput) ? describeThroughput(compared.throughput) : '',
    ].filter(Boolean);
    return parts.length > 0 ? [`${nameOf(compared)}: ${parts.join('; ')}.`] : [];
  });
}

/** @param {Compared[]} mechanisms @param {boolean} disturbed */
function describeWithinNoise(mechanisms, disturbed) {
  return mechanisms.flatMap((compared) => {
    const parts = /** @type {const} */ (['roundTrip', 'throughput']).flatMap((kind) => {
      const found = compared[kind];
      if (!found || !isWithinNoise(found)) return [];
      const what = kind === 'roundTrip' ? 'round trip' : 'throughput';
      return [
        `${what} ${percent(Math.abs(found.ratio - 1))} ${found.ratio > 1 ? 'higher' : 'lower'}, ${intervalOf(found)}`,
      ];
    });
    if (parts.length === 0) return [];
    if (disturbed) return [`${nameOf(compared)}: no verdict (${parts.join('; ')}).`];
    const noise = Math.max(compared.roundTrip?.noise ?? 0, compared.throughput?.noise ?? 0);
    return [
      `${nameOf(compared)}: no verdict (${parts.join('; ')}): identical programs can differ by up to ${percent(noise)} here.`,
    ];
  });
}

/** @param {Compared[]} mechanisms */
function describeUndetected(mechanisms) {
  const silent = mechanisms.filter(({ throughput, roundTrip }) =>
    [throughput, roundTrip].every((answer) => !isDetected(answer) && !isWithinNoise(answer)),
  );
  return silent.length > 0 ? [`No detectable difference: ${list(silent.map(nameOf))}.`] : [];
}

/** The counts are exact, so they need no test. @param {Compared[]} mechanisms */
function describeCrossings(mechanisms) {
  return mechanisms.flatMap((compared) => {
    const parts = /** @type {const} */ ([
      ['perRoundTrip', 'per round trip'],
      ['perMessage', 'per message'],
    ]).flatMap(([kind, words]) => {
      const [before, after] = compared.crossings[kind];
      if (before === null || after === null || Math.abs(after - before) < COUNT_DIFFERENCE) return [];
      return [`${crossingCount(after)} system calls ${words} instead of ${crossingCount(before)}`];
    });
    return parts.length > 0 ? [`${nameOf(compared)} makes ${list(parts)}.`] : [];
  });
}

/** @param {Omit<Comparison, 'sentences' | 'caution'>} file */
function describeQuestions({ mechanisms, rule }) {
  const answers = mechanisms.flatMap(({ throughput, roundTrip }) => [throughput, roundTrip]);
  const found = answers.filter(isDetected).length;
  return (
    `${counted(rule.questions, 'question')} (throughput and round trip of ${counted(mechanisms.length, 'mechanism')}): ` +
    `${rule.disturbed ? 'no verdicts' : found === 0 ? 'no detectable difference' : counted(found, 'detectable difference')}.`
  );
}

/**
 * Why the verdicts may be wrong.
 * @param {Omit<Comparison, 'sentences' | 'caution'>} file
 * @param {number} needed observations on each side for a verdict, as the number of questions demands
 */
function cautionsFor({ a, b, rule, mechanisms, environment }, needed) {
  const cautions = [];
  const [runsA, runsB] = [a.runs?.length ?? 1, b.runs?.length ?? 1];
  if (rule.disturbed) {
    cautions.push(
      'Other processes used the machine during one of the runs and changed its times. The samples cannot show this, so ' +
        'there are no verdicts: stop those processes and measure again.',
    );
  } else if (rule.unit === 'samples') {
    const word =
      runsA === 1 && runsB === 1
        ? 'here there is one run on each side'
        : 'there are too few runs to compare whole runs';
    cautions.push(
      `Even identical programs differ from run to run, and ${word}. Therefore only a difference of more than ${percent(rule.noise)} ` +
        `gets a verdict, and even that may come from the machine. For a firmer verdict, take ${needed} runs on each side, or ` +
        'compare two builds in one run with bench --against.',
    );
  }
  const short = mechanisms.some((one) =>
    [one.throughput, one.roundTrip].some((answer) => answer && Math.min(...answer.observations) < needed),
  );
  if (short) {
    cautions.push(
      `With ${counted(rule.questions, 'question')}, a verdict requires at least ${needed} ${rule.unit} on each side; these runs have fewer.`,
    );
  }
  if (rule.unit !== 'rounds' && environment.virtualization !== 'none') {
    cautions.push(
      'The speed of a virtual machine or container changes from minute to minute, and so do the times of two runs.',
    );
  }
  return cautions;
}

/**
 * @param {Omit<Comparison, 'sentences' | 'caution'>} file
 * @param {{onlyIn: [string[], string[]], needed: number}} context onlyIn: mechanisms of only the baseline, only the
 *   candidate; needed: observations on each side for a verdict
 * @returns {{sentences: string[], caution: string | null}}
 */
function describeAll(file, { onlyIn: [onlyA, onlyB], needed }) {
  const { mechanisms } = file;
  const cautions = cautionsFor(file, needed);
  return {
    sentences: [
      ...file.differences,
      describeQuestions(file),
      ...describeDetected(mechanisms),
      ...describeCrossings(mechanisms),
      ...describeWithinNoise(mechanisms, file.rule.disturbed),
      ...describeUndetected(mechanisms),
      ...(onlyA.length > 0 ? [`Only the baseline includes ${list(onlyA)}.`] : []),
      ...(onlyB.length > 0 ? [`Only the candidate includes ${list(onlyB)}.`] : []),
    ],
    caution: cautions.length > 0 ? cautions.join(' ') : null,
  };
}

module.exports = { counted, describeAll, intervalOf, list, nameOf, percent };
