'use strict';
// `npm run bench:lab`: how fast the lab's pages are on this machine, measured by the browser. Not a test: a machine may be slow.
// Each part has a time limit; a part that cannot be measured says why, and the others are measured all the same.
const { availableParallelism, loadavg } = require('node:os');
const { median } = require('../../lib/measure/statistics.js');
const { significant } = require('../../lib/terminal/numbers.js');
const { styleFor } = require('../../lib/terminal/style.js');
const { plainTable } = require('../../lib/terminal/table.js');
const { browserAvailable, launchBrowser, startLab } = require('../browser.js');
const { rowsOfFrames, verdictOfFrames } = require('./lab/frames.js');
const { measurePaint, measurePlaying, measureRecording, measureScripts } = require('./lab/pages.js');

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('../browser.js').Lab} Lab */
/** @typedef {{rows?: string[][], sentences: string[]}} Part rows of the table, and what they mean */

const LIMIT_SECONDS = 60; // of one part, which takes up to 20 s on two idle cores
const MAX_SCRIPTS = 120_000;

const kilobytes = (/** @type {number} */ bytes) => `${significant(bytes / 1000)} kB`;
const count = (/** @type {number} */ value) => value.toLocaleString('en-US');

/** @param {string} what @param {boolean} reached @param {string} value @param {string} aim */
const verdict = (what, reached, value, aim) => `${what} ${value}; the aim is ${aim}: ${reached ? '' : 'not '}reached.`;

/** What to measure, in order. @type {{name: string, measure: (browser: Browser, lab: Lab) => Promise<Part>}[]} */
const PARTS = [
  {
    name: 'How soon the theatre appears',
    async measure(browser, lab) {
      const { first, whole } = await measurePaint(browser, lab);
      const ms = median(first);
      return {
        rows: [
          ['first contentful paint of the theatre, ms', significant(ms), '', '< 1,000'],
          ['… until its recording is shown, ms', significant(median(whole)), '', ''],
        ],
        sentences: [
          verdict('The theatre’s first paint takes', ms < 1000, `${significant(ms)} ms`, 'less than 1,000 ms'),
        ],
      };
    },
  },
  {
    name: 'The size of the scripts',
    async measure(browser, lab) {
      /** @type {[string, string, string][]} */
      const pages = [
        ['the theatre', '/#mechanism=pipe', 'trace-player .caption'],
        ['the benchmark page, without Chart.js', '/bench.html', '#start'],
        ['the page of a recording, before one is open', '/recording.html', '#file'],
      ];
      const rows = [];
      const large = [];
      for (const [name, path, shown] of pages) {
        const bytes = await measureScripts(browser, lab, path, shown);
        rows.push([`scripts of ${name}`, kilobytes(bytes), '', '< 120 kB']);
        if (bytes >= MAX_SCRIPTS) large.push(name);
      }
      const sentence = large.length > 0 ? `More than 120 kB: the scripts of ${large.join(', ')}.` : '';
      return { rows, sentences: [sentence || 'The scripts of each page are smaller than 120 kB.'] };
    },
  },
  {
    name: 'Frames while a recording plays in the theatre',
    async measure(browser, lab) {
      const { events, gaps } = await measurePlaying(browser, lab);
      return {
        rows: rowsOfFrames(`a recording of ${count(events)} events plays`, gaps),
        sentences: [verdictOfFrames('The theatre plays', gaps)],
      };
    },
  },
  {
    name: 'A large recording',
    async measure(browser, lab) {
      const { processes, events, megabytes, opened, scripts, scroll, zoom } = await measureRecording(browser, lab);
      const ms = median(opened);
      const what = `a recording of ${processes} processes and ${count(events)} events`;
      return {
        rows: [
          [`opening ${what} (${significant(megabytes)} MB), ms`, significant(ms), '', '< 2,000'],
          ...rowsOfFrames('its log scrolls', scroll),
          ...rowsOfFrames('its timeline zooms', zoom),
          ['scripts of the page of a recording, once one is open', kilobytes(scripts), '', ''],
        ],
        sentences: [
          verdict(`Opening ${what} takes`, ms < 2000, `${significant(ms)} ms`, 'less than 2,000 ms'),
          verdictOfFrames('Its log scrolls', scroll),
          verdictOfFrames('Its timeline zooms', zoom),
        ],
      };
    },
  },
];

/** @template T @param {Promise<T>} promise @returns {Promise<T>} */
function withinLimit(promise) {
  /** @type {NodeJS.Timeout} */ let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${LIMIT_SECONDS} seconds.`)), LIMIT_SECONDS * 1000);
  });
  return /** @type {Promise<T>} */ (Promise.race([promise, limit])).finally(() => clearTimeout(timer));
}

/** Measures one part in a browser of its own, which a part that failed cannot disturb. @param {Lab} lab @param {(typeof PARTS)[number]} part @returns {Promise<Part>} */
async function attempt(lab, { name, measure }) {
  process.stderr.write(`${name} …\n`);
  let browser;
  try {
    browser = await withinLimit(launchBrowser());
    return await withinLimit(measure(browser, lab));
  } catch (error) {
    const [reason] = /** @type {Error} */ (error).message.split('\n');
    process.exitCode = 1;
    return { sentences: [`${name}: not measured. ${reason}`] };
  } finally {
    if (browser) await withinLimit(browser.close()).catch(() => {});
  }
}

/** The machine, as far as it limits what a browser can do. */
function describeMachine() {
  const cores = availableParallelism();
  const [load] = loadavg();
  const busy = load > cores / 4;
  return [
    `The browser draws without a graphics card, on ${cores} ${cores === 1 ? 'core' : 'cores'}.`,
    busy &&
      `Other programs were running before the measurement (load ${load.toFixed(1)}), so it may show less than the machine can do.`,
  ].filter((sentence) => sentence !== false);
}

async function main() {
  const { available, reason } = browserAvailable();
  if (!available) throw new Error(`No browser can run: ${reason}`);
  const machine = describeMachine();
  const lab = await startLab();
  try {
    process.stderr.write('This takes about a minute.\n');
    /** @type {Part[]} */
    const parts = [];
    for (const part of PARTS) parts.push(await attempt(lab, part));
    const style = styleFor(process.stdout);
    const write = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);
    write(`\n${style.bold('The lab’s pages in headless Chromium')}\n`);
    const rows = parts.flatMap((part) => part.rows ?? []);
    if (rows.length > 0) write(`${plainTable(null, ['', 'here', 'empty page', 'aim'], rows, style)}\n`);
    for (const sentence of [...parts.flatMap(({ sentences }) => sentences), ...machine]) write(sentence);
    write('');
  } finally {
    await lab.close();
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
