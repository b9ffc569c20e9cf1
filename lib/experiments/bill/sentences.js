'use strict';
// The bill in words, from its figures.
const { byteCount, crossingCount, duration, significant } = require('../../terminal/numbers.js');
const { COPIES } = require('./parts.js');

const SAME_COUNT = 0.1; // crossings per round trip, for what a count by slope may be off
const COPIED_BY_KERNEL = ['pipe', 'uds', 'tcp']; // the document's four crossings; shared memory crosses only to sleep and wake
const DOCUMENT = { crossings: 4, syscallNs: 101, roundTripNs: 6236 }; // of a pipe, in document 000

/** @typedef {import('./bill.js').BillSummary} BillSummary */
/** @typedef {import('./parts.js').Figure} Figure */
/** @typedef {{environment: import('../../measure/environment.js').Environment, parameters: {sizeBytes: number}, others: BillSummary[]} & BillSummary} Measured */

/** @param {number} ns */
const time = (ns) => (ns < 0 ? `−${duration(-ns)}` : duration(ns));

/** @param {number} share */
const percent = (share) => `${share < 0 ? '−' : ''}${significant(Math.abs(share) * 100, 2)} %`;

/** @param {Figure} figure */
const withInterval = ({ median, low, high }) => `${time(median)} (${time(low)} to ${time(high)})`;

/** Why a part can be less than nothing. @type {Record<string, string>} */
const NEGATIVE = {
  'own-code': 'the copies cost less inside a round trip than where they are measured',
  'between-cores': 'a second core saves more than moving between the cores costs',
  'sleep-and-wake': 'two processes that take turns are faster than one',
  'wake-other-core': 'letting one core go to sleep while the other works saves more than waking it costs',
  'idle-exit': 'preempting a spinning process costs more than leaving idle',
};

/** What a part's interval says about its sign. @param {string} name @param {Figure} figure */
function signOf(name, { low, high }) {
  if (high < 0) return ` It is negative: ${NEGATIVE[name]}.`;
  if (low <= 0) return ' The interval includes zero, so this part was not detected.';
  return '';
}

/**
 * One sentence or two for a part.
 * @param {BillSummary} bill
 * @param {BillSummary['parts'][number]} part
 * @param {number} sizeBytes
 */
function explainPart(bill, { name, title, ns, share, reason }, sizeBytes) {
  if (!ns || !share) return `${title}: not measured (${reason}).`;
  const { floors } = bill;
  /** @param {string} configuration */
  const trip = (configuration) => {
    const found = bill.configurations.find((candidate) => candidate.name === configuration);
    return found?.ns ? time(found.ns.median) : '–';
  };
  const lead = `${title}: ${withInterval(ns)}, ${percent(share.median)}`;
  const noted = reason ? ` This ${reason}.` : '';
  switch (name) {
    case 'crossings':
      return (
        `${lead} of the round trip. It makes ${crossingCount(bill.crossings?.perRoundTrip ?? null)} system calls, counted by ` +
        `${bill.crossings?.method}; the cheapest system call takes ${duration(floors.syscallNs)}.`
      );
    case 'copies':
      return `${lead}. These are ${COPIES} plain copies of ${byteCount(sizeBytes)}.`;
    case 'own-code':
      return (
        `${lead}. One process that makes the calls of both sides never waits and takes ${trip('alone')}. This is that time ` +
        `without the ${reason ? '' : 'crossings and the '}copies.${noted}${signOf(name, ns)}`
      );
    case 'between-cores':
      return (
        `${lead}. Two processes that poll on two cores take ${trip('polling')}; a single process takes ${trip('alone')}. A bare ` +
        `cache line goes there and back in ${duration(floors.cacheLineRoundTripNs ?? Number.NaN)}.${signOf(name, ns)}`
      );
    case 'sleep-and-wake':
      return (
        `${lead}. Two processes that take turns on one core take ${trip('one-core')}. Compared with a single process, they add ` +
        `two sleeps, two wake-ups and two context switches.${signOf(name, ns)}`
      );
    case 'wake-other-core':
      return (
        `${lead}. Sleeping instead of polling costs this much more on two cores than on one: two interrupts between the ` +
        `cores, and their delivery.${noted}${signOf(name, ns)}`
      );
    default:
      return (
        `${lead}. While other processes keep both cores from going idle, the round trip takes ` +
        `${trip('two-cores-awake')}.${signOf(name, ns)}`
      );
  }
}

/** What the experiment cannot tell apart. @param {Measured} file */
function explainLimits({ environment, configurations }) {
  const sentences = [
    'What cannot be separated: a crossing that does work costs more than the cheapest one, and the difference is counted in',
    'the other parts.',
  ];
  if (configurations.some(({ name, ns }) => name === 'polling' && ns)) {
    sentences.push(
      'One core goes to sleep while the other is already working, so "Waking the other core" leaves out the time that this',
      'overlap hides. A polling process takes locks and cache lines away from its peer, so "Moving between cores" may be too',
      'high, and "Waking the other core" too low by the same amount.',
    );
  }
  if (configurations.some(({ name, ns }) => name === 'two-cores-awake' && ns)) {
    sentences.push('Preempting a spinning process takes time, so leaving idle costs at least what is shown.');
  }
  if (environment.virtualization !== 'none' && configurations.some(({ name, ns }) => name === 'two-cores' && ns))
    sentences.push(
      'From inside a virtual machine, the time that the hypervisor takes to deliver an interrupt or to restart an idle core',
      'cannot be measured separately.',
    );
  return sentences.join(' ');
}

/** @param {BillSummary} bill */
const makesFour = ({ crossings }) =>
  crossings?.perRoundTrip != null && Math.abs(crossings.perRoundTrip - DOCUMENT.crossings) <= SAME_COUNT;

/** Is most of the round trip waiting? null: the interval leaves it open. @param {BillSummary} bill */
function isMostlyWaiting({ waitingShare }) {
  if (!waitingShare || (waitingShare.low <= 0.5 && waitingShare.high >= 0.5)) return null;
  return waitingShare.median > 0.5;
}

/**
 * Whether the document's claim holds for one mechanism.
 * @param {BillSummary} bill
 * @returns {'held' | 'partly' | 'failed' | 'unknown'}
 */
function judgeOne(bill) {
  const mostly = isMostlyWaiting(bill);
  const measured = bill.configurations.some(({ name, ns }) => name === 'two-cores' && ns);
  if (!measured || mostly === null || bill.crossings?.perRoundTrip == null) return 'unknown';
  if (!COPIED_BY_KERNEL.includes(bill.mechanism)) return mostly ? 'held' : 'failed';
  if (makesFour(bill) && mostly) return 'held';
  return makesFour(bill) || mostly ? 'partly' : 'failed';
}

/**
 * The verdict on all mechanisms of a file.
 * @param {Measured} file
 * @returns {'held' | 'partly' | 'failed' | 'unknown'}
 */
function judge(file) {
  const verdicts = new Set([file, ...file.others].map(judgeOne));
  if (verdicts.size === 1) return [...verdicts][0];
  return verdicts.has('unknown') ? 'unknown' : 'partly';
}

/** The verdict in words. @param {BillSummary} bill */
function answer(bill) {
  switch (judgeOne(bill)) {
    case 'held':
      return "The document's claim holds here: most of the time is spent waiting.";
    case 'failed':
      return "The document's claim does not hold here: most of the time is not spent waiting.";
    case 'partly':
      return makesFour(bill)
        ? "The document's claim holds in part: there are four crossings, but most of the time is not spent waiting."
        : "The document's claim holds in part: most of the time is spent waiting, but there are not four crossings.";
    default:
      return "This run cannot decide whether the document's claim holds.";
  }
}

/** The document's figures beside ours. @param {BillSummary} bill */
function compareWithDocument(bill) {
  const { crossings, syscallNs, roundTripNs } = DOCUMENT;
  const lead =
    `Document 000 measured a pipe's round trip of ${significant(roundTripNs, 4)} ns on another machine. Its ${crossings} crossings ` +
    `of ${syscallNs} ns are ${percent((crossings * syscallNs) / roundTripNs)} of that.`;
  const share = bill.parts.find(({ name }) => name === 'crossings')?.share;
  if (!share || !bill.waitingShare) return lead;
  const { median, low, high } = bill.waitingShare;
  return (
    `${lead} With ${bill.mechanism} on this machine, the crossings take ${percent(share.median)}; sleeping, waking and leaving ` +
    `idle take ${percent(median)} (${percent(low)} to ${percent(high)}). ${answer(bill)}`
  );
}

/** @param {BillSummary} bill @param {number} sizeBytes */
function explainBill(bill, sizeBytes) {
  const where = bill.configurations.some(({ name, ns }) => name === 'two-cores' && ns) ? 'two cores' : 'one core';
  return [
    `${bill.title}: a round trip of ${byteCount(sizeBytes)} between two processes on ${where} takes ` +
      `${withInterval(bill.roundTripNs)}.`,
    ...bill.parts.map((part) => explainPart(bill, part, sizeBytes)),
    compareWithDocument(bill),
  ];
}

/** @param {Measured} file */
function explain(file) {
  const { sizeBytes } = file.parameters;
  return [...[file, ...file.others].flatMap((bill) => explainBill(bill, sizeBytes)), explainLimits(file)];
}

module.exports = { explain, judge };
