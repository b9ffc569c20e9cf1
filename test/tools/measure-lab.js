/// <reference lib="dom" />
'use strict';
// `npm run bench:lab`: how fast the lab's pages are on this machine, measured by the browser. Not a test: a machine may be slow.
const { median, quantile } = require('../../lib/measure/statistics.js');
const { significant } = require('../../lib/terminal/numbers.js');
const { plainTable } = require('../../lib/terminal/table.js');
const { styleFor } = require('../../lib/terminal/style.js');
const { browserAvailable, launchBrowser, openPage, startLab } = require('../browser.js');

const LOADS = 7;
const EVENTS = 2000;
const FRAME_MS = 1000 / 60;
const FRAMES = 'disabled-by-default-devtools.timeline.frame';

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('../browser.js').Lab} Lab */

/** Milliseconds from the start of loading to the first contentful paint, and until the recording is shown. @param {Browser} browser @param {Lab} lab */
async function measurePaint(browser, lab) {
  const first = [];
  const whole = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await openPage(browser, lab, '/#mechanism=tcp');
    await page.locator('trace-player .caption').waitFor();
    const [paint, ready] = await page.evaluate(async () => {
      const now = performance.now();
      const [entry] = performance.getEntriesByName('first-contentful-paint');
      return [entry.startTime, now];
    });
    first.push(paint);
    whole.push(ready);
    await page.close();
  }
  return { first, whole };
}

/** Bytes of a page's scripts without libraries. @param {Browser} browser @param {Lab} lab @param {string} path */
async function measureScripts(browser, lab, path) {
  const page = await openPage(browser, lab, path);
  const sizes = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js') && !name.includes('/vendor/'))
      .map((entry) => /** @type {any} */ (entry).decodedBodySize),
  );
  await page.close();
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Milliseconds between frames while a long recording plays to its end. @param {Browser} browser @param {Lab} lab */
async function measureFrames(browser, lab) {
  const page = await openPage(browser, lab, '/#mechanism=pipe&speed=16');
  const events = await page.evaluate(async (least) => {
    const record = async (/** @type {number} */ messages) => {
      const body = JSON.stringify({ mechanism: 'pipe', messages });
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch('/api/traces', { method: 'POST', headers, body })).json()).events.length;
    };
    const ten = await record(10);
    const twenty = await record(20);
    return record(Math.min(1000, Math.ceil(10 + (least - ten) / ((twenty - ten) / 10))));
  }, EVENTS);
  await page.reload();
  await page.waitForFunction((least) => document.querySelectorAll('trace-log .row').length >= least, EVENTS);
  await browser.startTracing(page, { categories: ['devtools.timeline', FRAMES] });
  const began = performance.now();
  await page.keyboard.press('k');
  await page.waitForFunction(() => document.querySelector('#toggle')?.textContent === 'Play', null, { timeout: 0 });
  const seconds = (performance.now() - began) / 1000;
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  await page.close();
  const drawn = traceEvents
    .filter((/** @type {any} */ { name }) => name === 'DrawFrame')
    .map((/** @type {any} */ { ts }) => ts / 1000)
    .sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const gaps = drawn.slice(1).map((/** @type {number} */ at, /** @type {number} */ i) => at - drawn[i]);
  return { events, seconds, gaps };
}

async function main() {
  const { available, reason } = browserAvailable();
  if (!available) throw new Error(String(reason));
  const lab = await startLab();
  const browser = await launchBrowser();
  try {
    const { first, whole } = await measurePaint(browser, lab);
    const scripts = {
      theatre: await measureScripts(browser, lab, '/'),
      bench: await measureScripts(browser, lab, '/bench.html'),
    };
    process.stderr.write('Playing a long recording; this takes a minute or two.\n');
    const { events, seconds, gaps } = await measureFrames(browser, lab);
    const late = gaps.filter((/** @type {number} */ gap) => gap > 1.5 * FRAME_MS).length;
    const kilobytes = (/** @type {number} */ bytes) => `${significant(bytes / 1000)} kB`;
    const rows = [
      ['first contentful paint of the theatre, ms', significant(median(first)), '< 1,000'],
      ['… until the recording is shown, ms', significant(median(whole)), ''],
      [
        `frames per second while ${events.toLocaleString('en-US')} events play in ${significant(seconds)} s`,
        significant(
          (1000 * gaps.length) / gaps.reduce((/** @type {number} */ sum, /** @type {number} */ gap) => sum + gap, 0),
        ),
        '60',
      ],
      ['… time between frames, 99th percentile, ms', significant(quantile(gaps, 0.99)), ''],
      ['… frames that are late by half a frame or more', `${significant((late / gaps.length) * 100, 2)} %`, ''],
      ['scripts of the theatre', kilobytes(scripts.theatre), '< 120 kB'],
      ['scripts of the benchmark page, without Chart.js', kilobytes(scripts.bench), '< 120 kB'],
    ];
    const style = styleFor(process.stdout);
    process.stdout.write(`\n${style.bold(`The lab's pages in Chromium ${browser.version()}`)}\n\n`);
    process.stdout.write(`${plainTable(null, ['', 'here', 'aim'], rows, style)}\n\n`);
  } finally {
    await browser.close();
    await lab.close();
  }
}

main();
